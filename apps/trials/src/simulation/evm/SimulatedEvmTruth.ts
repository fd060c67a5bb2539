/**
 * The truth of a simulated EVM chain, whatever its nodes say: the transfers of its token, by the authorizations that moved them.
 */
import { Eip3009, EvmAddress, type EvmHex } from "@pontage/evm"

import type { ChainTruth, TrueTransfer } from "../world/SimulatedChain.ts"
import * as EvmStrangers from "./EvmStrangers.ts"
import type { ModelBlock } from "./model/EvmModelBlock.ts"
import type { EvmModelChain } from "./model/EvmModelChain.ts"
import type { ModelEvent } from "./model/EvmModelState.ts"
import { slots } from "./model/EvmModelToken.ts"

/** The name of an authorization. */
export const keyOf = ({ nonce, payer }: { readonly nonce: string; readonly payer: string }): string =>
  `${payer.toLowerCase()} ${nonce.toLowerCase()}`

/** The sources of a chain's truth. */
export interface Options {
  readonly token: EvmAddress.Address
  readonly finality: number
  /** Whether a transaction is one that a facilitator has sent. */
  readonly isOurs: (transaction: EvmHex.Hex) => boolean
}

/** The truth of a chain. `note` has it remember what the branch of the moment shows. */
export const make = (
  chain: EvmModelChain,
  { finality, isOurs, token }: Options
): ChainTruth & { readonly note: () => void } => {
  const shown = new WeakMap<ModelBlock, ReadonlyArray<TrueTransfer>>()
  const shownBy = (block: ModelBlock): ReadonlyArray<TrueTransfer> => {
    const known = shown.get(block) ?? transfersOf(block, token)
    shown.set(block, known)
    return known
  }
  const ever = new Set<string>()
  const strangers = new Set<string>()
  let whole: { readonly head: ModelBlock; readonly byKey: ReadonlyMap<string, TrueTransfer> } | undefined
  const current = (): ReadonlyMap<string, TrueTransfer> => {
    const head = chain.head()
    if (whole?.head === head) return whole.byKey
    const byKey = new Map(branchOf(head).flatMap((block) => shownBy(block).map((one) => [one.key, one] as const)))
    for (const [key, { isStrangers }] of byKey) {
      ever.add(key)
      if (isStrangers) strangers.add(key)
    }
    whole = { head, byKey }
    return byKey
  }
  return {
    head: () => placeOf(chain.head()),
    final: () => placeOf(chain.blockAt(chain.head(), chain.head().number - BigInt(finality)) ?? chain.head()),
    transferOf: (key) => current().get(key),
    transfers: () => [...current().values()],
    wasShown: (key, { hash }) => {
      const block = chain.blockOf(`0x${hash.slice(2)}`)
      return block !== undefined && shownBy(block).some((one) => one.key === key)
    },
    // A node may show a failure of a forgotten branch.
    mayHaveFailed: () => true,
    wasEverShown: (key) => current().has(key) || ever.has(key),
    wasStrangers: (key) => current().get(key)?.isStrangers === true || strangers.has(key),
    balanceOf: (payer) =>
      chain.head().state.get(slots.balance(token, EvmAddress.fromTail(`0x${payer.slice(2).toLowerCase()}`))) ?? 0n,
    note: () => void current(),
    costs: () =>
      branchOf(chain.head())
        .flatMap(({ mined }) => mined)
        .filter(({ transaction }) => isOurs(transaction.hash))
        .reduce((sum, { gasUsed, price }) => sum + gasUsed * price, 0n)
  }
}

const placeOf = ({ hash, number, time }: ModelBlock) => ({ hash, number, time: Number(time) })

/** The blocks up to this one, oldest first. */
const branchOf = (head: ModelBlock): ReadonlyArray<ModelBlock> => {
  const blocks: Array<ModelBlock> = []
  for (let block: ModelBlock | undefined = head; block !== undefined; block = block.parent) blocks.push(block)
  return blocks.toReversed()
}

const transfersOf = (block: ModelBlock, token: EvmAddress.Address): ReadonlyArray<TrueTransfer> =>
  block.mined.flatMap(({ events, transaction }) =>
    events.flatMap((event, place) => {
      const next = events[place + 1]
      const isUse = event.address === token && event.topics[0] === Eip3009.authorizationUsedTopic
      return isUse && next !== undefined ? [transferOf(event, next, transaction.hash, block)] : []
    })
  )

const transferOf = (use: ModelEvent, next: ModelEvent, transaction: string, block: ModelBlock): TrueTransfer => ({
  key: keyOf({ payer: EvmAddress.fromTail(use.topics[1] ?? "0x"), nonce: use.topics[2] ?? "" }),
  payTo: EvmAddress.checksum(EvmAddress.fromTail(next.topics[2] ?? "0x")),
  amount: BigInt(next.data),
  transaction,
  block: placeOf(block),
  isStrangers: EvmStrangers.isStrangers(transaction)
})
