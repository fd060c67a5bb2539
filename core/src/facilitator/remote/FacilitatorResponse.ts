/**
 * The meaning of a facilitator's response with status 200: a value, a verdict against the payment, an unknown outcome,
 * or nonsense. A response that contradicts itself is nonsense, and nonsense is never a success and never a verdict.
 */
import * as Result from "effect/Result"

import * as Amount from "../../protocol/Amount.ts"
import { PaymentError } from "../../protocol/PaymentError.ts"
import type { PaymentFailure } from "../../protocol/PaymentFailure.ts"
import * as PaymentId from "../../protocol/PaymentId.ts"
import type { PaymentRequirements } from "../../protocol/PaymentRequirements.ts"
import { SettlementPending } from "../../protocol/ProtocolError.ts"
import { isDead, isSettled } from "../../protocol/Settlement.ts"
import { ValidationError } from "../../protocol/ValidationError.ts"
import { ChannelCorrection } from "../../scheme/ChannelCorrection.ts"
import type { VoucherResponse, WindowResponse } from "../../wire/pontage/DrawsApi.ts"
import type { SettleResponse, VerifyResponse } from "../../wire/pontage/FacilitatorApi.ts"
import * as DrawId from "../channel/DrawId.ts"
import { type Credit, NotOnRecord, type Settled, type Verified, type VoucherKept } from "../Facilitator.ts"

/** A meaningless response; `why` completes the sentence "the response …". */
export interface Nonsense {
  readonly _tag: "Nonsense"
  readonly why: string
}

/** The sent request, as far as the response must agree with it. */
export interface SentRequest {
  readonly requirements: PaymentRequirements
  /** Whether an execution was claimed: then a value must name the state of the claim. */
  readonly claimed: boolean
  /** `settled`: success means that the money has moved. `claimed`: success means that the claim was accepted. */
  readonly wish: "settled" | "claimed"
}

type Meaning<A> = Result.Result<A, PaymentFailure | Nonsense>
type Settling = typeof SettleResponse.Type
type Words = Pick<Settling, "code" | "reason" | "detail" | "message">

/** The meaning of a response to `POST /verify`. */
export const verified = (response: typeof VerifyResponse.Type): Meaning<Verified> => {
  const refusal = refusalOf(response)
  if (!response.isValid)
    return Result.fail(refusal ?? nonsense("says isValid: false and gives neither code nor reason"))
  if (refusal !== undefined) return Result.fail(nonsense("says isValid: true and gives a code or a reason"))
  if (response.payer === undefined) return Result.fail(nonsense("says isValid: true and names no payer"))
  const { extra, payer } = response
  return Result.succeed({ payer, ...(extra && { extra }) })
}

/** The meaning of a response to `POST /settle` and `POST /claims`. */
export const settled = (sent: SentRequest, response: Settling): Meaning<Settled> => {
  const refusal = corrected(sent.requirements, response)
  if (refusal !== undefined) return Result.fail(contradiction(response, refusal) ?? refusal)
  const { isDraw, paymentId } = response
  if (isDraw === true ? !DrawId.isDrawId(paymentId) : !PaymentId.isPaymentId(paymentId))
    return Result.fail(nonsense("has a paymentId that is neither pay_ and 22 characters of base64url nor a draw's"))
  const lost = response.execution !== undefined && response.execution !== "granted"
  if (!response.success && !lost) return Result.fail(pendingOf(response))
  const why = response.success && !lost ? unearned(sent, response) : undefined
  return why === undefined ? valueOf(response) : Result.fail(nonsense(why))
}

/** The meaning of a response to `POST /vouchers`. */
export const kept = (
  requirements: PaymentRequirements,
  response: typeof VoucherResponse.Type
): Meaning<VoucherKept> => {
  const refusal = corrected(requirements, response)
  const { standing, transaction, voucher } = response
  if (refusal !== undefined)
    return Result.fail(voucher === undefined ? refusal : nonsense("keeps a voucher and gives a code or a reason"))
  if (voucher === undefined || standing === undefined || transaction === undefined)
    return Result.fail(nonsense("lacks the voucher's end, the channel's standing or the transaction"))
  const tags = { kept: "Kept", lower: "Lower", closed: "Closed" } as const
  return Result.succeed({ _tag: tags[voucher], standing, transaction })
}

/** A part of a channel's credit, by the response to `POST /draws/{id}/windows`. */
export const creditOf = (paymentId: string, response: typeof WindowResponse.Type): Credit => {
  const { standing } = response
  switch (response.window) {
    case "granted":
      return { _tag: "Granted", paymentId, standing }
    case "closed":
      return { _tag: "Closed", standing }
    case "wanting":
      return { _tag: "Wanting", required: response.required, standing }
  }
}

/** The refusal in a response; with the state of its channel it tells the payer what to sign next. */
const corrected = (
  { network, scheme }: PaymentRequirements,
  response: Words & Pick<Settling, "extra">
): PaymentError | ValidationError | Nonsense | undefined => {
  const refusal = refusalOf(response)
  const { extra } = response
  return refusal?._tag === "ValidationError" && extra !== undefined
    ? new ChannelCorrection({ scheme, network }, extra, refusal.message, refusal.detail)
    : refusal
}

const nonsense = (why: string): Nonsense => ({ _tag: "Nonsense", why })

const refusalOf = (response: Words): PaymentError | ValidationError | Nonsense | undefined => {
  const { code, detail = "unspecified", message = "the facilitator refused the payment", reason } = response
  if (code !== undefined && reason !== undefined) return nonsense("gives both a code and a reason")
  if (code !== undefined) return new PaymentError({ code, detail, message })
  if (reason === undefined) return undefined
  return reason === NotOnRecord.words.reason && detail === NotOnRecord.words.detail
    ? new NotOnRecord(message)
    : new ValidationError({ reason, detail, message })
}

/**
 * The contradiction in a refusal: it makes a payer sign again, so it must not come with signs that the money has moved
 * or still may.
 */
const contradiction = (
  response: Settling,
  refusal: PaymentError | ValidationError | Nonsense
): Nonsense | undefined => {
  if (response.success) return nonsense("says success: true and gives a code or a reason")
  if (response.execution === "granted") return nonsense("grants the execution and gives a code or a reason")
  const used = refusal._tag === "ValidationError" && refusal.reason === "already_used"
  return used || isDead(response.status)
    ? undefined
    : nonsense(`refuses a payment whose status is "${response.status}"`)
}

const pendingOf = (response: Settling): SettlementPending | Nonsense => {
  const { paymentId, status, transaction } = response
  if (isSettled(status) || isDead(status)) {
    return nonsense(`says success: false with status "${status}" and gives neither code nor reason`)
  }
  const message = response.message ?? `payment ${paymentId} is ${status}; its outcome is not known yet`
  return new SettlementPending({ paymentId, status, message, ...(transaction === "" ? {} : { transaction }) })
}

/** The reason why a success that opens the resource is not believed. */
const unearned = (sent: SentRequest, response: Settling): string | undefined => {
  const { amount, execution, isDraw, isRefund = false, network, status, transaction } = response
  const { maxAmountRequired, network: offered } = sent.requirements
  if (sent.claimed && !isRefund && execution === undefined) return "does not say the state of the claim"
  if (isDead(status)) return `says success: true with status "${status}"`
  if (sent.wish === "settled" && !isSettled(status)) return `says success: true with status "${status}"`
  if (isSettled(status) && transaction === "" && isDraw !== true)
    return `says status "${status}" and names no transaction`
  if (network !== offered) return `is about network "${network}", requested was "${offered}"`
  if (amount === undefined || !Amount.isText(amount)) return "names no amount"
  // A refund buys nothing, whatever its amount is.
  if (isRefund) return execution === undefined ? undefined : "grants an execution for a refund"
  // A payment on record may have been taken at a higher price.
  const isEnough = BigInt(amount) >= BigInt(maxAmountRequired)
  return isEnough ? undefined : `is about an amount of ${amount}, requested was ${maxAmountRequired}`
}

const valueOf = (response: Settling): Meaning<Settled> => {
  const {
    amount,
    asset,
    entitlement,
    execution,
    extra,
    isDraw,
    isRefund,
    network,
    payTo,
    paymentId,
    payer,
    status,
    transaction
  } = response
  if (payTo === undefined || asset === undefined) return Result.fail(nonsense("names no payee or no asset"))
  if (payer === undefined) return Result.fail(nonsense("names no payer"))
  if (amount === undefined || !Amount.isText(amount)) return Result.fail(nonsense("names no amount"))
  return Result.succeed({
    paymentId,
    status,
    execution,
    transaction,
    network,
    payer,
    payTo,
    asset,
    amount,
    ...(extra && { extra }),
    ...(isDraw && { isDraw }),
    ...(isRefund && { isRefund }),
    ...(entitlement && { entitlement })
  })
}
