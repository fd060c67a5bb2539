/**
 * Jettons on the chain: the address of an account's Jetton wallet, which never changes, its balance, and the locks of the
 * token's issuer.
 */
import { ChainUnavailable } from "@pontage/core"
import * as BoundedMap from "@pontage/core/BoundedMap"
import * as Effect from "effect/Effect"

import * as TonStack from "../node/TonStack.ts"
import type * as TonState from "../node/TonState.ts"
import type * as TonAddress from "../primitives/TonAddress.ts"

/** Balance and locks of a Jetton wallet. */
export interface JettonHolding {
  /** In the smallest unit; 0 for a wallet that does not exist. */
  readonly balance: bigint
  readonly maySend: boolean
  readonly mayReceive: boolean
  /** The masterchain block of this state; `undefined` where the node does not name it. */
  readonly block: bigint | undefined
}

/** Requests for Jetton wallets. */
export interface TonJettons {
  /** The Jetton wallet of an account, by the get method of a known asset's master; a failure is the master's or the node's. */
  readonly walletOf: (
    master: TonAddress.Address,
    owner: TonAddress.Address
  ) => Effect.Effect<TonAddress.Address, ChainUnavailable>
  /** Balance and locks of a Jetton wallet. */
  readonly holding: (
    master: TonAddress.Address,
    wallet: TonAddress.Address
  ) => Effect.Effect<JettonHolding, ChainUnavailable>
}

/** Wallet addresses that are remembered. */
const capacity = 50_000
/** Exit codes for a contract that does not exist, and for a missing method. */
const noContract = new Set([-13, -256])
const noMethod = 11

/** Flags of the status of governed Jettons (the stablecoins' family). */
const sendingLocked = 1n
const receivingLocked = 2n

/** Makes the requests to a node. */
export const make = (rpc: Pick<TonState.TonState, "get" | "network">): TonJettons => {
  const wallets = BoundedMap.oldestOut<string, TonAddress.Address>(capacity)
  const ungoverned = new Set<TonAddress.Address>()
  const walletOf = Effect.fnUntraced(function* (master: TonAddress.Address, owner: TonAddress.Address) {
    const key = `${master} ${owner}`
    const known = wallets.get(key)
    if (known !== undefined) return known
    const got = yield* rpc.get(master, "get_wallet_address", [TonStack.address(owner)])
    const wallet = got._tag === "Returned" ? TonStack.addressOf(got.stack[0]) : undefined
    if (wallet === undefined) return yield* invalidResult(rpc, master, "returned no wallet address")
    wallets.set(key, wallet)
    return wallet
  })
  const statusOf = Effect.fnUntraced(function* (master: TonAddress.Address, wallet: TonAddress.Address) {
    if (ungoverned.has(master)) return 0n
    const got = yield* rpc.get(wallet, "get_status")
    if (got._tag === "Returned") {
      return (
        TonStack.numberOf(got.stack[0]) ?? (yield* invalidResult(rpc, wallet, "returned a status that is not a number"))
      )
    }
    if (got.exitCode === noMethod) ungoverned.add(master)
    return got.exitCode === noMethod || noContract.has(got.exitCode)
      ? 0n
      : yield* invalidResult(rpc, wallet, "returned no status")
  })
  const holding = Effect.fnUntraced(function* (master: TonAddress.Address, wallet: TonAddress.Address) {
    const got = yield* rpc.get(wallet, "get_wallet_data")
    if (got._tag === "Failed" && noContract.has(got.exitCode)) return { ...nothing, block: got.block }
    const balance = got._tag === "Returned" ? TonStack.numberOf(got.stack[0]) : undefined
    if (balance === undefined) return yield* invalidResult(rpc, wallet, "returned no balance")
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

const invalidResult = (rpc: Pick<TonState.TonState, "get" | "network">, contract: TonAddress.Address, what: string) =>
  Effect.fail(new ChainUnavailable({ network: rpc.network, message: `the contract ${contract} ${what}` }))
