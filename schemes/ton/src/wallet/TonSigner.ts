/**
 * Signers of a payer: a key pair, a function that signs a hash with a key kept elsewhere, or a wallet that makes the whole
 * message itself (TON Connect's `signMessage`).
 */
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import * as Redacted from "effect/Redacted"

import { Ed25519, publicKeyOf } from "../crypto/Ed25519.ts"

/**
 * A key pair as TON's libraries have it: `secretKey` is the seed, of 32 bytes, or the seed and the public key after it.
 */
export interface TonKeyPair {
  readonly publicKey: Uint8Array
  readonly secretKey: Uint8Array
}

/** Signs a hash of 32 bytes by Ed25519 with a key that stays hidden. */
export interface TonHashSigner {
  /** 32 bytes. */
  readonly publicKey: Uint8Array
  /** 64 bytes. */
  readonly sign: (hash: Uint8Array) => Promise<Uint8Array>
}

/**
 * A request to a wallet to sign a message, in TON Connect's fields; amounts in nanotons, `payload` a bag of cells in base64.
 */
export interface TonSigningOrder {
  readonly valid_until: number
  readonly network: string
  readonly from: string
  readonly messages: ReadonlyArray<{ readonly address: string; readonly amount: string; readonly payload: string }>
}

/**
 * A wallet that signs a message for another account to send to the chain: TON Connect's `signMessage`. W5 wallets only.
 */
export interface TonMessageSigner {
  readonly address: string
  readonly signMessage: (order: TonSigningOrder) => Promise<{ readonly internalBoc: string }>
}

/** A key pair, or a function that signs with a key. */
export type TonKeySigner = TonKeyPair | TonHashSigner

/** Signs a hash. */
export interface HashSigning {
  readonly publicKey: Uint8Array
  readonly sign: (hash: Uint8Array) => Effect.Effect<Uint8Array, unknown>
}

/** Signs hashes with a key, which is kept redacted; `undefined` for an invalid key, or one of another public key. */
export const fromKey = (signer: TonKeySigner): HashSigning | undefined => {
  const { publicKey } = signer
  if (!(publicKey instanceof Uint8Array) || publicKey.length !== 32) return undefined
  if ("sign" in signer) return { publicKey, sign: (hash) => Effect.tryPromise(() => signer.sign(hash)) }
  const { secretKey } = signer
  if (secretKey.length !== 32 && secretKey.length !== 64) return undefined
  const seed = Redacted.make(Uint8Array.from(secretKey.subarray(0, 32)))
  if (publicKeyOf(Redacted.value(seed)).some((byte, at) => byte !== publicKey[at])) return undefined
  return { publicKey, sign: (hash) => Effect.map(Ed25519, ({ sign }) => sign(Redacted.value(seed), hash)) }
}

/** The signature of a hash by a seed in memory. */
export const signLocally = (seed: Uint8Array, hash: Uint8Array): Promise<Uint8Array> =>
  Effect.runPromise(Effect.map(Ed25519, ({ sign }) => sign(seed, hash)))

/** Whether a value has the fields of a key's signer. */
export const isKeySigner = (value: unknown): value is TonKeySigner =>
  Predicate.hasProperty(value, "publicKey") &&
  (Predicate.hasProperty(value, "secretKey") || Predicate.hasProperty(value, "sign"))

/** Whether a value has the fields of a wallet that signs messages. */
export const isMessageSigner = (value: unknown): value is TonMessageSigner =>
  Predicate.hasProperty(value, "address") && Predicate.hasProperty(value, "signMessage")
