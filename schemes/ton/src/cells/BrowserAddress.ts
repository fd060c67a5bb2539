/** Addresses in the two forms that TON writes: raw, and 48 characters with flags and a checksum (TEP-2). */
import { crc16 } from "./Checksums.ts"

/** Tags of the user-friendly form. */
const bounceable = 0x11
const nonBounceable = 0x51
const testOnly = 0x80

/** An account: its workchain, and 32 bytes. */
export class Address {
  readonly workChain: number
  readonly hash: Uint8Array

  constructor(workChain: number, hash: Uint8Array) {
    this.workChain = workChain
    this.hash = hash
  }

  /** Throws for a text of another form. */
  static parseRaw(text: string): Address {
    const [, workchain, digits] = /^(-?\d+):([0-9a-fA-F]{64})$/.exec(text) ?? []
    if (workchain === undefined || digits === undefined) throw new TypeError("expected a raw address")
    return new Address(
      Number(workchain),
      Uint8Array.from(digits.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16))
    )
  }

  /** Throws for a text of another form, or with a wrong checksum. */
  static parseFriendly(text: string): {
    readonly address: Address
    readonly isTestOnly: boolean
    readonly isBounceable: boolean
  } {
    const bytes = Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (one) => one.charCodeAt(0))
    if (bytes.length !== 36 || crc16(bytes) !== 0) throw new TypeError("expected an address with a valid checksum")
    const [flags = 0, workchain = 0] = bytes
    const tag = flags & ~testOnly
    if (tag !== bounceable && tag !== nonBounceable) throw new TypeError("the address has an unknown tag")
    const address = new Address(workchain === 0xff ? -1 : workchain, bytes.slice(2, 34))
    return { address, isTestOnly: (flags & testOnly) !== 0, isBounceable: tag === bounceable }
  }

  toRawString(): string {
    return `${this.workChain}:${Array.from(this.hash, (byte) => byte.toString(16).padStart(2, "0")).join("")}`
  }
}
