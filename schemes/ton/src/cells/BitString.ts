/** A run of bits inside bytes, most significant bit first. */

/** The bits from `offset` on; as in `@ton/core`, a part shares the bytes of its whole. */
export class BitString {
  readonly length: number
  readonly #bytes: Uint8Array
  readonly #offset: number

  constructor(bytes: Uint8Array, offset: number, length: number) {
    this.#bytes = bytes
    this.#offset = offset
    this.length = length
  }

  /** One bit. Throws outside of the bits. */
  at(index: number): boolean {
    if (!Number.isInteger(index) || index < 0 || index >= this.length) throw new RangeError(`there is no bit ${index}`)
    const place = this.#offset + index
    return (((this.#bytes[place >> 3] ?? 0) >> (7 - (place & 7))) & 1) === 1
  }

  /** A part of the bits. Throws if it does not lie inside. */
  substring(offset: number, length: number): BitString {
    if (offset < 0 || length < 0 || offset + length > this.length)
      throw new RangeError(`bits ${offset} to ${offset + length} are outside of ${this.length}`)
    return new BitString(this.#bytes, this.#offset + offset, length)
  }

  /** The bits as whole bytes: after the last bit come a one and zeros unless the bits fill the bytes, as cells write it. */
  padded(): Uint8Array {
    const bytes = new Uint8Array(Math.ceil(this.length / 8))
    for (let index = 0; index < this.length; index++)
      if (this.at(index)) bytes[index >> 3] = (bytes[index >> 3] ?? 0) | (128 >> (index & 7))
    if (this.length % 8 !== 0) bytes[this.length >> 3] = (bytes[this.length >> 3] ?? 0) | (128 >> (this.length & 7))
    return bytes
  }
}
