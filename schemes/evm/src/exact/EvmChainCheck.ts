/**
 * Checks against the chain before anything is sold or settled on it: the node serves the configured network, and each token
 * matches our table, its EIP-712 domain included.
 */
import { type Asset, type ChainUnavailable, Misconfigured } from "@pontage/core"
import * as Effect from "effect/Effect"

import type * as EvmRpc from "../node/EvmRpc.ts"
import type * as EvmAddress from "../primitives/EvmAddress.ts"
import * as EvmHex from "../primitives/EvmHex.ts"
import * as EvmNetwork from "../primitives/EvmNetwork.ts"
import * as Eip3009 from "../transfer/Eip3009.ts"
import * as EvmAsset from "../transfer/EvmAsset.ts"

const decimalsSelector = "0x313ce567"
const domainSeparatorSelector = "0x3644e515"
const readGas = 100_000n

/** Checks that the node serves this network. */
export const network = Effect.fnUntraced(function* (rpc: EvmRpc.Shape, expected: string) {
  const served = EvmNetwork.fromChainId(yield* rpc.chainId)
  if (served !== expected) {
    const message = `the RPC configured for ${expected} serves ${served}; give the URL of a node of ${expected}`
    return yield* new Misconfigured({ message })
  }
})

/** Checks a token: it has code, and its decimals and, where it has one, its EIP-712 domain separator are those of the table. */
export const asset = Effect.fnUntraced(function* (
  rpc: EvmRpc.Shape,
  token: Asset
): Effect.fn.Return<void, ChainUnavailable | Misconfigured> {
  const domain = EvmAsset.domain(token)
  const decimals = yield* read(rpc, domain.verifyingContract, decimalsSelector)
  if (decimals === undefined || BigInt(decimals) !== BigInt(token.decimals)) {
    return yield* wrong(token, `does not return ${token.decimals} from decimals(): is there a token at this address?`)
  }
  if (!EvmAsset.hasDomain(token)) return
  const separator = yield* read(rpc, domain.verifyingContract, domainSeparatorSelector)
  if (separator !== EvmHex.fromBytes(Eip3009.domainSeparator(domain))) {
    const { name, version } = domain
    return yield* wrong(
      token,
      `is not signed under name "${name}", version "${version}": its DOMAIN_SEPARATOR() differs`
    )
  }
})

/** The 32-byte word that a getter returns; `undefined` for other data and for a revert. */
const read = (rpc: EvmRpc.Shape, to: EvmAddress.Address, data: EvmHex.Hex) =>
  Effect.map(rpc.call({ to, data, gas: readGas }), (outcome) =>
    outcome._tag === "Returned" && EvmHex.isBytes32(outcome.data) ? outcome.data : undefined
  )

const wrong = (token: Asset, what: string) =>
  new Misconfigured({ message: `the token ${token.symbol} (${token.address}) on ${token.network} ${what}` })
