/** An ordinary cell and its reader: at most 1023 bits and four references. Its hash is that of the chain's representation (TVM, 3.1.5). */
import { sha256 } from "@noble/hashes/sha2.js"

import { BitString } from "./BitString.ts"
import { Address } from "./BrowserAddress.ts"

/** A cell. */
export class Cell {
  static readonly EMPTY: Cell = new Cell(new BitString(new Uint8Array(), 0, 0), [])

  readonly bits: BitString
  readonly refs: ReadonlyArray<Cell>
  /** Levels of cells below this one. */
  readonly depth: number
  #hash: Uint8Array | undefined

  constructor(bits: BitString, refs: ReadonlyArray<Cell>) {
    if (bits.length > 1023 || refs.length > 4)
      throw new RangeError(`${bits.length} bits and ${refs.length} references are too much for a cell`)
    this.bits = bits
    this.refs = refs
    this.depth = refs.reduce((deepest, { depth }) => Math.max(deepest, depth + 1), 0)
  }

  /** The two descriptor bytes and the data: the cell itself, without those below it. */
  describe(): Uint8Array {
    const { length } = this.bits
    return Uint8Array.from([this.refs.length, Math.ceil(length / 8) + (length >> 3), ...this.bits.padded()])
  }

  /** SHA-256 of the representation: 32 bytes. */
  hash(): Uint8Array {
    this.#hash ??= sha256(
      Uint8Array.from([
        ...this.describe(),
        ...this.refs.flatMap(({ depth }) => [depth >> 8, depth & 255]),
        ...this.refs.flatMap((ref) => [...ref.hash()])
      ])
    )
    return this.#hash
  }

  /** Whether both have the same hash. */
  equals(other: Cell): boolean {
    const theirs = other.hash()
    return this.hash().every((byte, at) => byte === theirs[at])
  }

  /** A reader from the first bit and the first reference. */
  beginParse(): CellSlice {
    return new CellSlice(this)
  }
}

/** Reads a cell's bits and references in their order. Throws where the cell ends too early, or a field has another form. */
export class CellSlice {
  readonly #cell: Cell
  #bit = 0
  #ref = 0

  constructor(cell: Cell) {
    this.#cell = cell
  }

  get remainingBits(): number {
    return this.#cell.bits.length - this.#bit
  }

  get remainingRefs(): number {
    return this.#cell.refs.length - this.#ref
  }

  loadBits(length: number): BitString {
    const bits = this.#cell.bits.substring(this.#bit, length)
    this.#bit += length
    return bits
  }

  loadBit(): boolean {
    return this.loadBits(1).at(0)
  }

  loadUintBig(length: number): bigint {
    const bits = this.loadBits(length)
    let value = 0n
    for (let index = 0; index < length; index++) value = (value << 1n) | (bits.at(index) ? 1n : 0n)
    return value
  }

  loadUint(length: number): number {
    return Number(this.loadUintBig(length))
  }

  loadInt(length: number): number {
    return Number(BigInt.asIntN(length, this.loadUintBig(length)))
  }

  /** A number of up to 15 bytes after its length, in nanotons (`VarUInteger 16`). */
  loadCoins(): bigint {
    return this.loadUintBig(this.loadUint(4) * 8)
  }

  loadRef(): Cell {
    const ref = this.#cell.refs[this.#ref]
    if (ref === undefined) throw new RangeError("the cell has no further reference")
    this.#ref += 1
    return ref
  }

  loadMaybeRef(): Cell | null {
    return this.loadBit() ? this.loadRef() : null
  }

  /** An internal address without anycast. */
  loadAddress(): Address {
    const address = this.loadMaybeAddress()
    if (address === null) throw new TypeError("expected an internal address, got none")
    return address
  }

  loadMaybeAddress(): Address | null {
    const kind = this.loadUint(2)
    if (kind === 0) return null
    if (kind !== 2 || this.loadBit()) throw new TypeError("expected an internal address without anycast")
    const workchain = this.loadInt(8)
    return new Address(
      workchain,
      Uint8Array.from({ length: 32 }, () => this.loadUint(8))
    )
  }
}
