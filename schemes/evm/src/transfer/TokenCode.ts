/**
 * The accounts that a token's own code runs in a transfer: its proxy, the proxy's implementation, and its libraries. They are
 * learned from simulated transfers of zero by a fresh key, so that no payer can influence them.
 */
import { ChainUnavailable, Entropy } from "@pontage/core"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"

import * as LocalKey from "../crypto/LocalKey.ts"
import type * as EvmRpc from "../node/EvmRpc.ts"
import type * as EvmAddress from "../primitives/EvmAddress.ts"
import * as EvmHex from "../primitives/EvmHex.ts"
import * as AccountCalls from "./AccountCalls.ts"
import * as Eip3009 from "./Eip3009.ts"
import { contractGas } from "./EvmTransferCall.ts"

/** The accounts of a token, its own address included. */
export type OwnCodeOf = (token: Eip3009.Domain) => Effect.Effect<ReadonlySet<EvmAddress.Address>, ChainUnavailable>

/** Lifetime of a cached result, in milliseconds: a token may be upgraded. */
const memoryMillis = Duration.toMillis("10 minutes")

/** Asks a node, with `caller` as the sender of the transfer, and caches each token's result for ten minutes. */
export const make = (rpc: EvmRpc.Shape, caller: EvmAddress.Address | undefined): OwnCodeOf => {
  const learned = new Map<EvmAddress.Address, { readonly own: ReadonlySet<EvmAddress.Address>; readonly at: number }>()
  return Effect.fnUntraced(function* (token) {
    const address = token.verifyingContract
    const now = yield* Clock.currentTimeMillis
    const known = learned.get(address)
    if (known !== undefined && now < known.at + memoryMillis) return known.own
    const own = yield* learn(rpc, token, caller)
    learned.set(address, { own, at: now })
    return own
  })
}

const learn = Effect.fnUntraced(function* (
  rpc: EvmRpc.Shape,
  token: Eip3009.Domain,
  caller: EvmAddress.Address | undefined
) {
  const { bytes } = yield* Entropy.Entropy
  const key = LocalKey.fromBytes(bytes(32))
  if (key === undefined) return yield* noKey(rpc.network)
  const from = key.address
  const authorization: Eip3009.TransferWithAuthorization = {
    from,
    to: from,
    value: 0n,
    validAfter: 0n,
    validBefore: 2n ** 40n - 1n,
    nonce: `0x${EvmHex.fromBytes(bytes(24)).slice(2)}${"0".repeat(16)}`
  }
  const signed = key.sign(Eip3009.digest(token, authorization))
  if (signed === undefined) return yield* noKey(rpc.network)
  const signature = LocalKey.signatureText(signed)
  const to = token.verifyingContract
  const byCaller = caller === undefined ? {} : { from: caller }
  const [transfer] = AccountCalls.of({ token: to, payTo: from, amount: 0n, guard: undefined })
  const touched = yield* Effect.forEach(
    [
      { ...byCaller, data: Eip3009.encodeTransferByBytes(authorization, signature) },
      { ...byCaller, data: Eip3009.encodeTransferByParts(authorization, signature) },
      ...(transfer === undefined ? [] : [{ from, data: transfer.data }])
    ],
    (call) => rpc.touched({ ...call, to, gas: contractGas }),
    { concurrency: "unbounded" }
  )
  return new Set([to, ...touched.flatMap((accounts) => accounts ?? [])])
})

/** Random bytes may be outside the curve's range, with a chance of 2^-128. The next call draws others. */
const noKey = (network: string) =>
  new ChainUnavailable({ network, message: "the random bytes for a key are out of the curve's range; try again" })
