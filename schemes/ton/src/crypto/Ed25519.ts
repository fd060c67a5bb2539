/**
 * Ed25519, by `node:crypto` where it exists (30 times as fast), else in JavaScript. A service, so that payers' bundles run in
 * browsers and tests compare the two.
 */
import { ed25519 } from "@noble/curves/ed25519.js"
import * as Context from "effect/Context"
import * as Base64Url from "effect/encoding/Base64Url"

/** The functions. `verify` returns false for an invalid key or signature and never throws. */
export interface Shape {
  /** Name of the implementation, for people. */
  readonly name: string
  /** Whether this public key (32 bytes) has signed the message; the signature has 64 bytes. */
  readonly verify: (publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array) => boolean
  /** Signs with a seed of 32 bytes. */
  readonly sign: (seed: Uint8Array, message: Uint8Array) => Uint8Array
}

/** The service. Its default is the fastest one of the platform. */
export class Ed25519 extends Context.Reference<Shape>("@pontage/ton/Ed25519", {
  defaultValue: () => fromNode() ?? javaScript
}) {}

const orFalse = (verify: () => boolean): boolean => {
  try {
    return verify()
  } catch {
    return false
  }
}

/** The implementation in JavaScript. */
export const javaScript: Shape = {
  name: "JavaScript",
  verify: (publicKey, message, signature) =>
    orFalse(() => ed25519.verify(signature, message, publicKey, { zip215: false })),
  sign: (seed, message) => ed25519.sign(message, seed)
}

interface PublicJwk {
  readonly kty: "OKP"
  readonly crv: "Ed25519"
  readonly x: string
}

/** The part of `node:crypto` that this module uses, so that browsers' type environments need no Node types. */
interface NodeCrypto {
  createPublicKey(key: { key: PublicJwk; format: "jwk" }): object
  createPrivateKey(key: { key: Uint8Array; format: "der"; type: "pkcs8" }): object
  verify(algorithm: null, data: Uint8Array, key: object, signature: Uint8Array): boolean
  sign(algorithm: null, data: Uint8Array, key: object): Uint8Array
}

interface WithBuiltins {
  readonly process?: { readonly getBuiltinModule?: (name: "node:crypto") => NodeCrypto | undefined }
}

/** The bytes before the 32 bytes of a private key in its DER form (RFC 8410). */
const privatePrefix = Uint8Array.from([48, 46, 2, 1, 0, 48, 5, 6, 3, 43, 101, 112, 4, 34, 4, 32])

const inDer = (key: Uint8Array): Uint8Array => {
  const der = new Uint8Array(privatePrefix.length + key.length)
  der.set(privatePrefix)
  der.set(key, privatePrefix.length)
  return der
}

/** The implementation of `node:crypto`; `undefined` where it does not exist. */
export const fromNode = (): Shape | undefined => {
  const { process }: WithBuiltins = globalThis
  const crypto = process?.getBuiltinModule?.("node:crypto")
  if (crypto === undefined) return undefined
  return {
    name: "node:crypto",
    verify: (publicKey, message, signature) =>
      publicKey.length === 32 &&
      signature.length === 64 &&
      orFalse(() => {
        // Node reads this form nine times as fast as DER.
        const jwk = { kty: "OKP", crv: "Ed25519", x: Base64Url.encode(publicKey) } as const
        return crypto.verify(null, message, crypto.createPublicKey({ key: jwk, format: "jwk" }), signature)
      }),
    sign: (seed, message) => {
      const key = crypto.createPrivateKey({ key: inDer(seed), format: "der", type: "pkcs8" })
      return new Uint8Array(crypto.sign(null, message, key))
    }
  }
}

/** The public key of a seed. */
export const publicKeyOf = (seed: Uint8Array): Uint8Array => ed25519.getPublicKey(seed)
