/**
 * Checks of the chain before anything is sold or settled on it: the node serves the configured network, and each token is a
 * contract with the decimals of our table.
 */
import { type Asset, type ChainUnavailable, Misconfigured } from "@pontage/core"
import * as Effect from "effect/Effect"

import * as TronAddress from "../primitives/TronAddress.ts"
import * as TronNetwork from "../primitives/TronNetwork.ts"
import type { TronRpc } from "./TronRpc.ts"

const decimalsSelector = "313ce567"

/** Proves that the node serves this network, by its genesis block. */
export const network = Effect.fnUntraced(function* (
  rpc: TronRpc,
  expected: string
): Effect.fn.Return<void, ChainUnavailable | Misconfigured> {
  const genesis = yield* rpc.block(0n)
  const served = genesis === undefined ? "a chain without a genesis block" : TronNetwork.fromGenesis(genesis.id)
  if (served !== expected) {
    const message = `the RPC that is configured for ${expected} serves ${served}; give the URL of a node of ${expected}`
    return yield* new Misconfigured({ message })
  }
})

/** Proves that a token is a contract whose `decimals()` returns the number in the table. */
export const asset = Effect.fnUntraced(function* (
  rpc: TronRpc,
  token: Asset
): Effect.fn.Return<void, ChainUnavailable | Misconfigured> {
  const contract = contractOf(token)
  const outcome = yield* rpc.call(contract, contract, decimalsSelector)
  const decimals = outcome._tag === "Returned" && outcome.data.length === 64 ? BigInt(`0x${outcome.data}`) : undefined
  if (decimals === BigInt(token.decimals)) return
  const { address, decimals: wanted, network: place, symbol } = token
  const came = decimals ?? (outcome._tag === "Returned" ? "no number" : outcome.message)
  const message = `decimals() of the token ${symbol} (${address}) on ${place} returned ${came}, expected ${wanted}; check its address`
  return yield* new Misconfigured({ message })
})

/** The contract of a token of our table, as nodes write addresses. */
export const contractOf = ({ address }: Asset): TronAddress.Address =>
  TronAddress.fromText(address) ?? TronAddress.fromTail("0".repeat(40))
