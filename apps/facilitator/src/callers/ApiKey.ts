/**
 * API keys. What is kept of a key is its SHA-256 digest, written `sha256:<64 hexadecimal digits>`; digests are compared in
 * constant time.
 */
import { createHash, timingSafeEqual } from "node:crypto"

import * as Redacted from "effect/Redacted"

/** What is kept of a key. */
export type ApiKeyDigest = Redacted.Redacted<Buffer>

/** A plain key: at least 16 printable characters, and not written like a digest. */
export const plainPattern = /^(?!sha256:)[\x21-\x7e]{16,}$/

/** A key given by its digest. */
export const hashedPattern = /^sha256:[0-9a-fA-F]{64}$/

/** The digest of a key that a caller shows. */
export const digestOf = (key: string): ApiKeyDigest => Redacted.make(createHash("sha256").update(key).digest())

/** The digest of a key as settings give it: the key itself, or its digest as text. */
export const fromText = (text: string): ApiKeyDigest =>
  hashedPattern.test(text) ? Redacted.make(Buffer.from(text.slice("sha256:".length), "hex")) : digestOf(text)

/** Whether two digests are of one key, in constant time. */
export const isSame = (one: ApiKeyDigest, other: ApiKeyDigest): boolean =>
  timingSafeEqual(Redacted.value(one), Redacted.value(other))

/** A name for the holder of a key that has no other: always the same for the key, and of no use for finding it. */
export const nameOf = (digest: ApiKeyDigest): string =>
  `key-${createHash("sha256").update(Redacted.value(digest)).digest("hex").slice(0, 12)}`
