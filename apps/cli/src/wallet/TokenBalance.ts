/** The balance of a network's default token, read from a node of any chain family. */
import type { Asset, AssetTable, ChainUnavailable, Misconfigured, Network } from "@pontage/core"
import { EvmAddress, EvmAsset, EvmNetwork, EvmRpc } from "@pontage/evm"
import { TonAddress, TonAsset, TonJettons, TonNetwork, TonRpc, TonWallet } from "@pontage/ton"
import { TronAddress, TronAsset, TronBalance, TronNetwork, TronRpc } from "@pontage/tron"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"

import { CommandFailed, misused, unusableWallet } from "../CommandFailed.ts"
import type { ChainFamily } from "./ChainFamily.ts"

/** The selector of `balanceOf(address)`. */
const selector = "0x70a08231"
const gasLimit = 1_000_000n

/** A balance in the smallest unit of the token. */
export interface TokenBalance {
  readonly asset: Asset
  readonly amount: bigint
}

/** An owner: its address, and on TON its public key (64 hexadecimal digits), which has an address of its own on each network. */
export interface TokenOwner {
  readonly address: string
  readonly publicKey: string | undefined
}

/** Reads an owner's balance at a node. */
export type Read = (network: string, node: string, owner: TokenOwner) => Promise<TokenBalance>

type Reading = Effect.Effect<bigint, ChainUnavailable | Misconfigured>

const evm: Read = (network, node, { address }) => {
  const [chain, asset] = tokenOf(EvmAsset.table([]), EvmNetwork.fromText(network), network)
  const account = EvmAddress.fromText(address)
  const to = EvmAddress.fromText(asset.address)
  if (account === undefined || to === undefined) throw unusableWallet(`${address} is not an address of ${network}`)
  const data = `${selector}${account.slice(2).padStart(64, "0")}` as const
  const reading = Effect.gen(function* () {
    const rpc = yield* EvmRpc.make({ url: node, network: chain })
    const outcome = yield* rpc.call({ data, gas: gasLimit, to })
    const text = "data" in outcome && typeof outcome.data === "string" ? outcome.data : "0x"
    return text.length === 66 ? BigInt(text) : yield* Effect.die(noBalance(network))
  })
  return settled(asset, reading)
}

const ton: Read = (network, node, { address, publicKey }) => {
  const [chain, asset] = tokenOf(TonAsset.table([]), TonNetwork.fromText(network), network)
  const master = TonAddress.fromText(asset.address)
  const owner =
    publicKey === undefined
      ? TonAddress.fromText(address)
      : TonWallet.w5Address(Uint8Array.from(Buffer.from(publicKey, "hex")), TonNetwork.walletId(chain))
  if (master === undefined || owner === undefined) throw unusableWallet(`${address} is not an address of ${network}`)
  const reading = Effect.gen(function* () {
    const jettons = TonJettons.make(yield* TonRpc.make({ url: node, network: chain }))
    return (yield* jettons.holding(master, yield* jettons.walletOf(master, owner))).balance
  })
  return settled(asset, reading)
}

const tron: Read = (network, node, { address }) => {
  const [chain, asset] = tokenOf(TronAsset.table([]), TronNetwork.fromText(network), network)
  const contract = TronAddress.fromText(asset.address)
  const owner = TronAddress.fromText(address)
  if (contract === undefined || owner === undefined) throw unusableWallet(`${address} is not an address of ${network}`)
  const reading = Effect.gen(function* () {
    return yield* TronBalance.read(yield* TronRpc.make({ url: node, network: chain }), asset, contract, owner)
  })
  return settled(asset, reading)
}

/** The readers of the families. */
export const readers: Readonly<Record<ChainFamily, Read>> = { evm, ton, tron }

const tokenOf = (
  table: Result.Result<AssetTable.AssetTable, Misconfigured>,
  chain: Network.Network | undefined,
  network: string
): readonly [Network.Network, Asset] => {
  const asset = chain && Result.getOrThrow(table).find(chain, undefined)
  if (chain === undefined || asset === undefined) throw misused(`--network: no token is known on "${network}"`)
  return [chain, asset]
}

const noBalance = (network: string): CommandFailed =>
  new CommandFailed({ exit: "unreachable", message: `no balance came from ${network}` })

const settled = async (asset: Asset, reading: Reading): Promise<TokenBalance> => {
  const amount = await Effect.runPromise(reading).catch((error: unknown) => {
    if (error instanceof CommandFailed) throw error
    throw new CommandFailed({ exit: "unreachable", message: error instanceof Error ? error.message : String(error) })
  })
  return { asset, amount }
}
