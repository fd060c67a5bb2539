/**
 * The contracts of a modelled chain, run: tokens, the batch settler, and the probe that tries transfers as init code. Accounts
 * without code take any call; code that is not modelled is a defect, never an answer.
 */
import { type EvmAddress, EvmHex } from "@pontage/evm"
import { TransferProbe } from "@pontage/evm/testing"

import { read } from "./AbiWords.ts"
import * as EvmModelToken from "./EvmModelToken.ts"
import type { CallEnd, CallSetting, ModelToken } from "./EvmModelToken.ts"

/** The contracts of a chain. */
export interface ModelContracts {
  readonly tokens: ReadonlyMap<EvmAddress.Address, ModelToken>
  /** The address of `BatchSettler`, where there is one. */
  readonly settler?: EvmAddress.Address
}

/** The called contract, and the gas that the caller provides. */
export interface ModelCall {
  /** Init code where there is none. */
  readonly to: EvmAddress.Address | undefined
  readonly data: EvmHex.Hex
  readonly gas: bigint
}

const done: CallEnd = { reverted: false, data: "0x" }
const refused = (selector: EvmHex.Hex): CallEnd => ({ reverted: true, data: selector })

/** Runs a call. Whether its gas was enough is for the caller to see from the meter. */
export const run = (contracts: ModelContracts, setting: CallSetting, { data, gas, to }: ModelCall): CallEnd => {
  if (to === undefined) return probe(contracts, setting, data)
  const token = contracts.tokens.get(to)
  if (token !== undefined) return EvmModelToken.call(token, setting, data)
  if (to === contracts.settler) return settle(contracts, { ...setting, caller: to }, data, gas)
  if (setting.code.has(to)) throw new Error(`the code at ${to} is not modelled`)
  return done
}

/** One transfer of a pack: its token, and the call `transferWithAuthorization` by parts. */
interface PackedTransfer {
  readonly token: EvmAddress.Address
  readonly from: EvmAddress.Address
  readonly data: EvmHex.Hex
}

const headDigits = 42
const entryDigits = 316

/** A row of entries of one token; `undefined` where the pack ends too early. */
const rowAt = (
  runs: string,
  cursor: number
): { readonly entries: ReadonlyArray<PackedTransfer>; readonly end: number } | undefined => {
  const head = runs.slice(cursor, cursor + headDigits).padEnd(headDigits, "0")
  const start = cursor + headDigits
  const end = start + Number.parseInt(head.slice(40), 16) * entryDigits
  if (end > runs.length) return undefined
  const entries: Array<PackedTransfer> = []
  for (let at = start; at < end; at += entryDigits) {
    entries.push(entryOf(`0x${head.slice(0, 40)}`, runs.slice(at, at + entryDigits)))
  }
  return { entries, end }
}

const entryOf = (token: EvmHex.Hex, packed: string): PackedTransfer => {
  const part = (from: number, bytes: number) => packed.slice(2 * from, 2 * (from + bytes)).padStart(64, "0")
  const high = Number.parseInt(packed.slice(252, 253), 16)
  const s = (high & 7).toString(16) + packed.slice(253)
  const v = EvmHex.toWord(high >= 8 ? 28 : 27)
  const terms = part(0, 20) + part(20, 20) + part(40, 12) + part(52, 5) + part(57, 5) + part(62, 32)
  return {
    token: addressFrom(token),
    from: addressFrom(`0x${packed.slice(0, 40)}`),
    data: `0xe3ee160e${terms}${v}${part(94, 32)}${s}`
  }
}

const addressFrom = (hex: EvmHex.Hex): EvmAddress.Address => read(hex.slice(2).padStart(64, "0")).address(0) ?? never()

const never = (): never => {
  throw new Error("a pack holds something that is no address")
}

/** Gas for the instructions of one entry, beside what its token uses. */
const entryGas = 400n
const entryReserve = 156_000n
const gasTooLow = refused("0x858c8974")
const runsMalformed = refused("0xf10d5b77")

const settleSelector = "0xd0322fbf"

/** Gas for the instructions of the contract's own. */
const settleGas = 600n

const settle = (contracts: ModelContracts, setting: CallSetting, data: EvmHex.Hex, gas: bigint): CallEnd => {
  const runs = data.startsWith(settleSelector) ? read(data.slice(10)).bytes(0)?.slice(2) : undefined
  if (runs === undefined) return refused("0x")
  setting.gas.burn(settleGas)
  for (let cursor = 0; cursor < runs.length;) {
    const row = rowAt(runs, cursor)
    if (row === undefined) return runsMalformed
    if (gas - setting.gas.used() < BigInt(row.entries.length) * entryReserve) return gasTooLow
    for (const entry of row.entries) {
      if (gas - setting.gas.used() < entryReserve) return gasTooLow
      tried(contracts, setting, entry)
    }
    cursor = row.end
  }
  return done
}

/** Calls an entry's token; a failure leaves nothing behind. */
const tried = (contracts: ModelContracts, setting: CallSetting, { data, token }: PackedTransfer): CallEnd => {
  setting.gas.touch(token)
  setting.gas.burn(entryGas)
  const draft = setting.draft.nested()
  let end = done
  setting.gas.within(() => {
    end = run(contracts, { ...setting, draft }, { to: token, data, gas: entryReserve })
    return !end.reverted
  })
  if (!end.reverted) draft.keep()
  return end
}

/** Longer words of a refusal are not copied. */
const longest = 260

const probe = (contracts: ModelContracts, setting: CallSetting, data: EvmHex.Hex): CallEnd => {
  const { bytecode } = TransferProbe
  const runs = data.startsWith(bytecode) ? read(data.slice(bytecode.length)).bytes(0)?.slice(2) : undefined
  if (runs === undefined) throw new Error("the only init code that is modelled is that of the probe")
  let outcomes: EvmHex.Hex = "0x"
  for (let cursor = 0; cursor < runs.length;) {
    const row = rowAt(runs, cursor) ?? never()
    for (const entry of row.entries) {
      outcomes += setting.code.has(entry.from) ? "02" : outcomeOf(tried(contracts, setting, entry))
    }
    cursor = row.end
  }
  return { reverted: false, data: outcomes }
}

const outcomeOf = ({ data, reverted }: CallEnd): string => {
  if (!reverted) return "01"
  const words = data.length / 2 - 1 > longest ? "" : data.slice(2)
  return `00${(words.length / 2).toString(16).padStart(4, "0")}${words}`
}
