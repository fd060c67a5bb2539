/**
 * API keys. Only a key's SHA-256 digest is kept, written `sha256:<64 hexadecimal digits>`. Digests are compared in constant
 * time.
 */
import { createHash, timingSafeEqual } from "node:crypto"

import * as Redacted from "effect/Redacted"

/** Digest of a key. */
export type ApiKeyDigest = Redacted.Redacted<Buffer>

/** A plain key: at least 16 printable characters that do not begin like a digest. */
export const plainPattern = /^(?!sha256:)[\x21-\x7e]{16,}$/

/** The digest of a key as text. */
export const hashedPattern = /^sha256:[0-9a-fA-F]{64}$/

/** Digest of a plain key. */
export const digestOf = (key: string): ApiKeyDigest => Redacted.make(createHash("sha256").update(key).digest())

/** Digest of a key in the settings: a plain key, or a digest as text. */
export const fromText = (text: string): ApiKeyDigest =>
  hashedPattern.test(text) ? Redacted.make(Buffer.from(text.slice("sha256:".length), "hex")) : digestOf(text)

/** Whether two digests are of one key, in constant time. */
export const isSame = (one: ApiKeyDigest, other: ApiKeyDigest): boolean =>
  timingSafeEqual(Redacted.value(one), Redacted.value(other))

/** A caller's default name: the same for each key, and useless for guessing it. */
export const nameOf = (digest: ApiKeyDigest): string =>
  `key-${createHash("sha256").update(Redacted.value(digest)).digest("hex").slice(0, 12)}`
