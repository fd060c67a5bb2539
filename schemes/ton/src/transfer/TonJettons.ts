/**
 * What the chain knows of Jettons: where an account's Jetton wallet is, which never changes, what is in it, and whether the
 * token's issuer has locked it.
 */
import { ChainUnavailable } from "@pontage/core"
import * as BoundedMap from "@pontage/core/BoundedMap"
import * as Effect from "effect/Effect"

import type * as TonRpc from "../node/TonRpc.ts"
import * as TonStack from "../node/TonStack.ts"
import type * as TonAddress from "../primitives/TonAddress.ts"

/** What a Jetton wallet holds and what its issuer lets it do. */
export interface Holding {
  /** In the smallest unit; 0 where there is no wallet. */
  readonly balance: bigint
  readonly maySend: boolean
  readonly mayReceive: boolean
  /** The masterchain's block that this is of; `undefined` where the node does not say. */
  readonly block: bigint | undefined
}

/** The questions. */
export interface TonJettons {
  /** The Jetton wallet of an account. The master of an asset of ours is asked; a failure is its or the node's. */
  readonly walletOf: (
    master: TonAddress.Address,
    owner: TonAddress.Address
  ) => Effect.Effect<TonAddress.Address, ChainUnavailable>
  /** What is in a Jetton wallet. */
  readonly holding: (master: TonAddress.Address, wallet: TonAddress.Address) => Effect.Effect<Holding, ChainUnavailable>
}

/** So many wallets' addresses are remembered. */
const capacity = 50_000
/** A contract that is not there, and one that has no such method. */
const noContract = new Set([-13, -256])
const noMethod = 11

/** Flags of the status of governed Jettons (the stablecoins' family). */
const sendingLocked = 1n
const receivingLocked = 2n

/** Makes the questions over a node. */
export const make = (rpc: TonRpc.TonRpc): TonJettons => {
  const wallets = BoundedMap.oldestOut<string, TonAddress.Address>(capacity)
  const ungoverned = new Set<TonAddress.Address>()
  const walletOf = Effect.fnUntraced(function* (master: TonAddress.Address, owner: TonAddress.Address) {
    const key = `${master} ${owner}`
    const known = wallets.get(key)
    if (known !== undefined) return known
    const got = yield* rpc.get(master, "get_wallet_address", [TonStack.address(owner)])
    const wallet = got._tag === "Returned" ? TonStack.addressOf(got.stack[0]) : undefined
    if (wallet === undefined) return yield* silent(rpc, master, "does not tell the wallet of an account")
    wallets.set(key, wallet)
    return wallet
  })
  const statusOf = Effect.fnUntraced(function* (master: TonAddress.Address, wallet: TonAddress.Address) {
    if (ungoverned.has(master)) return 0n
    const got = yield* rpc.get(wallet, "get_status")
    if (got._tag === "Returned") {
      return TonStack.numberOf(got.stack[0]) ?? (yield* silent(rpc, wallet, "does not tell its status as a number"))
    }
    if (got.exitCode === noMethod) ungoverned.add(master)
    return got.exitCode === noMethod || noContract.has(got.exitCode)
      ? 0n
      : yield* silent(rpc, wallet, "does not tell its status")
  })
  const holding = Effect.fnUntraced(function* (master: TonAddress.Address, wallet: TonAddress.Address) {
    const got = yield* rpc.get(wallet, "get_wallet_data")
    if (got._tag === "Failed" && noContract.has(got.exitCode)) return { ...nothing, block: got.block }
    const balance = got._tag === "Returned" ? TonStack.numberOf(got.stack[0]) : undefined
    if (balance === undefined) return yield* silent(rpc, wallet, "does not tell its balance")
    const status = yield* statusOf(master, wallet)
    return {
      balance,
      maySend: (status & sendingLocked) === 0n,
      mayReceive: (status & receivingLocked) === 0n,
      block: got.block
    }
  })
  return { walletOf, holding }
}

const nothing = { balance: 0n, maySend: true, mayReceive: true } as const

const silent = (rpc: TonRpc.TonRpc, contract: TonAddress.Address, what: string) =>
  Effect.fail(new ChainUnavailable({ network: rpc.network, message: `the contract ${contract} ${what}` }))
