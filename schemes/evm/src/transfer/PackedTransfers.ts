/**
 * Transfers of plain accounts in few bytes, the input of the contracts `BatchSettler` and `TransferProbe`: 158 bytes each,
 * and 21 more at each change of the token.
 */
import type * as EvmAddress from "../primitives/EvmAddress.ts"
import * as EvmHex from "../primitives/EvmHex.ts"
import type * as Eip3009 from "./Eip3009.ts"

/** A transfer signed by the payer's own key. */
export interface PlainTransfer {
  readonly token: EvmAddress.Address
  readonly authorization: Eip3009.TransferWithAuthorization
  /** 65 bytes: r, s in the lower half of the order, v of 27 or 28; lower case. */
  readonly signature: EvmHex.Hex
}

/** Transfers as bytes, and their number. */
export interface Packed {
  readonly runs: EvmHex.Hex
  readonly entries: number
}

/**
 * The most entries of one pack: they still fit into the gas limit of one transaction (EIP-7825).
 */
export const maximumEntries = 100

const valueLimit = 2n ** 96n
const timeLimit = 2n ** 40n

/** Whether an authorization's numbers fit: an amount below 2^96, times below 2^40. */
export const fits = ({ validAfter, validBefore, value }: Eip3009.TransferWithAuthorization): boolean =>
  value < valueLimit && validAfter < timeLimit && validBefore < timeLimit

/** Packs transfers in their order. The caller makes sure that each {@link fits} and that there are at most {@link maximumEntries}. */
export const pack = (transfers: ReadonlyArray<PlainTransfer>): Packed => {
  let runs: EvmHex.Hex = "0x"
  for (const [start, end] of runBounds(transfers)) {
    const run = transfers.slice(start, end)
    runs += `${run[0]?.token.slice(2)}${digits(run.length, 1)}${run.map(entry).join("")}`
  }
  return { runs, entries: transfers.length }
}

/** A pack as the one argument (`bytes`) of a call or a constructor, without `0x`. */
export const toArgument = (runs: EvmHex.Hex): string => {
  const bytes = runs.slice(2)
  return `${EvmHex.toWord(32)}${EvmHex.toWord(bytes.length / 2)}${bytes.padEnd(Math.ceil(bytes.length / 64) * 64, "0")}`
}

/** The number of runs in a list: neighbours with the same token are one run. */
export const runCount = (transfers: ReadonlyArray<PlainTransfer>): number => runBounds(transfers).length

/** The begin and end of each run. */
const runBounds = (transfers: ReadonlyArray<PlainTransfer>): ReadonlyArray<readonly [number, number]> => {
  const starts = transfers.flatMap(({ token }, index) => (token === transfers[index - 1]?.token ? [] : [index]))
  return starts.map((start, run) => [start, starts[run + 1] ?? transfers.length])
}

const digits = (value: bigint | number, bytes: number): string => value.toString(16).padStart(2 * bytes, "0")

const entry = ({ authorization, signature }: PlainTransfer): string => {
  const { from, nonce, to, validAfter, validBefore, value } = authorization
  const terms = `${from.slice(2)}${to.slice(2)}${digits(value, 12)}${digits(validAfter, 5)}${digits(validBefore, 5)}`
  return `${terms}${nonce.slice(2)}${compact(signature)}`
}

/** Puts the recovery id into the highest bit of s, which is free in the lower half of the order (EIP-2098). */
const compact = (signature: EvmHex.Hex): string => {
  const highest = Number.parseInt(signature.slice(66, 67), 16)
  const marked = signature.endsWith("1c") ? highest | 8 : highest
  return `${signature.slice(2, 66)}${marked.toString(16)}${signature.slice(67, 130)}`
}
