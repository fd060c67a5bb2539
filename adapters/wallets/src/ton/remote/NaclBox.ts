/** NaCl's `crypto_box` (X25519, XSalsa20, Poly1305), by which the two ends of a TON Connect session read each other and no bridge does. */
import { hsalsa, xsalsa20poly1305 } from "@noble/ciphers/salsa"
import { x25519 } from "@noble/curves/ed25519.js"

const nonceLength = 24
/** Bytes of a message without content: the nonce, and the code that authenticates it. */
const shortest = nonceLength + 16

/** The constant of Salsa20, "expand 32-byte k", in words. */
const sigma = Uint32Array.from([0x61707865, 0x3320646e, 0x79622d32, 0x6b206574])

/** A new secret key. */
export const newSecret = (): Uint8Array => crypto.getRandomValues(new Uint8Array(32))

/** The public key, in hexadecimal: a client's id. */
export const clientId = (secret: Uint8Array): string => hexOf(x25519.getPublicKey(secret))

/** A text, encrypted for the client of this id: nonce and box. */
export const seal = (text: string, secret: Uint8Array, receiver: string): Uint8Array => {
  const nonce = crypto.getRandomValues(new Uint8Array(nonceLength))
  const box = xsalsa20poly1305(keyOf(secret, receiver), nonce).encrypt(new TextEncoder().encode(text))
  const sealed = new Uint8Array(nonceLength + box.length)
  sealed.set(nonce)
  sealed.set(box, nonceLength)
  return sealed
}

/** The text of a message of the client of this id; `undefined` if that client did not encrypt it for this secret. */
export const open = (sealed: Uint8Array, secret: Uint8Array, sender: string): string | undefined => {
  if (sealed.length < shortest) return undefined
  try {
    const cipher = xsalsa20poly1305(keyOf(secret, sender), sealed.slice(0, nonceLength))
    return new TextDecoder("utf-8", { fatal: true }).decode(cipher.decrypt(sealed.slice(nonceLength)))
  } catch {
    return undefined
  }
}

/** The key that two clients share. Throws for a public key of small order, under which anybody could encrypt. */
const keyOf = (secret: Uint8Array, other: string): Uint8Array => {
  const shared = wordsOf(x25519.getSharedSecret(secret, bytesOf(other)))
  const key = new Uint32Array(8)
  hsalsa(sigma, shared, new Uint32Array(4), key)
  return bytesIn(key)
}

const wordsOf = (bytes: Uint8Array): Uint32Array => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return Uint32Array.from({ length: bytes.length / 4 }, (_, index) => view.getUint32(index * 4, true))
}

const bytesIn = (words: Uint32Array): Uint8Array => {
  const bytes = new Uint8Array(words.length * 4)
  const view = new DataView(bytes.buffer)
  words.forEach((word, index) => view.setUint32(index * 4, word, true))
  return bytes
}

/** Bytes in hexadecimal. */
export const hexOf = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")

/** The bytes of a text of hexadecimal digits. */
export const bytesOf = (hex: string): Uint8Array =>
  Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16))
