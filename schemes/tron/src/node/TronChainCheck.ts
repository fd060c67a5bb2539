/**
 * Proof, asked from the chain before anything is sold or settled on it: that the node serves the network it is configured
 * for, and that each token is a contract with the decimals of our table.
 */
import { type Asset, type ChainUnavailable, Misconfigured } from "@pontage/core"
import * as Effect from "effect/Effect"

import * as TronAddress from "../primitives/TronAddress.ts"
import * as TronNetwork from "../primitives/TronNetwork.ts"
import type { TronRpc } from "./TronRpc.ts"

const decimalsSelector = "313ce567"

/** Proves that the node serves this network: its genesis block is the network's. */
export const network = Effect.fnUntraced(function* (
  rpc: TronRpc,
  expected: string
): Effect.fn.Return<void, ChainUnavailable | Misconfigured> {
  const genesis = yield* rpc.block(0n)
  const served = genesis === undefined ? "a chain without a beginning" : TronNetwork.fromGenesis(genesis.id)
  if (served !== expected) {
    const message = `the RPC that is configured for ${expected} serves ${served}; give the URL of a node of ${expected}`
    return yield* new Misconfigured({ message })
  }
})

/** Proves a token: there is a contract that answers `decimals()` as the table says. */
export const asset = Effect.fnUntraced(function* (
  rpc: TronRpc,
  token: Asset
): Effect.fn.Return<void, ChainUnavailable | Misconfigured> {
  const contract = contractOf(token)
  const outcome = yield* rpc.call(contract, contract, decimalsSelector)
  const decimals = outcome._tag === "Returned" && outcome.data.length === 64 ? BigInt(`0x${outcome.data}`) : undefined
  if (decimals === BigInt(token.decimals)) return
  const { address, decimals: wanted, network: place, symbol } = token
  const came = decimals ?? (outcome._tag === "Returned" ? "something else" : outcome.message)
  const message = `the token ${symbol} (${address}) on ${place} answers decimals() with ${came}, not ${wanted}: is it there?`
  return yield* new Misconfigured({ message })
})

/** The contract of a token of our table, as nodes write addresses. */
export const contractOf = ({ address }: Asset): TronAddress.Address =>
  TronAddress.fromText(address) ?? TronAddress.fromTail("0".repeat(40))
