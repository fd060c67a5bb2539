/** The page for people in place of an unpaid response, and the files of that page. */
import * as Effect from "effect/Effect"

import type { RepeatedWarning } from "../../platform/RepeatedWarning.ts"
import type { Decision, GateRequest, Refused } from "../http/Decision.ts"
import * as GateResponse from "../http/GateResponse.ts"
import * as Navigation from "../http/Navigation.ts"
import * as RequestTarget from "../http/RequestTarget.ts"
import * as Paywall from "../shop/Paywall.ts"
import type { Shop } from "../shop/Shop.ts"
import { optionsOf, type PricedRequest } from "./RouteOffer.ts"
import * as SubmittedForm from "./SubmittedForm.ts"

/** The shop whose page it is. */
interface PageShop {
  readonly paywall: Paywall.Paywall
  readonly origin: string
  readonly warn: RepeatedWarning
}

/**
 * The unpaid response with a page as its body. Its other headers stay, so that a program that names itself a browser still finds the
 * offers of dialects that use headers.
 */
export const over = Effect.fnUntraced(function* (
  { origin, paywall, warn }: PageShop,
  request: GateRequest,
  priced: PricedRequest,
  decision: Decision
): Effect.fn.Return<Decision> {
  if (decision._tag !== "Refused") return decision
  const { description, mimeType, name } = priced.route
  const languages = request.header("accept-language")
  const form = Navigation.isForm(request)
    ? yield* formOf(request, warn(`${name}: form`, `${name}: ${unread}`))
    : undefined
  const { body, headers } = paywall.page({
    origin,
    target: priced.target,
    description,
    mimeType,
    languages: typeof languages === "string" ? languages : "",
    options: optionsOf(priced).map(({ maxAmountRequired, option: { asset, network, payTo, scheme } }) => ({
      scheme,
      network,
      payTo,
      asset,
      amount: BigInt(maxAmountRequired)
    })),
    ...(form && { form })
  })
  return {
    _tag: "Refused",
    response: { ...decision.response, headers: { ...decision.response.headers, ...headers }, body }
  }
})

/** The form; `unread` warns where the host keeps no bytes. An upload that broke off is no fault of the shop. */
const formOf = (request: GateRequest, unread: Effect.Effect<void>): Effect.Effect<Paywall.PaywallForm> =>
  SubmittedForm.read(request).pipe(
    Effect.tap(({ _tag }) => (_tag === "Unread" ? unread : Effect.void)),
    Effect.catchTag("BodyLost", () => Effect.succeed<Paywall.PaywallForm>({ _tag: "Unread" }))
  )

const unread =
  "a form could not be paid for on the page, because a body parser in front of the gate had read it and kept no bytes: place the parser behind the gate, or let it keep the raw body"

const unknownFile: Refused = {
  _tag: "Refused",
  response: GateResponse.plain(404, { error: "The page has no such file; load it again." })
}

/**
 * A file of the page, if the request names one and the shop has a page. Files are public and contain nothing that is sold. The page of a
 * form asks for them by POST, because the address may be none for GET.
 */
export const fileFor = ({ origin, paywall }: Shop, { method, target }: GateRequest): Refused | undefined => {
  if (paywall === undefined || !["GET", "HEAD", "POST"].includes(method)) return undefined
  const named = Paywall.fileOf(RequestTarget.of(target))
  if (named === undefined) return undefined
  const content = paywall.file(named.name, { origin, path: named.path, method: method === "POST" ? "POST" : "GET" })
  return content === undefined ? unknownFile : { _tag: "Refused", response: { status: 200, ...content } }
}
