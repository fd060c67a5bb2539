/**
 * Unpredictable bytes. Salts, claim ids and authorization nonces come from here, so that tests can make them repeatable
 * and so that nothing in the core reaches for a global.
 */
import * as Context from "effect/Context"
import * as Base64Url from "effect/encoding/Base64Url"

/**
 * The source of randomness. The default is the platform's cryptographic generator (`crypto.getRandomValues`), present in
 * Node, browsers and workers. `effect/Random` is not cryptographic and must not stand in for it.
 *
 * @category services
 */
export class Entropy extends Context.Reference<{
  /** `length` fresh unpredictable bytes. */
  readonly bytes: (length: number) => Uint8Array
}>("@pontage/core/Entropy", {
  defaultValue: () => ({ bytes: (length) => crypto.getRandomValues(new Uint8Array(length)) })
}) {}

/**
 * 128 random bits as 22 characters of base64url.
 *
 * @category constructors
 */
export const identifier = (source: { readonly bytes: (length: number) => Uint8Array }): string =>
  Base64Url.encode(source.bytes(16))
