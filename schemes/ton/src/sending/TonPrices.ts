/**
 * The chain's prices in the workchain of accounts, read from its configuration: gas (parameter 21), forwarding messages (25)
 * and storage (18). All results are nanotons, rounded up.
 */
import { type Cell, Dictionary, type DictionaryValue, type Slice } from "@ton/core"

import * as TonBoc from "../primitives/TonBoc.ts"

/** Size of a tree of cells. */
export interface TonSize {
  readonly bits: bigint
  readonly cells: bigint
}

/** The prices. */
export interface TonPrices {
  readonly gas: (units: bigint) => bigint
  /** Price of a message whose cells below its root have this size. */
  readonly forward: (size: TonSize) => bigint
  readonly storage: (size: TonSize, seconds: bigint) => bigint
}

const gasParameter = 21
const forwardParameter = 25
const storageParameter = 18
const [flatTag, gasTag, olderGasTag, forwardTag, storageTag] = [0xd1, 0xde, 0xdd, 0xea, 0xcc] as const

/** Prices of bits, cells and gas come in units of 1/65536 nanoton. */
const scaled = (amount: bigint): bigint => (amount + 65_535n) >> 16n

/** Reads the prices of a configuration; `undefined` when it holds none. */
export const read = (config: Cell): TonPrices | undefined =>
  TonBoc.attempt(() => {
    const parameters = config.beginParse().loadDictDirect(Dictionary.Keys.Int(32), Dictionary.Values.Cell())
    const gas = gasOf(parameters.get(gasParameter)?.beginParse())
    const forward = forwardOf(parameters.get(forwardParameter)?.beginParse())
    const storage = storageOf(parameters.get(storageParameter)?.beginParse())
    return gas && forward && storage && { gas, forward, storage }
  })

const gasOf = (slice: Slice | undefined): TonPrices["gas"] | undefined => {
  if (slice === undefined || slice.loadUint(8) !== flatTag) return undefined
  const [limit, flat] = [slice.loadUintBig(64), slice.loadUintBig(64)]
  const tag = slice.loadUint(8)
  if (tag !== gasTag && tag !== olderGasTag) return undefined
  const price = slice.loadUintBig(64)
  return (units) => (units <= limit ? flat : flat + scaled((units - limit) * price))
}

const forwardOf = (slice: Slice | undefined): TonPrices["forward"] | undefined => {
  if (slice === undefined || slice.loadUint(8) !== forwardTag) return undefined
  const [lump, bit, cell] = [slice.loadUintBig(64), slice.loadUintBig(64), slice.loadUintBig(64)]
  return ({ bits, cells }) => lump + scaled(bits * bit + cells * cell)
}

/** Prices per second, valid from `since` (Unix seconds). */
interface StoragePrices {
  readonly since: number
  readonly bit: bigint
  readonly cell: bigint
}

const storageValue: DictionaryValue<StoragePrices | undefined> = {
  parse: (slice) => {
    if (slice.loadUint(8) !== storageTag) return undefined
    const prices = { since: slice.loadUint(32), bit: slice.loadUintBig(64), cell: slice.loadUintBig(64) }
    slice.skip(128)
    return prices
  },
  serialize: () => undefined
}

/** The newest of the listed prices. */
const storageOf = (slice: Slice | undefined): TonPrices["storage"] | undefined => {
  const listed = slice?.loadDictDirect(Dictionary.Keys.Uint(32), storageValue).values() ?? []
  const newest = listed.reduce((last, one) => ((one?.since ?? -1) > (last?.since ?? -1) ? one : last), undefined)
  if (newest === undefined) return undefined
  const { bit, cell } = newest
  return (size, seconds) => scaled((size.bits * bit + size.cells * cell) * seconds)
}

/** The size of these cells and all below them. A cell that is used twice counts once, as on the chain. */
export const sizeOf = (roots: ReadonlyArray<Cell>): TonSize => {
  const seen = new Set<string>()
  let bits = 0n
  const waiting = [...roots]
  for (let cell = waiting.pop(); cell !== undefined; cell = waiting.pop()) {
    const hash = TonBoc.hashOf(cell)
    if (seen.has(hash)) continue
    seen.add(hash)
    bits += BigInt(cell.bits.length)
    waiting.push(...cell.refs)
  }
  return { bits, cells: BigInt(seen.size) }
}
