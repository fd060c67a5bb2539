/** The definition of `exact` on a ledger in memory: its network, its token, and the order that a payer signs. */
import * as Effect from "effect/Effect"
import * as Base64Url from "effect/encoding/Base64Url"
import * as Schema from "effect/Schema"

import { Hash } from "../../platform/Hash.ts"
import * as Amount from "../../protocol/Amount.ts"
import type { Asset } from "../../protocol/Asset.ts"
import * as Binding from "../../protocol/Binding.ts"
import * as Network from "../../protocol/Network.ts"
import { RequestBinding } from "../../protocol/PaymentPayload.ts"
import type { PaymentRequirements } from "../../protocol/PaymentRequirements.ts"
import { ChainUnavailable } from "../../protocol/ProtocolError.ts"
import type { Scheme } from "../../scheme/Scheme.ts"
import type { TestLedger } from "./TestLedger.ts"

/** The network of the ledger; `ledger:1` is its alias. */
export const network = Network.make("ledger:test")

/** The network of a second ledger, to which a bridge brings the money of payments (`TestBridge`). */
export const farNetwork = Network.make("ledger:far")

/** The one token: a dollar of six decimals. */
export const asset: Asset = {
  network,
  address: "acct-dollar",
  symbol: "TUSD",
  decimals: 6,
  dollar: true,
  extra: {}
}

/** The definition. */
export const scheme: Scheme = {
  name: "exact",
  family: "ledger",
  network: (text) => {
    if (text === farNetwork) return farNetwork
    return text === "ledger:test" || text === "ledger:1" ? network : undefined
  },
  address: (text) => (/^acct-[a-z0-9-]{1,32}$/i.test(text) ? text.toLowerCase() : undefined)
}

/** An order as its payer signs it, with the signature. */
export const Payload = Schema.Struct({
  payer: Schema.String,
  payTo: Schema.String,
  asset: Schema.String,
  amount: Amount.FromText,
  nonce: Schema.String.check(Schema.isPattern(/^[A-Za-z0-9_-]{22}$/)),
  validAfter: Schema.Int,
  validBefore: Schema.Int,
  signature: Schema.String,
  binding: Schema.optionalKey(RequestBinding)
})

export type Payload = typeof Payload.Type

/** The fee of each crossing to the second ledger (`TestBridge`). */
export const crossingFee = 100n

/** The amount of a crossing payment that arrives on the second ledger. */
export const arriving = (amount: bigint): bigint => amount - crossingFee

/** The amount that an offer asks to arrive on the second ledger; `undefined` if it says none. */
export const askedIn = ({ extra = {} }: PaymentRequirements): bigint | undefined => {
  const asked = extra["arriving"]
  return typeof asked === "string" && Amount.isText(asked) ? BigInt(asked) : undefined
}

const text = new TextEncoder()

/**
 * The signature of an order, its amount as text. Only a holder of the account's secret can make it, like a bank's code.
 */
export const signatureOf = Effect.fnUntraced(function* (payload: Omit<typeof Payload.Encoded, "signature">) {
  const hash = yield* Hash
  const { amount, asset: token, nonce, payTo, payer, validAfter, validBefore } = payload
  const terms = JSON.stringify([payer, payTo, token, amount, nonce, validAfter, validBefore])
  return Base64Url.encode(yield* hash.hmacSha256(text.encode(`secret of ${payer}`), text.encode(terms)))
})

/** The nonce of an order that is bound to its request. */
export const boundNonce = (binding: RequestBinding) =>
  Effect.map(Binding.tag(binding), (tag) => Base64Url.encode(tag.subarray(0, 16)))

/** The failure of a ledger that does not respond. */
export const unavailable = (message: string) => new ChainUnavailable({ network, message })

/** Sends a request to the ledger and advances its time; it does not respond while it is down. */
export const asked = <A>(ledger: TestLedger, question: () => A): Effect.Effect<A, ChainUnavailable> =>
  Effect.clockWith((clock) =>
    Effect.suspend(() => {
      ledger.tick(Math.floor(clock.currentTimeMillisUnsafe() / 1000))
      return ledger.faults.down ? Effect.fail(unavailable("the ledger is down")) : Effect.sync(question)
    })
  )
