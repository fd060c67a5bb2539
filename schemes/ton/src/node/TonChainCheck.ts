/**
 * Checks before anything is sold or settled on a chain: the node serves the configured network, and each asset is the master of
 * a Jetton.
 */
import { type Asset, type ChainUnavailable, Misconfigured } from "@pontage/core"
import * as Effect from "effect/Effect"

import * as TonAddress from "../primitives/TonAddress.ts"
import * as TonNetwork from "../primitives/TonNetwork.ts"
import type * as TonRpc from "./TonRpc.ts"
import * as TonStack from "./TonStack.ts"

/** Root hashes of the public chains' zero states. */
const zeroStates: Readonly<Record<string, string>> = {
  "F6OpKZKqvqeFp6CQmFomXNMfMj2EnaUSOXN+Mh+wVWk=": TonNetwork.mainnet,
  "gj+B8wb/AmlPk1z1AhVI484rhrUpgSr2oSFIh56VoSg=": TonNetwork.testnet
}

/**
 * Checks that the node serves this network. A local chain may have any zero state except that of a public one.
 */
export const network = Effect.fnUntraced(function* (
  rpc: TonRpc.TonRpc,
  expected: string
): Effect.fn.Return<void, ChainUnavailable | Misconfigured> {
  const served = zeroStates[yield* rpc.zeroState] ?? TonNetwork.local
  if (served === expected) return
  const message = `the RPC configured for ${expected} serves ${served}; give the URL of a node of ${expected}`
  return yield* new Misconfigured({ message })
})

/** Checks an asset: its contract has the get methods of a Jetton master, and returns the wallet of an account. */
export const asset = Effect.fnUntraced(function* (
  rpc: TonRpc.TonRpc,
  token: Asset
): Effect.fn.Return<void, ChainUnavailable | Misconfigured> {
  const master = TonAddress.fromText(token.address)
  if (master === undefined) return yield* wrong(token, "has no valid address")
  const data = yield* rpc.get(master, "get_jetton_data")
  const wallet = yield* rpc.get(master, "get_wallet_address", [TonStack.address(master)])
  const isMaster = data._tag === "Returned" && TonStack.numberOf(data.stack[0]) !== undefined && data.stack.length >= 5
  const isNaming = wallet._tag === "Returned" && TonStack.addressOf(wallet.stack[0]) !== undefined
  if (!isMaster || !isNaming) return yield* wrong(token, "is not the master of a Jetton")
})

const wrong = ({ address, network: place, symbol }: Asset, what: string) =>
  new Misconfigured({ message: `the token ${symbol} (${address}) on ${place} ${what}` })
