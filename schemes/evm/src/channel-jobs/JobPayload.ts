/**
 * The messages about channels as their facilitator reads them: those of the wire (`ChannelPayload`), and planned jobs, which have a
 * field `job` beside the same fields.
 */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

import * as EvmHex from "../primitives/EvmHex.ts"
import * as ChannelConfig from "../voucher/ChannelConfig.ts"
import * as ChannelNumber from "../voucher/ChannelNumber.ts"
import * as ChannelPayload from "../voucher/ChannelPayload.ts"
import * as Voucher from "../voucher/Voucher.ts"
import * as ChannelRefusal from "./ChannelRefusal.ts"

const Deposit = Schema.Struct({
  ...ChannelPayload.DepositPayload.fields,
  /** Absent in a job: the deposit is the same whichever voucher comes with it. */
  voucher: Schema.optionalKey(Voucher.Voucher)
})

/** The name and the end of validity (Unix seconds) of a planned job. */
const Job = Schema.Struct({ id: EvmHex.Bytes32, until: Schema.Int })

/** A row that is left out of a claim, and the reason. */
const Held = Schema.Struct({ channelId: EvmHex.Bytes32, reason: Schema.String })

const Claim = Schema.Struct({
  ...ChannelPayload.ClaimPayload.fields,
  job: Schema.optionalKey(Schema.Struct({ ...Job.fields, held: Schema.Array(Held) }))
})

const Settle = Schema.Struct({
  ...ChannelPayload.SettlePayload.fields,
  /** `upTo`: the sum of the receiver's claims that is paid out at least. */
  job: Schema.optionalKey(Schema.Struct({ ...Job.fields, upTo: ChannelNumber.Uint128 }))
})

const { amount, claims, refundNonce, ...signatures } = ChannelPayload.ShopRefundPayload.fields

/** The request for a refund: a payer's without the last fields, a server's with all of them. */
const Refund = Schema.Struct({
  ...signatures,
  amount: Schema.optionalKey(amount),
  refundNonce: Schema.optionalKey(refundNonce),
  claims: Schema.optionalKey(claims),
  job: Schema.optionalKey(Job)
})

export type Deposit = typeof Deposit.Type
export type Claim = typeof Claim.Type
export type Settle = typeof Settle.Type
export type Refund = typeof Refund.Type
export type Held = typeof Held.Type

/** Any of the messages. */
export type JobPayload = Deposit | ChannelPayload.VoucherPayload | Claim | Settle | Refund

const decodeType = Schema.decodeUnknownResult(
  Schema.Struct({ type: Schema.Literals(["deposit", "voucher", "claim", "settle", "refund"]) })
)

const decoders = {
  deposit: Schema.decodeUnknownResult(Deposit),
  voucher: Schema.decodeUnknownResult(ChannelPayload.VoucherPayload),
  claim: Schema.decodeUnknownResult(Claim),
  settle: Schema.decodeUnknownResult(Settle),
  refund: Schema.decodeUnknownResult(Refund)
} as const

/** Reads a message; the refusal names the place of a mistake. */
export const read = (json: unknown): Effect.Effect<JobPayload, ChannelRefusal.ChannelRefusal> => {
  const named = decodeType(json)
  if (Result.isFailure(named)) {
    const message = 'the payload\'s "type" is none of deposit, voucher, claim, settle and refund'
    return Effect.fail(ChannelRefusal.make("payload_type", message))
  }
  const { type } = named.success
  const decoded: Result.Result<JobPayload, { readonly message: string }> = decoders[type](json)
  return Effect.mapError(Effect.fromResult(decoded), ({ message }) =>
    ChannelRefusal.make(`${type}_payload`, `the payload is no ${type} of batch-settlement: ${message}`)
  )
}

/** A deposit as a job: the same JSON whatever voucher came with it, and in whatever letters it was written. */
export const ofDeposit = ({ channelConfig, deposit }: Deposit): Schema.Json => {
  const signed = deposit.authorization.erc3009Authorization
  return {
    type: "deposit",
    channelConfig: ChannelConfig.onWire(channelConfig),
    deposit: {
      amount: `${deposit.amount}`,
      authorization: {
        ...(signed && {
          erc3009Authorization: {
            validAfter: `${signed.validAfter}`,
            validBefore: `${signed.validBefore}`,
            salt: signed.salt,
            signature: signed.signature
          }
        })
      }
    }
  }
}
