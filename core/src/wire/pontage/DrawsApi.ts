/**
 * The facilitator's HTTP messages about draws on payment channels: `POST /draws`, `POST /draws/{id}/windows`, `POST /draws/{id}/renew`,
 * `GET /draws/{id}`, `GET /draws/{id}/closed` and `POST /vouchers` (apps/docs/protocol.md#facilitator-http-api). A draw ends by `POST /payments/{id}/finish`.
 */
import * as Schema from "effect/Schema"

import * as Amount from "../../protocol/Amount.ts"
import { ClaimRequest, Fault, identifier, SettleResponse, verdict, VerifyRequest } from "./FacilitatorApi.ts"

/** Maximum number of draws in one `POST /draws`: a body of 64 KiB has room for them. */
export const maximumDraws = 12

/** One of several draws. `buyer` stands for the header field `pontage-buyer` of a single one. */
export const Draw = Schema.Struct({ ...ClaimRequest.fields, buyer: Schema.optionalKey(identifier) })

/** `POST /draws`. */
export const DrawsRequest = Schema.Struct({
  draws: Schema.Array(Draw).check(Schema.isMinLength(1), Schema.isMaxLength(maximumDraws))
})

/** The `error` of a draw that takes longer than others wait for it (202). */
export const sendAlone = "send_alone"

/**
 * The response of `POST /draws`, draw by draw in the order of the request: the status and the body that `POST /claims` would have had.
 * 202: the draw takes longer, because of a deposit or a turn that it waits for; nothing is decided, and the server sends it alone.
 */
export const DrawsResponse = Schema.Struct({
  answers: Schema.Array(
    Schema.Struct({
      status: Schema.Literals([200, 202, 403, 429, 500, 503]),
      body: Schema.Union([SettleResponse, Fault])
    })
  )
})

/** Longest wait for a voucher in one request, in milliseconds. */
export const longestWaitMillis = 20_000

/** `POST /draws/{id}/windows`: reserves a further part of the channel's credit under a claim of its own. */
export const WindowRequest = Schema.Struct({
  claimId: identifier,
  amount: Amount.FromText,
  /** The voucher that the server knows to be wanted: the response waits while it still is. */
  known: Schema.optionalKey(Amount.FromText),
  waitMillis: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: longestWaitMillis }))
})

/** A channel's standing: see `ChannelStanding`. */
export const Standing = Schema.Struct({
  channelId: Schema.String,
  owed: Amount.FromText,
  accepted: Amount.FromText,
  published: Amount.FromText,
  balance: Amount.FromText,
  facts: Schema.Record(Schema.String, Schema.Json)
})

/** The response of `POST /draws/{id}/windows`. `wanting` needs a voucher of `required` at least. */
export const WindowResponse = Schema.Union([
  Schema.Struct({ window: Schema.Literals(["granted", "closed"]), standing: Standing }),
  Schema.Struct({ window: Schema.Literal("wanting"), required: Amount.FromText, standing: Standing })
])

/** `POST /draws/{id}/renew`. */
export const RenewRequest = Schema.Struct({ claimId: identifier })

/** The response of `POST /draws/{id}/renew`: whether the draw is open still. */
export const RenewResponse = Schema.Struct({ open: Schema.Boolean })

/** The response of `GET /draws/{id}/closed`: whether the channel is drawn on no more. */
export const ClosedResponse = Schema.Struct({ closed: Schema.Boolean })

/** `POST /vouchers`: the request of `POST /verify`, with a voucher or a deposit as the payment. */
export const VoucherRequest = VerifyRequest

/** The response of `POST /vouchers`: the voucher's end, or why it is none, with the state of its channel. */
export const VoucherResponse = Schema.Struct({
  voucher: Schema.optionalKey(Schema.Literals(["kept", "lower", "closed"])),
  standing: Schema.optionalKey(Standing),
  /** The deposit's; empty without one. */
  transaction: Schema.optionalKey(Schema.String),
  extra: Schema.optionalKey(Schema.Record(Schema.String, Schema.Json)),
  ...verdict
})
