/**
 * Playing a transfer through before anything is spent on it: the relayed message, and every message that follows, on a
 * virtual machine with the accounts as they are now. Without it a verification reads balances, numbers and locks; with it,
 * it also knows what only running the contracts shows.
 */
import type { ChainUnavailable } from "@pontage/core"
import type { Cell } from "@ton/core"
import * as Data from "effect/Data"
import type * as Effect from "effect/Effect"

import type * as TonRpc from "../node/TonRpc.ts"
import type { TonTransaction } from "../node/TonTransaction.ts"
import type * as TonAddress from "../primitives/TonAddress.ts"

/** What is played. */
export interface Scene {
  readonly network: string
  /** The chain's configuration as it is now. */
  readonly config: Cell
  /** The account the message comes from; nothing for an external message. */
  readonly from: TonAddress.Address | undefined
  /** The message to the payer's wallet. */
  readonly message: Cell
  /** The accounts that take part, as they are now. */
  readonly accounts: ReadonlyArray<readonly [address: TonAddress.Address, account: TonRpc.Account]>
  /** Unix seconds. */
  readonly time: number
}

/** What followed: the transactions in their order, each with its account. */
export type Played = ReadonlyArray<{
  readonly account: TonAddress.Address
  readonly transaction: TonTransaction
}>

/**
 * The machine gives up on a scene, and plays others: the payment's accounts or message are beyond what it can run.
 */
export class Unplayable extends Data.TaggedError("Unplayable")<{ readonly cause: unknown }> {}

/**
 * Plays a scene. It fails with `ChainUnavailable` when the machine cannot be run at all, which is no verdict, and with
 * `Unplayable` when only this scene cannot be played.
 */
export type TonEmulation = (scene: Scene) => Effect.Effect<Played, ChainUnavailable | Unplayable>
