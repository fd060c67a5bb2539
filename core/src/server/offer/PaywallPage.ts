/** The page for people in place of an unpaid response, and the files of that page. */
import type { Decision, GateRequest, Refused } from "../http/Decision.ts"
import * as GateResponse from "../http/GateResponse.ts"
import * as RequestTarget from "../http/RequestTarget.ts"
import * as Paywall from "../shop/Paywall.ts"
import type { Shop } from "../shop/Shop.ts"
import { optionsOf, type PricedRequest } from "./RouteOffer.ts"

/**
 * The unpaid response with a page as its body. Its other headers stay, so that a program that names itself a browser still finds the
 * offers of dialects that use headers.
 */
export const over = (
  paywall: Paywall.Paywall,
  origin: string,
  request: GateRequest,
  priced: PricedRequest,
  decision: Decision
): Decision => {
  if (decision._tag !== "Refused") return decision
  const { description, mimeType } = priced.route
  const languages = request.header("accept-language")
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
    }))
  })
  return {
    _tag: "Refused",
    response: { ...decision.response, headers: { ...decision.response.headers, ...headers }, body }
  }
}

const unknownFile: Refused = {
  _tag: "Refused",
  response: GateResponse.plain(404, { error: "The page has no such file; load it again." })
}

/** A file of the page, if the request names one and the shop has a page. Files are public and contain nothing that is sold. */
export const fileFor = ({ origin, paywall }: Shop, { method, target }: GateRequest): Refused | undefined => {
  if (paywall === undefined || (method !== "GET" && method !== "HEAD")) return undefined
  const named = Paywall.fileOf(RequestTarget.of(target))
  if (named === undefined) return undefined
  const content = paywall.file(named.name, { origin, path: named.path })
  return content === undefined ? unknownFile : { _tag: "Refused", response: { status: 200, ...content } }
}
