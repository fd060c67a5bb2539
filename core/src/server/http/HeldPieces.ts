/**
 * The pieces of a metered body that may not leave yet: a piece that costs more than the buyer's vouchers cover leaves in parts, each when
 * it is covered, so that neither side risks more than a window whatever the size of a piece.
 */
import type { StreamMeter } from "./StreamMeter.ts"

/** The pieces of one body, in their order. */
export class HeldPieces<Told = undefined> {
  readonly #meter: Pick<StreamMeter, "passing">
  readonly #pieces: Array<{ bytes: Uint8Array; readonly told: Told | undefined }> = []
  #written = 0n
  #sent = 0n

  constructor(meter: Pick<StreamMeter, "passing">) {
    this.#meter = meter
  }

  get isEmpty(): boolean {
    return this.#pieces.length === 0
  }

  /** Takes a piece that the handler has written; `told` comes back with its last part. */
  add(bytes: Uint8Array, told?: Told): void {
    this.#written += BigInt(bytes.byteLength)
    this.#pieces.push({ bytes, told })
  }

  /** The next part that may leave; `undefined` while none may. `isWhole`: the body's pieces cannot be divided. */
  take(isWhole: boolean): { readonly bytes: Uint8Array; readonly told: Told | undefined } | undefined {
    const [first] = this.#pieces
    if (first === undefined) return undefined
    const { bytes, told } = first
    const length = BigInt(bytes.byteLength)
    const left = this.#meter.passing(this.#written) - this.#sent
    if (left >= length) {
      this.#pieces.shift()
      this.#sent += length
      return { bytes, told }
    }
    if (left <= 0n || isWhole) return undefined
    this.#sent += left
    first.bytes = bytes.subarray(Number(left))
    return { bytes: bytes.subarray(0, Number(left)), told: undefined }
  }

  /** Forgets the pieces, which leave no more. Returns what was to come back with each. */
  drop(): ReadonlyArray<Told | undefined> {
    return this.#pieces.splice(0).map(({ told }) => told)
  }
}
