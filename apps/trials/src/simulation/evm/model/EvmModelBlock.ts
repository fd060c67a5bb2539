/**
 * The blocks of a modelled chain, and how a transaction is run into one.
 */
import { type EvmAddress, type EvmCrypto, EvmHex } from "@pontage/evm"

import * as EvmModelRun from "./EvmModelRun.ts"
import * as EvmModelState from "./EvmModelState.ts"
import type { EvmModelState as State, ModelCode, ModelEvent } from "./EvmModelState.ts"
import type { ModelTransaction } from "./EvmModelTransaction.ts"
import * as GasMeter from "./GasMeter.ts"

/** A block. It knows the one before it, so that several branches can be told apart. */
export interface ModelBlock {
  readonly number: bigint
  readonly hash: EvmHex.Hex
  readonly parent: ModelBlock | undefined
  /** Seconds since 1970. */
  readonly time: bigint
  /** Wei. */
  readonly baseFee: bigint
  readonly gasUsed: bigint
  /** The state behind it. */
  readonly state: State
  readonly mined: ReadonlyArray<MinedTransaction>
}

/** A transaction in a block. */
export interface MinedTransaction {
  readonly transaction: ModelTransaction
  readonly index: number
  readonly succeeded: boolean
  /** The return or revert data of its call, which no node reports. */
  readonly output: EvmHex.Hex
  readonly gasUsed: bigint
  /** Gas of the block up to this transaction and with it. */
  readonly gasSoFar: bigint
  /** Wei paid for a unit of gas. */
  readonly price: bigint
  readonly events: ReadonlyArray<ModelEvent>
  /** The place of its first event among those of the block. */
  readonly firstLog: number
}

/** The constants of all blocks. */
export interface ModelWorld {
  readonly chainId: number
  readonly contracts: EvmModelRun.ModelContracts
  readonly code: ModelCode
  readonly crypto: EvmCrypto.Shape
  /** The most gas of a block. */
  readonly blockGas: bigint
}

/** The base fee of the block behind this one (EIP-1559): an eighth more at most, or less. */
export const nextBaseFee = ({ baseFee, gasUsed }: ModelBlock, blockGas: bigint): bigint => {
  const target = blockGas / 2n
  if (gasUsed === target) return baseFee
  const isMore = gasUsed > target
  const change = (baseFee * (isMore ? gasUsed - target : target - gasUsed)) / target / 8n
  return isMore ? baseFee + (change > 1n ? change : 1n) : baseFee - change
}

/** The block that is being made. */
export interface BlockInMaking {
  /** Runs a transaction; `false`, and nothing done, where the block cannot take it now. */
  readonly include: (transaction: ModelTransaction) => boolean
  readonly state: () => State
  readonly finish: (hash: EvmHex.Hex) => ModelBlock
}

/** Begins a block behind another one. `time` is in seconds since 1970, `baseFee` in wei. */
export const begin = (world: ModelWorld, parent: ModelBlock, time: bigint, baseFee: bigint): BlockInMaking => {
  const mined: Array<MinedTransaction> = []
  let state = parent.state
  let gasUsed = 0n
  let logs = 0
  const include: BlockInMaking["include"] = (transaction) => {
    if (gasUsed + transaction.gas > world.blockGas || !isPayable(transaction, state, baseFee)) return false
    const run = execute(world, state, transaction, time, baseFee)
    state = run.state
    gasUsed += run.gasUsed
    const { events, output, price, succeeded } = run
    const place = { index: mined.length, gasSoFar: gasUsed, firstLog: logs }
    mined.push({ transaction, succeeded, output, gasUsed: run.gasUsed, price, events, ...place })
    logs += events.length
    return true
  }
  return {
    include,
    state: () => state,
    finish: (hash) => ({ number: parent.number + 1n, hash, parent, time, baseFee, gasUsed, state, mined })
  }
}

/** Whether a transaction is its account's next one, and can be paid. */
export const isPayable = (
  { from, gas, maximum, nonce, value }: ModelTransaction,
  state: State,
  baseFee: bigint
): boolean =>
  nonce === (state.get(EvmModelState.nonceOf(from)) ?? 0n) &&
  maximum >= baseFee &&
  gas * maximum + value <= (state.get(EvmModelState.coinOf(from)) ?? 0n)

const execute = (world: ModelWorld, state: State, transaction: ModelTransaction, time: bigint, baseFee: bigint) => {
  const { data, from, gas, maximum, nonce, priority, to, value } = transaction
  const draft = EvmModelState.draft(state)
  draft.set(EvmModelState.nonceOf(from), nonce + 1n)
  const meter = GasMeter.make(GasMeter.intrinsic(data))
  const called = draft.nested()
  transfer(called, from, to, value)
  const setting = settingOf(world, state, { draft: called, gas: meter, caller: from, time })
  const end = EvmModelRun.run(world.contracts, setting, { to, data, gas })
  const isOut = meter.used() > gas
  const succeeded = !end.reverted && !isOut
  if (succeeded) called.keep()
  const burnt = isOut ? gas : most(end.reverted ? meter.used() : meter.paid(), GasMeter.floor(data))
  const price = least(maximum, baseFee + priority)
  draft.set(EvmModelState.coinOf(from), draft.get(EvmModelState.coinOf(from)) - burnt * price)
  return {
    state: draft.state(),
    events: draft.events,
    gasUsed: burnt,
    price,
    succeeded,
    output: isOut ? "0x" : end.data
  }
}

const transfer = (
  draft: EvmModelState.StateDraft,
  from: EvmAddress.Address,
  to: EvmAddress.Address | undefined,
  value: bigint
): void => {
  if (to === undefined || value === 0n) return
  const [source, target] = [EvmModelState.coinOf(from), EvmModelState.coinOf(to)]
  draft.set(source, draft.get(source) - value)
  draft.set(target, draft.get(target) + value)
}

/** The environment of a call, at a state. */
export const settingOf = (
  { code, crypto }: ModelWorld,
  state: State,
  call: Pick<Parameters<typeof EvmModelRun.run>[1], "draft" | "gas" | "caller" | "time">
): Parameters<typeof EvmModelRun.run>[1] => ({ ...call, code, crypto, original: (slot) => state.get(slot) ?? 0n })

const least = (one: bigint, other: bigint): bigint => (one < other ? one : other)
const most = (one: bigint, other: bigint): bigint => (one > other ? one : other)

/**
 * A hash that tells a block from every other one of its chain: its number, and how many blocks were made before it on any
 * branch. It can be read in a story.
 */
export const hashOf = (chainId: number, number: bigint, serial: number): EvmHex.Hex =>
  `0xb10c${EvmHex.toWord(chainId).slice(48)}${serial.toString(16).padStart(22, "0")}${number.toString(16).padStart(22, "0")}`
