/**
 * Emulation by the virtual machine of `@ton/sandbox`, which must be installed beside this package (with its peers `@ton/crypto`
 * and `@ton-community/func-js`). A message takes about 25 milliseconds of processor time.
 *
 * A machine that has thrown is not used again: its memory never shrinks and keeps the remains, and later messages may fail
 * because of an earlier one. The message is emulated once more on a new machine before it counts as failed.
 */
import { ChainUnavailable } from "@pontage/core"
import { beginCell, Cell, loadMessageRelaxed, type ShardAccount, storeMessageRelaxed } from "@ton/core"
import { Blockchain, createShardAccount, Executor } from "@ton/sandbox"
import * as Effect from "effect/Effect"
import * as Semaphore from "effect/Semaphore"

import type * as TonRpc from "../node/TonRpc.ts"
import * as TonTransaction from "../node/TonTransaction.ts"
import * as TonAddress from "../primitives/TonAddress.ts"
import * as TonMessage from "../primitives/TonMessage.ts"
import { type EmulatedMessage, type EmulatedTransactions, EmulationFailed, type TonEmulation } from "./TonEmulation.ts"

/** Options of the emulation. */
export interface Options {
  /** Dictionary of code that contracts refer to by its hash, as some public stablecoins do. */
  readonly libraries?: Cell
}

const quiet = { print: false, blockchainLogs: false, vmLogs: "none", debugLogs: false } as const

/** A message with its sender. */
const withSender = (from: TonAddress.Address | undefined, message: Cell): Cell => {
  if (from === undefined) return message
  const loaded = loadMessageRelaxed(message.beginParse())
  if (loaded.info.type !== "internal") return message
  const info = { ...loaded.info, src: TonAddress.toCore(from) }
  return beginCell()
    .store(storeMessageRelaxed({ ...loaded, info }))
    .endCell()
}

const shardAccount = (address: TonAddress.Address, { balance, code, data }: TonRpc.Account): ShardAccount =>
  createShardAccount({
    address: TonAddress.toCore(address),
    code: code ?? Cell.EMPTY,
    data: data ?? Cell.EMPTY,
    balance,
    workchain: 0
  })

const emulate = async (
  executor: Executor,
  libraries: Cell | undefined,
  given: EmulatedMessage
): Promise<EmulatedTransactions> => {
  const chain = await Blockchain.create({ executor, config: given.config })
  chain.verbosity = quiet
  chain.now = given.time
  if (libraries !== undefined) chain.libs = libraries
  for (const [address, account] of given.accounts) {
    if (account.state !== "active") continue
    // oxlint-disable-next-line no-await-in-loop -- the sandbox is one state: its accounts are set one by one
    await chain.setShardAccount(TonAddress.toCore(address), shardAccount(address, account))
  }
  const { transactions } = await chain.sendMessage(withSender(given.from, given.message))
  return transactions.map(({ address, raw }) => ({
    account: TonAddress.fromHash(Buffer.from(address.toString(16).padStart(64, "0"), "hex")),
    transaction: TonTransaction.read(raw)
  }))
}

/** An account without an owner. */
const ownerless = TonAddress.fromHash(new Uint8Array(32).fill(1))

/** A message under the same configuration, none of it from a payer: if it fails too, the payment is not the cause. */
const control = (given: EmulatedMessage): EmulatedMessage => ({
  ...given,
  from: ownerless,
  message: TonMessage.internal(ownerless, 10_000_000n, Cell.EMPTY),
  accounts: []
})

const unavailable = ({ network }: EmulatedMessage, cause: unknown) =>
  new ChainUnavailable({ network, message: "the virtual machine cannot run with the chain's configuration", cause })

/** Loads the machine. */
export const make = Effect.fnUntraced(function* ({ libraries }: Options = {}): Effect.fn.Return<TonEmulation> {
  const load = Effect.promise(() => Executor.create())
  let machine = yield* load
  const retries = yield* Semaphore.make(1)

  const emulateOn = (executor: Executor, given: EmulatedMessage) =>
    Effect.tryPromise({ try: () => emulate(executor, libraries, given), catch: (cause: unknown) => ({ cause }) })

  const onNewMachine = Effect.fnUntraced(function* (given: EmulatedMessage) {
    const fresh = yield* load
    const transactions = yield* emulateOn(fresh, given)
    machine = fresh
    return transactions
  })

  /** Emulates a message that has failed again, one at a time: each takes a machine or two. */
  const again = (given: EmulatedMessage) =>
    retries.withPermit(
      Effect.catch(onNewMachine(given), ({ cause }) =>
        Effect.matchEffect(onNewMachine(control(given)), {
          onFailure: (failure) => Effect.fail(unavailable(given, failure.cause)),
          onSuccess: () => Effect.fail(new EmulationFailed({ cause }))
        })
      )
    )

  return (given) =>
    Effect.suspend(() => {
      const used = machine
      return Effect.catch(emulateOn(used, given), () => again(given))
    })
})
