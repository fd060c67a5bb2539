/** The balance of a network's default token. */
import type { Asset } from "@pontage/core"
import { EvmAddress, EvmAsset, EvmNetwork, EvmRpc } from "@pontage/evm"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"

import { CommandFailed, misused } from "../CommandFailed.ts"

/** The selector of `balanceOf(address)`. */
const selector = "0x70a08231"
const gasLimit = 1_000_000n

/** A balance in the smallest unit of the token. */
export interface TokenBalance {
  readonly asset: Asset
  readonly amount: bigint
}

/** Reads the balance of an EVM account at a node. */
export const read = async (network: string, node: string, account: string): Promise<TokenBalance> => {
  const chain = EvmNetwork.fromText(network)
  const owner = EvmAddress.fromText(account)
  const asset = chain && Result.getOrThrow(EvmAsset.table([])).find(chain, undefined)
  if (chain === undefined || owner === undefined || asset === undefined) {
    throw misused(`--network: no token is known on "${network}"`)
  }
  const to = EvmAddress.fromText(asset.address)
  const data = `${selector}${owner.slice(2).padStart(64, "0")}` as const
  const reading = Effect.gen(function* () {
    const rpc = yield* EvmRpc.make({ url: node, network: chain })
    return yield* rpc.call({ data, gas: gasLimit, ...(to !== undefined && { to }) })
  })
  const outcome = await Effect.runPromise(reading).catch((error: unknown) => {
    throw new CommandFailed({ exit: "unreachable", message: error instanceof Error ? error.message : String(error) })
  })
  const text = "data" in outcome && typeof outcome.data === "string" ? outcome.data : "0x"
  if (text.length !== 66) throw new CommandFailed({ exit: "unreachable", message: `no balance came from ${network}` })
  return { asset, amount: BigInt(text) }
}
