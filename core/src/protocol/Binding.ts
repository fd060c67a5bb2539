/**
 * Binding a payment to its request: the payer signs a nonce that was derived from the server's challenge, so one signature
 * buys one request. The tag is what both sides derive; each chain family puts as many of its bytes into the signed message
 * as fit (EVM: 24 bytes of the nonce; TON: 8 of the query id; TRON: 6 of the timestamp).
 */
import * as Effect from "effect/Effect"
import * as Base64Url from "effect/encoding/Base64Url"
import * as Result from "effect/Result"

import { Entropy } from "../platform/Entropy.ts"
import { Hash } from "../platform/Hash.ts"
import type { RequestBinding } from "./PaymentPayload.ts"

const text = new TextEncoder()

/**
 * A fresh binding to a challenge: 128 random bits of salt.
 *
 * @category constructors
 */
export const make = Effect.fnUntraced(function* (challenge: string) {
  const entropy = yield* Entropy
  return { challenge, salt: Base64Url.encode(entropy.bytes(16)) } satisfies RequestBinding
})

/**
 * `sha256(challenge ‖ salt)`: the challenge as its ASCII text, the salt as its bytes. 32 bytes.
 *
 * @category conversions
 */
export const tag = Effect.fnUntraced(function* (binding: RequestBinding) {
  const hash = yield* Hash
  const challenge = text.encode(binding.challenge)
  const salt = Result.getOrElse(Base64Url.decode(binding.salt), () => text.encode(binding.salt))
  const message = new Uint8Array(challenge.length + salt.length)
  message.set(challenge)
  message.set(salt, challenge.length)
  return yield* hash.sha256(message)
})
