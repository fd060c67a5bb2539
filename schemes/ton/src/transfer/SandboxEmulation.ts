/**
 * Emulation by the virtual machine of `@ton/sandbox`, which has to be installed beside this package (with its peers
 * `@ton/crypto` and `@ton-community/func-js`). A scene takes some 25 milliseconds of a processor.
 *
 * A machine that has thrown is not used again: what it held is lost inside its memory, which never shrinks, and later scenes may
 * fail for an earlier one's fault. The scene is played once more on a new machine before anything is said of it.
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
import { type Played, type Scene, type TonEmulation, Unplayable } from "./TonEmulation.ts"

/** How scenes are played. */
export interface Options {
  /** Code that contracts refer to by its hash, as a dictionary: some public stablecoins keep theirs so. */
  readonly libraries?: Cell
}

const quiet = { print: false, blockchainLogs: false, vmLogs: "none", debugLogs: false } as const

/** A message as it is on its way: from somebody. */
const sentBy = (from: TonAddress.Address | undefined, message: Cell): Cell => {
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

const play = async (executor: Executor, libraries: Cell | undefined, scene: Scene): Promise<Played> => {
  const chain = await Blockchain.create({ executor, config: scene.config })
  chain.verbosity = quiet
  chain.now = scene.time
  if (libraries !== undefined) chain.libs = libraries
  for (const [address, account] of scene.accounts) {
    if (account.state !== "active") continue
    // oxlint-disable-next-line no-await-in-loop -- the sandbox is one state: its accounts are set one by one
    await chain.setShardAccount(TonAddress.toCore(address), shardAccount(address, account))
  }
  const { transactions } = await chain.sendMessage(sentBy(scene.from, scene.message))
  return transactions.map(({ address, raw }) => ({
    account: TonAddress.fromHash(Buffer.from(address.toString(16).padStart(64, "0"), "hex")),
    transaction: TonTransaction.read(raw)
  }))
}

/** An account that nobody owns. */
const nobody = TonAddress.fromHash(new Uint8Array(32).fill(1))

/** A scene under the same configuration in which nothing comes from a payer: where it fails too, the payment is not the cause. */
const harmless = (scene: Scene): Scene => ({
  ...scene,
  from: nobody,
  message: TonMessage.internal(nobody, 10_000_000n, Cell.EMPTY),
  accounts: []
})

const unavailable = ({ network }: Scene, cause: unknown) =>
  new ChainUnavailable({ network, message: "the virtual machine cannot be run with the chain's configuration", cause })

/** Loads the machine. */
export const make = Effect.fnUntraced(function* ({ libraries }: Options = {}): Effect.fn.Return<TonEmulation> {
  const load = Effect.promise(() => Executor.create())
  let machine = yield* load
  const doubts = yield* Semaphore.make(1)

  const playOn = (executor: Executor, scene: Scene) =>
    Effect.tryPromise({ try: () => play(executor, libraries, scene), catch: (cause: unknown) => ({ cause }) })

  const onNewMachine = Effect.fnUntraced(function* (scene: Scene) {
    const fresh = yield* load
    const played = yield* playOn(fresh, scene)
    machine = fresh
    return played
  })

  /** One at a time: each takes a machine or two. */
  const again = (scene: Scene) =>
    doubts.withPermit(
      Effect.catch(onNewMachine(scene), ({ cause }) =>
        Effect.matchEffect(onNewMachine(harmless(scene)), {
          onFailure: (failure) => Effect.fail(unavailable(scene, failure.cause)),
          onSuccess: () => Effect.fail(new Unplayable({ cause }))
        })
      )
    )

  return (scene) =>
    Effect.suspend(() => {
      const used = machine
      return Effect.catch(playOn(used, scene), () => again(scene))
    })
})
