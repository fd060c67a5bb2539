/**
 * The response to a payer who has asked for a refund of its channel: the receipt of the refund, and no resource
 * (specification `scheme_batch_settlement.md`, "Refund").
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

import type { Settled } from "../../facilitator/Facilitator.ts"
import type { PresentedPayment } from "../../wire/pontage/Dialect.ts"
import * as SellerDialects from "../../wire/SellerDialects.ts"
import type { Refused } from "../http/Decision.ts"
import * as GateResponse from "../http/GateResponse.ts"
import type { GatedRequest } from "./PaymentRefusal.ts"

const decodeRefund = Schema.decodeUnknownResult(Schema.Struct({ type: Schema.Literal("refund") }))

/** Whether a payload asks for a refund. */
export const isAsked = (payload: unknown): boolean => Result.isSuccess(decodeRefund(payload))

/** The response; no handler runs. */
export const make = (
  { challengeId, crossOrigin, dialects }: GatedRequest & Pick<PresentedPayment, "challengeId">,
  { amount, extra, network, payer, paymentId, transaction }: Settled
): Effect.Effect<Refused> =>
  Effect.map(Clock.currentTimeMillis, (now) => {
    const settlement = {
      success: true,
      transaction,
      network,
      payer,
      amount,
      paymentId,
      ...(extra && { extra })
    } as const
    const response = GateResponse.plain(200, {
      message: "Refund acknowledged",
      amount,
      transaction,
      ...(extra?.["channelState"] !== undefined && { channelState: extra["channelState"] })
    })
    const headers = {
      ...response.headers,
      ...SellerDialects.receiptHeaders(dialects, settlement, { now, challengeId, receipts: {} }),
      ...(crossOrigin ? GateResponse.exposed(dialects) : {})
    }
    return { _tag: "Refused", response: { ...response, headers } }
  })
