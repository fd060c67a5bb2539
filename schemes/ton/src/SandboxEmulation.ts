/**
 * Emulation by the virtual machine of `@ton/sandbox`, which has to be installed beside this package (with its peers
 * `@ton/crypto` and `@ton-community/func-js`). A scene takes some 25 milliseconds of a processor.
 */
import { ChainUnavailable } from "@pontage/core"
import { beginCell, Cell, loadMessageRelaxed, type ShardAccount, storeMessageRelaxed } from "@ton/core"
import { Blockchain, createShardAccount, Executor } from "@ton/sandbox"
import * as Effect from "effect/Effect"

import * as TonAddress from "./TonAddress.ts"
import type { Played, Scene, TonEmulation } from "./TonEmulation.ts"
import type * as TonRpc from "./TonRpc.ts"
import * as TonTransaction from "./TonTransaction.ts"

/**
 * How scenes are played.
 *
 * @category models
 */
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

/**
 * Loads the machine.
 *
 * @category constructors
 */
export const make = ({ libraries }: Options = {}): Effect.Effect<TonEmulation> =>
  Effect.map(
    Effect.promise(() => Executor.create()),
    (executor): TonEmulation =>
      (scene) =>
        Effect.tryPromise({
          try: () => play(executor, libraries, scene),
          catch: (cause) =>
            new ChainUnavailable({ network: scene.network, message: "a transfer could not be played through", cause })
        })
  )
