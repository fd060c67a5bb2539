/**
 * The seller's dialect of the Machine Payments Protocol: challenges in `WWW-Authenticate: Payment`, the payment in
 * `Authorization: Payment`, the receipt in `Payment-Receipt`. It sells by the method `evm`, intent `charge`, with transfer
 * authorizations; options on other chains are left out.
 */
import * as DateTime from "effect/DateTime"
import * as Result from "effect/Result"

import * as OptionCheck from "../../protocol/OptionCheck.ts"
import type { PaymentRequired } from "../../protocol/PaymentRequired.ts"
import { defaultMaxTimeoutSeconds, type PaymentRequirements } from "../../protocol/PaymentRequirements.ts"
import { invalid } from "../../protocol/ValidationError.ts"
import { maximumBase64Bytes } from "../http/AsciiJson.ts"
import type { OfferTerms, PersonalMessage, SellerDialect } from "../pontage/Dialect.ts"
import * as MppCredential from "./MppCredential.ts"
import * as MppProblem from "./MppProblem.ts"
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

/** Whether the protocol has a method for an option: a transfer authorization on an EVM chain. */
const isCharge = (scheme: string, network: string, extra: PaymentRequirements["extra"] = {}): boolean =>
  scheme === "exact" &&
  /^eip155:[1-9]\d{0,15}$/.test(network) &&
  (extra["assetTransferMethod"] ?? "eip3009") === "eip3009"

/** The method and the intent of every challenge. */
const charge = { method: "evm", intent: "charge" } as const

/** A challenge in parts: the token of the response goes between the first two, the time of its end between the last. */
interface Draft {
  readonly head: string
  readonly middle: string
  readonly tail: string
  readonly seconds: number
}

/** Marks the places of the token and of the time in a challenge. */
const marks = { token: "token-goes-here", expires: "expires-goes-here" }

const draftOf = (
  { asset = "", extra, maxAmountRequired, maxTimeoutSeconds, network, payTo }: PaymentRequirements,
  realm: string,
  header: string
): ReadonlyArray<Draft> => {
  const challenge = extra?.["challenge"]
  if (typeof challenge !== "string") return []
  /** The keys are in the order of their UTF-16 units, as JCS (RFC 8785) wants them. */
  const request = {
    amount: maxAmountRequired,
    currency: asset,
    methodDetails: { chainId: Number(network.slice("eip155:".length)), credentialTypes: ["authorization"] },
    recipient: payTo
  }
  const text = MppText.challenge({
    id: `${marks.token}${challenge}`,
    realm,
    ...charge,
    request: MppText.encode(request),
    expires: marks.expires,
    ...(header !== "Authorization" && { header })
  })
  const [head = "", rest = ""] = text.split(marks.token, 2)
  const [middle = "", tail = ""] = rest.split(marks.expires, 2)
  return [{ head, middle, tail, seconds: maxTimeoutSeconds ?? defaultMaxTimeoutSeconds }]
}

/**
 * The challenges of a refusal. A payment that may still count gets none: peers' clients sign again for every challenge.
 */
const challenges = (required: PaymentRequired, { realm }: OfferTerms, header: string): ReadonlyArray<Draft> => {
  const { accepts, retry = "new_payment" } = required
  if (realm === undefined || retry !== "new_payment") return []
  const drafts = accepts
    .filter(({ extra, network, scheme }) => isCharge(scheme, network, extra))
    .flatMap((requirements) => draftOf(requirements, realm, header))
  let left = maximumLength
  return drafts.filter(({ head, middle, tail }) => {
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

/** An instant in Unix milliseconds as RFC 3339 writes it, in UTC with milliseconds. */
const instant = (millis: number): string => DateTime.formatIso(DateTime.makeUnsafe(millis))

const personal =
  (drafts: ReadonlyArray<Draft>) =>
  (retryToken: string, now: number): PersonalMessage => ({
    headers: {
      "WWW-Authenticate": drafts
        .map(({ head, middle, seconds, tail }) => {
          const expires = instant(now + seconds * 1000)
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
    canOffer: (scheme, network, extra) => isCharge(scheme, network, extra),
    listing: ({ asset: currency, extra, network, scheme }) =>
      isCharge(scheme, network, extra) ? { protocol: { mpp: { ...charge, currency } }, offer: charge } : undefined,
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
    receiptHeaders: ({ network, transaction }, { challengeId, now }) => ({
      "Payment-Receipt": MppText.encode({
        method: "evm",
        reference: transaction,
        status: "success",
        timestamp: instant(now),
        ...(challengeId !== undefined && { challengeId }),
        ...(network.startsWith("eip155:") && { chainId: Number(network.slice("eip155:".length)) })
      })
    })
  }
}
