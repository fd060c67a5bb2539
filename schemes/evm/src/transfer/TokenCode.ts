/**
 * The accounts that a token's own code runs in a transfer: its proxy, what that runs, and its libraries. They are learned from a
 * transfer of nothing by a key that is made for it, so that no payer has a hand in them.
 */
import { type ChainUnavailable, Entropy } from "@pontage/core"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"

import type * as EvmRpc from "../node/EvmRpc.ts"
import * as EvmAddress from "../primitives/EvmAddress.ts"
import * as EvmHex from "../primitives/EvmHex.ts"
import { localSigner } from "../wallet/LocalSigner.ts"
import * as Eip3009 from "./Eip3009.ts"
import { contractGas } from "./EvmTransferCall.ts"

/** The accounts of a token; its own address among them. */
export type OwnCodeOf = (token: Eip3009.Domain) => Effect.Effect<ReadonlySet<EvmAddress.Address>, ChainUnavailable>

/** A token may be given new code. */
const memoryMillis = Duration.toMillis("10 minutes")

/** Asks a node on behalf of an account that could send the transfer, and remembers for ten minutes. */
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
  const signer = localSigner(EvmHex.fromBytes(bytes(32)))
  const from = EvmAddress.fromTail(EvmHex.fromTrusted(signer.address))
  const authorization: Eip3009.TransferWithAuthorization = {
    from,
    to: from,
    value: 0n,
    validAfter: 0n,
    validBefore: 2n ** 40n - 1n,
    nonce: `0x${EvmHex.fromBytes(bytes(24)).slice(2)}${"0".repeat(16)}`
  }
  const signed = yield* Effect.promise(() => signer.signTypedData(Eip3009.typedData(token, authorization)))
  const signature = EvmHex.fromTrusted(signed)
  const to = token.verifyingContract
  const touched = yield* Effect.forEach(
    [Eip3009.encodeTransferByBytes(authorization, signature), Eip3009.encodeTransferByParts(authorization, signature)],
    (data) => rpc.touched({ ...(caller && { from: caller }), to, data, gas: contractGas }),
    { concurrency: "unbounded" }
  )
  return new Set([to, ...touched.flatMap((accounts) => accounts ?? [])])
})
