/**
 * The state of a modelled EVM chain: numbers by name (`coin 0x…`, `nonce 0x…`, a token's own). A state is never changed: each
 * block holds the one that it left behind, so that a question about an old block, or about a branch that was given up, reads
 * what was true there.
 */
import type { EvmAddress, EvmHex, EvmRpc } from "@pontage/evm"

/** A state. A name that is not in it stands for zero. */
export type EvmModelState = ReadonlyMap<string, bigint>

/** A contract's event before it has a place in a block. */
export type ModelEvent = Pick<EvmRpc.Event, "address" | "topics" | "data">

/** Changes on top of a state, which a failure throws away. */
export interface StateDraft {
  readonly get: (name: string) => bigint
  readonly set: (name: string, value: bigint) => void
  readonly emit: (event: ModelEvent) => void
  /** The events so far, oldest first. */
  readonly events: ReadonlyArray<ModelEvent>
  /** A draft on top of this one, whose changes come into this one by `keep`. */
  readonly nested: () => StateDraft
  /** Takes the changes and events over into the draft below. */
  readonly keep: () => void
  /** The state with the changes; the same object where there are none. */
  readonly state: () => EvmModelState
}

/** A draft without changes. */
export const draft = (base: EvmModelState): StateDraft =>
  onTop(
    (name) => base.get(name) ?? 0n,
    () => base,
    () => undefined
  )

type Keep = (changes: ReadonlyMap<string, bigint>, events: ReadonlyArray<ModelEvent>) => void

const onTop = (read: StateDraft["get"], base: () => EvmModelState, keepIn: Keep): StateDraft => {
  const changes = new Map<string, bigint>()
  const events: Array<ModelEvent> = []
  const get = (name: string) => changes.get(name) ?? read(name)
  const state = () => {
    if (changes.size === 0) return base()
    const after = new Map(base())
    for (const [name, value] of changes) after.set(name, value)
    return after
  }
  const take: Keep = (more, newer) => {
    for (const [name, value] of more) changes.set(name, value)
    events.push(...newer)
  }
  return {
    get,
    set: (name, value) => void changes.set(name, value),
    emit: (event) => void events.push(event),
    events,
    nested: () => onTop(get, state, take),
    keep: () => keepIn(changes, events),
    state
  }
}

/** The name of an account's coin, in wei. */
export const coinOf = (account: EvmAddress.Address): string => `coin ${account}`

/** The name of the nonce of an account's next transaction. */
export const nonceOf = (account: EvmAddress.Address): string => `nonce ${account}`

/** The code at addresses; an account that is not listed has none. */
export type ModelCode = ReadonlyMap<EvmAddress.Address, EvmHex.Hex>
