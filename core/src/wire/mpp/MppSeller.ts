/**
 * The seller's dialect of the Machine Payments Protocol: challenges in `WWW-Authenticate: Payment`, the payment in
 * `Authorization: Payment`, the receipt in `Payment-Receipt`. It sells by the method `evm`, intent `charge`, with transfer
 * authorizations; options on other chains are left out.
 */
import * as Result from "effect/Result"

import * as OptionCheck from "../../protocol/OptionCheck.ts"
import type { PaymentRequired } from "../../protocol/PaymentRequired.ts"
import { invalid } from "../../protocol/ValidationError.ts"
import { maximumBase64Bytes } from "../http/AsciiJson.ts"
import type { OfferTerms, PersonalMessage, SellerDialect } from "../pontage/Dialect.ts"
import * as MppCredential from "./MppCredential.ts"
import * as MppOffer from "./MppOffer.ts"
import * as MppProblem from "./MppProblem.ts"
import * as MppReceipt from "./MppReceipt.ts"
import * as MppText from "./MppText.ts"

/** Options of `mppSeller`. */
export interface MppOptions {
  /**
   * The request header that carries the payment: `Authorization` (default), or `Payment-Authorization` for applications
   * whose clients send a token of their own in `Authorization`.
   */
  readonly header?: "Authorization" | "Payment-Authorization"
}

const check = OptionCheck.options<MppOptions>({
  header: OptionCheck.optional(OptionCheck.oneOf("Authorization", "Payment-Authorization"))
})

/** A challenge in parts: the token of the response goes between the first two, the time of its end between the last. */
interface Draft {
  readonly head: string
  readonly middle: string
  readonly tail: string
  readonly seconds: number
}

/** Marks the places of the token and of the time in a challenge. */
const marks = { token: "token-goes-here", expires: "expires-goes-here" }

const draftOf = (offered: MppOffer.OfferedCharge, header: string): Draft => {
  const text = MppText.challenge({
    ...MppOffer.parameters(offered, marks.token),
    request: MppText.encode(offered.request),
    expires: marks.expires,
    ...(header !== "Authorization" && { header })
  })
  const [head = "", rest = ""] = text.split(marks.token, 2)
  const [middle = "", tail = ""] = rest.split(marks.expires, 2)
  return { head, middle, tail, seconds: offered.seconds }
}

/** The challenges of a refusal, as many as a response may hold. */
const challenges = (required: PaymentRequired, { realm }: OfferTerms, header: string): ReadonlyArray<Draft> => {
  let left = maximumLength
  return MppOffer.challenges(required, realm)
    .map((offered) => draftOf(offered, header))
    .filter(({ head, middle, tail }) => {
      left -= head.length + middle.length + tail.length + filledLength
      return left >= 0
    })
}

/**
 * Limit on all challenges of a response, in characters: they are alternatives, and many servers and proxies take 8 KiB of
 * headers. Further ones are left out.
 */
const maximumLength = 6 * 1024

/** Length of token, time and separator. */
const filledLength = 22 + 24 + 2

const personal =
  (drafts: ReadonlyArray<Draft>) =>
  (retryToken: string, now: number): PersonalMessage => ({
    headers: {
      "WWW-Authenticate": drafts
        .map(({ head, middle, seconds, tail }) => {
          const expires = MppOffer.instant(now + seconds * 1000)
          return `${head}${retryToken}${middle}${expires}${tail}`
        })
        .join(", ")
    }
  })

const readPayment: SellerDialect["readPayment"] = (text) => {
  if (text.length > maximumBase64Bytes) {
    const message = `the credential is longer than ${maximumBase64Bytes} bytes`
    return Result.fail(invalid("malformed", "too_long", message))
  }
  const token = MppText.tokenIn(text)
  return token === undefined
    ? Result.fail(invalid("malformed", "credential", "the credential is not one token after the word Payment"))
    : MppCredential.read(token)
}

/** Makes the dialect. Throws `Misconfigured` for a mistake in the options. */
export const mppSeller = (options: MppOptions = {}): SellerDialect => {
  const { header = "Authorization" } = Result.getOrThrow(OptionCheck.read(check, options, "mppSeller"))
  return {
    name: "the Machine Payments Protocol",
    paymentHeader: header,
    sharesHeader: true,
    needsBinding: true,
    exposed: ["WWW-Authenticate", "Payment-Receipt"],
    offersInBody: false,
    canOffer: MppOffer.isCharge,
    listing: ({ asset: currency, extra, network, scheme }) =>
      MppOffer.isCharge(scheme, network, extra)
        ? { protocol: { mpp: { ...MppOffer.charge, currency } }, offer: MppOffer.charge }
        : undefined,
    recognises: MppText.isPayment,
    readPayment,
    refusal: (required, _order, terms = {}) => {
      const drafts = challenges(required, terms, header)
      return {
        headers: {},
        body: MppProblem.of(required, terms.status ?? 402),
        contentType: MppProblem.contentType,
        ...(drafts.length > 0 && { personal: personal(drafts) })
      }
    },
    receiptHeaders: (settlement, facts) => ({
      "Payment-Receipt": MppText.encode(MppReceipt.of(settlement, facts))
    })
  }
}
