/** A signer by the seed of a key, for a payer without a wallet app or for a relayer. */
import { Misconfigured } from "@pontage/core"
import * as OptionCheck from "@pontage/core/OptionCheck"
import * as Redacted from "effect/Redacted"

import { publicKeyOf } from "../crypto/Ed25519.ts"
import * as TonSigner from "./TonSigner.ts"

const check = OptionCheck.setting("a key's seed: 64 hexadecimal digits, with or without 0x")

const wrong = (problem: string) => new Misconfigured({ message: `exactTon.localSigner: ${problem}` })

/** Never shows its input. */
const seedOf = (given: string | Redacted.Redacted): Uint8Array => {
  const text: unknown = Redacted.isRedacted(given) ? Redacted.value(given) : given
  const fault = check.fault(text)
  if (fault !== undefined || typeof text !== "string") throw wrong(fault?.problem ?? "expected a seed")
  const digits = text.replace(/^0x/, "")
  if (!/^[0-9a-fA-F]{64}$/.test(digits)) throw wrong("the seed is not 64 hexadecimal digits, with or without 0x")
  return Uint8Array.from(digits.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16))
}

/**
 * Signs with the seed of an Ed25519 key: 64 hexadecimal digits, optionally after `0x`, redacted or not. The key stays redacted
 * and appears in no message. Throws `Misconfigured` if the seed is invalid.
 */
export const localSigner = (seed: string | Redacted.Redacted): TonSigner.TonHashSigner => {
  const secretKey = seedOf(seed)
  const publicKey = publicKeyOf(secretKey)
  const key = Redacted.make(secretKey)
  return { publicKey, sign: (hash) => TonSigner.signLocally(Redacted.value(key), hash) }
}
