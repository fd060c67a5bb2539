/**
 * SHA-256 and HMAC-SHA-256 by the platform: `node:crypto` where it exists (2 µs a message), WebCrypto elsewhere. A service,
 * so that the core imports neither.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"

/** The two keyed and unkeyed digests the protocol uses. */
export interface HashFunctions {
  /** SHA-256 (FIPS 180-4); 32 bytes. */
  readonly sha256: (data: Uint8Array) => Effect.Effect<Uint8Array>
  /** HMAC-SHA-256 (RFC 2104); 32 bytes. A key that is used again must be the same array, unchanged, to be cheap. */
  readonly hmacSha256: (key: Uint8Array, data: Uint8Array) => Effect.Effect<Uint8Array>
}

/** The service. Its default picks the fastest implementation the platform has. */
export class Hash extends Context.Reference<HashFunctions>("@pontage/core/Hash", {
  defaultValue: () => fromNode() ?? fromWebCrypto(globalThis.crypto)
}) {}

/** The part of `node:crypto` that this module uses; written out so that browsers' type environments need no Node types. */
interface NodeCrypto {
  /** Half the work of a `createHash`; since Node 20.12. */
  readonly hash?: (name: "sha256", data: Uint8Array, encoding: "buffer") => Uint8Array
  createSecretKey(key: Uint8Array): object
  createHmac(name: "sha256", key: object): { update(data: Uint8Array): { digest(): Uint8Array } }
}

interface WithBuiltins {
  readonly process?: { readonly getBuiltinModule?: (name: "node:crypto") => NodeCrypto | undefined }
}

/** Digests by `node:crypto`, or `undefined` where there is none. */
export const fromNode = (): HashFunctions | undefined => {
  const { process }: WithBuiltins = globalThis
  const crypto = process?.getBuiltinModule?.("node:crypto")
  const hash = crypto?.hash
  if (crypto === undefined || hash === undefined) return undefined
  const keyOf = keyring(crypto)
  return {
    sha256: (data) => Effect.sync(() => hash("sha256", data, "buffer")),
    hmacSha256: (key, data) => Effect.sync(() => crypto.createHmac("sha256", keyOf(key)).update(data).digest())
  }
}

/** A key object is made once for each key: making it costs 10 µs, five times the digest itself. */
const keyring = (crypto: NodeCrypto) => {
  const keys = new WeakMap<Uint8Array, object>()
  return (bytes: Uint8Array): object => {
    const known = keys.get(bytes)
    if (known !== undefined) return known
    const key = crypto.createSecretKey(bytes)
    keys.set(bytes, key)
    return key
  }
}

/** Digests by WebCrypto. */
export const fromWebCrypto = (crypto: Crypto): HashFunctions => ({
  sha256: (data) =>
    Effect.promise(async () => new Uint8Array(await crypto.subtle.digest("SHA-256", new Uint8Array(data)))),
  hmacSha256: (key, data) =>
    Effect.promise(async () => {
      const secret = await crypto.subtle.importKey(
        "raw",
        new Uint8Array(key),
        { name: "HMAC", hash: "SHA-256" },
        false,
        ["sign"]
      )
      return new Uint8Array(await crypto.subtle.sign("HMAC", secret, new Uint8Array(data)))
    })
})
