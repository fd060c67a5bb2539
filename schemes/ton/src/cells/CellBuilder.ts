/** Writes a cell bit by bit. Throws for a number that does not fit, and for more than a cell holds. */
import { BitString } from "./BitString.ts"
import type { Address } from "./BrowserAddress.ts"
import { Cell, type CellSlice } from "./OrdinaryCell.ts"

/** A writer. */
export class Builder {
  readonly #bytes = new Uint8Array(128)
  readonly #refs: Array<Cell> = []
  #length = 0

  /** A true value is a one. */
  storeBit(value: boolean | number): this {
    if (this.#length >= 1023) throw new RangeError("a cell holds at most 1023 bits")
    if (value) this.#bytes[this.#length >> 3] = (this.#bytes[this.#length >> 3] ?? 0) | (128 >> (this.#length & 7))
    this.#length += 1
    return this
  }

  storeBits(bits: BitString): this {
    for (let index = 0; index < bits.length; index++) this.storeBit(bits.at(index))
    return this
  }

  storeUint(value: number | bigint, length: number): this {
    const number = BigInt(value)
    if (BigInt.asUintN(length, number) !== number) throw new RangeError(`${number} does not fit ${length} bits`)
    for (let place = length - 1; place >= 0; place--) this.storeBit(Number((number >> BigInt(place)) & 1n))
    return this
  }

  storeInt(value: number | bigint, length: number): this {
    const number = BigInt(value)
    if (BigInt.asIntN(length, number) !== number) throw new RangeError(`${number} does not fit ${length} bits`)
    return this.storeUint(BigInt.asUintN(length, number), length)
  }

  storeBytes(bytes: Uint8Array): this {
    for (const byte of bytes) this.storeUint(byte, 8)
    return this
  }

  /** A number of up to 15 bytes after its length, in nanotons (`VarUInteger 16`). */
  storeCoins(value: number | bigint): this {
    const number = BigInt(value)
    if (number < 0n) throw new RangeError(`${number} is below zero`)
    const bytes = number === 0n ? 0 : Math.ceil(number.toString(16).length / 2)
    return this.storeUint(bytes, 4).storeUint(number, bytes * 8)
  }

  storeAddress(address: Address | null): this {
    if (address === null) return this.storeUint(0, 2)
    return this.storeUint(0b100, 3).storeInt(address.workChain, 8).storeBytes(address.hash)
  }

  storeRef(cell: Cell): this {
    if (this.#refs.length >= 4) throw new RangeError("a cell holds at most 4 references")
    this.#refs.push(cell)
    return this
  }

  storeMaybeRef(cell: Cell | null): this {
    return cell === null ? this.storeBit(0) : this.storeBit(1).storeRef(cell)
  }

  /** The rest of a slice. */
  storeSlice(slice: CellSlice): this {
    this.storeBits(slice.loadBits(slice.remainingBits))
    while (slice.remainingRefs > 0) this.storeRef(slice.loadRef())
    return this
  }

  /** Runs a writer of several fields. */
  store(write: (builder: Builder) => void): this {
    write(this)
    return this
  }

  endCell(): Cell {
    return new Cell(new BitString(this.#bytes.slice(), 0, this.#length), [...this.#refs])
  }
}

/** An empty writer. */
export const beginCell = (): Builder => new Builder()
