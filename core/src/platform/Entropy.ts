/**
 * Unpredictable bytes. Salts, claim ids and authorization nonces come from here, so that tests can make them repeatable
 * and so that nothing in the core reaches for a global.
 */
import * as Context from "effect/Context"

/**
 * The source of randomness. The default is the platform's cryptographic generator (`crypto.getRandomValues`), present in
 * Node, browsers and workers. `effect/Random` is not cryptographic and must not stand in for it.
 */
export class Entropy extends Context.Reference<{
  /** `length` fresh unpredictable bytes. */
  readonly bytes: (length: number) => Uint8Array
}>("@pontage/core/Entropy", { defaultValue: () => ({ bytes: drawn() }) }) {}

/** A draw costs the generator the same for 16 bytes as for a thousand. */
const poolLength = 1024

/** Bytes are handed out once, as copies, and are gone from the pool with that. */
const drawn = () => {
  let pool = new Uint8Array()
  return (length: number): Uint8Array => {
    if (length > pool.length) pool = crypto.getRandomValues(new Uint8Array(Math.max(length, poolLength)))
    const bytes = pool.slice(0, length)
    pool.fill(0, 0, length)
    pool = pool.subarray(length)
    return bytes
  }
}

const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

/** 128 random bits as 22 characters of base64url. Every unpaid response has one, and the general encoder costs six times as much. */
export const identifier = (source: { readonly bytes: (length: number) => Uint8Array }): string => {
  const codes: Array<number> = []
  let held = 0
  let count = 0
  for (const byte of source.bytes(16)) {
    held = (held << 8) | byte
    for (count += 8; count >= 6;) codes.push(letters.charCodeAt((held >> (count -= 6)) & 63))
  }
  codes.push(letters.charCodeAt((held << (6 - count)) & 63))
  return String.fromCharCode(...codes)
}
