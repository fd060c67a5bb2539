/** The response of a draw on a metered route: its head says where vouchers go, and its meter charges it. */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

import type { PaymentFailure } from "../../protocol/PaymentFailure.ts"
import type { Settlement } from "../../protocol/Settlement.ts"
import { invalid } from "../../protocol/ValidationError.ts"
import * as AsciiJson from "../../wire/http/AsciiJson.ts"
import type { HeaderFields } from "../../wire/pontage/Dialect.ts"
import type { Granted } from "../http/Decision.ts"
import { StreamMeter } from "../http/StreamMeter.ts"
import * as MeteredTerms from "../route/MeteredTerms.ts"
import type { PricedOption } from "../route/PricedRoute.ts"
import * as DrawnResponse from "./DrawnResponse.ts"
import * as RefundResponse from "./RefundResponse.ts"
import * as StreamCredit from "./StreamCredit.ts"

const decodeFollows = Schema.decodeUnknownResult(Schema.Struct({ follows: Schema.Literal(true) }))

/** Whether the buyer says that it sends further vouchers. */
export const follows = (payload: unknown): boolean => Result.isSuccess(decodeFollows(payload))

/** Refuses a buyer who sends no further vouchers, where the route wants them. A request for a refund buys no stream. */
export const admit = (
  { metered }: Pick<PricedOption, "metered">,
  payload: unknown
): Effect.Effect<void, PaymentFailure> =>
  metered?.strangers === "refuse" && !follows(payload) && !RefundResponse.isAsked(payload)
    ? Effect.fail(stranger)
    : Effect.void

const stranger = invalid(
  "malformed",
  "batch_settlement_follows_required",
  'this response is sold by vouchers that are sent while it runs; send "follows": true in the payload, and the vouchers to extra.metered.voucherUrl'
)

/** The field that lists the response headers which pages of other origins may read. */
const exposing = "Access-Control-Expose-Headers"

/** The parts of a decision on a metered draw. */
export const make = (
  draw: DrawnResponse.GrantedDraw,
  source: Omit<StreamCredit.MeteredDraw, "below" | "first">
): Pick<Granted, "finish" | "headersFor" | "meter" | "settlementFor"> => {
  const { below, finish, headersWith, settlement } = draw
  const meter = new StreamMeter(StreamCredit.make({ ...source, below, first: { finish } }))
  const settlementFor = (status: number): Settlement => {
    if (status >= below) return DrawnResponse.charged(draw, 0n)
    // A host whose response is one message says the sum in it, because its head is made at the end.
    return meter.receipt === undefined ? settlement : DrawnResponse.charged(draw, meter.receipt.charged)
  }
  const terms: HeaderFields = {
    "Payment-Voucher-Url": source.terms.voucherUrl,
    "Payment-Metered": AsciiJson.encode(MeteredTerms.onWire(source.terms))
  }
  return {
    meter,
    finish: meter.finish,
    settlementFor,
    headersFor: (status) => {
      const fields = headersWith(settlementFor(status))
      if (status >= below) return fields
      const exposed = fields[exposing]
      const names = exposed && { [exposing]: `${exposed}, ${Object.keys(terms).join(", ")}` }
      return { ...fields, ...terms, ...names }
    }
  }
}
