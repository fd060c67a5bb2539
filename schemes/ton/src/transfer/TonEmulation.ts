/**
 * Emulation of a transfer before anything is spent on it: the relayed message, and every message that follows, on a virtual
 * machine with the accounts as they are now. Without it a verification reads balances, numbers and locks; with it, it also finds
 * failures that only the contracts' execution shows.
 */
import type { ChainUnavailable } from "@pontage/core"
import type { Cell } from "@ton/core"
import * as Data from "effect/Data"
import type * as Effect from "effect/Effect"

import type * as TonRpc from "../node/TonRpc.ts"
import type { TonTransaction } from "../node/TonTransaction.ts"
import type * as TonAddress from "../primitives/TonAddress.ts"

/** A message and the chain around it. */
export interface EmulatedMessage {
  readonly network: string
  /** The chain's configuration as it is now. */
  readonly config: Cell
  /** The sender; `undefined` for an external message. */
  readonly from: TonAddress.Address | undefined
  /** The message to the payer's wallet. */
  readonly message: Cell
  /** The accounts involved, as they are now. */
  readonly accounts: ReadonlyArray<readonly [address: TonAddress.Address, account: TonRpc.Account]>
  /** Unix seconds. */
  readonly time: number
}

/** The transactions that followed, in their order, each with its account. */
export type EmulatedTransactions = ReadonlyArray<{
  readonly account: TonAddress.Address
  readonly transaction: TonTransaction
}>

/**
 * The machine failed on this message while it runs others: the payment's accounts or message are the cause.
 */
export class EmulationFailed extends Data.TaggedError("EmulationFailed")<{ readonly cause: unknown }> {}

/**
 * Emulates a message. Fails with `ChainUnavailable` when the machine cannot run at all, which proves nothing about the payment,
 * and with `EmulationFailed` when only this message cannot be emulated.
 */
export type TonEmulation = (
  message: EmulatedMessage
) => Effect.Effect<EmulatedTransactions, ChainUnavailable | EmulationFailed>
