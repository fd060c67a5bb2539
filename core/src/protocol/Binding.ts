/**
 * Binding a payment to its request: the payer signs a nonce that was derived from the server's challenge, so one signature
 * buys one request. The tag is what both sides derive; each chain family puts as many of its bytes into the signed message
 * as fit (EVM: 24 bytes of the nonce; TON: 8 of the query id; TRON: 6 of the timestamp).
 * The rule: apps/docs/protocol.md#d11-binding.
 */
import * as Effect from "effect/Effect"
import * as Base64Url from "effect/encoding/Base64Url"
import * as Result from "effect/Result"

import { Entropy, identifier } from "../platform/Entropy.ts"
import { Hash } from "../platform/Hash.ts"
import type { RequestBinding } from "./PaymentPayload.ts"

const text = new TextEncoder()

/** A fresh binding to a challenge: 128 random bits of salt. */
export const make = (challenge: string): Effect.Effect<RequestBinding> =>
  Effect.map(Entropy, (entropy) => ({ challenge, salt: identifier(entropy) }))

/** `sha256(challenge ‖ salt)`: the challenge as its ASCII text, the salt as its bytes. 32 bytes. */
export const tag = (binding: RequestBinding): Effect.Effect<Uint8Array> =>
  Effect.flatMap(Hash, (hash) => hash.sha256(tagged(binding)))

/**
 * The text that a nonce of the Machine Payments Protocol is the Keccak-256 hash of: the challenge's id, which is the salt and
 * then the challenge, and its realm. `undefined` for a binding of another kind.
 */
export const hashedText = ({ challenge, realm, salt }: RequestBinding): string | undefined =>
  realm === undefined ? undefined : `${salt}${challenge}${realm}`

const tagged = ({ challenge, salt }: RequestBinding): Uint8Array => {
  const head = text.encode(challenge)
  const tail = Result.getOrElse(Base64Url.decode(salt), () => text.encode(salt))
  const message = new Uint8Array(head.length + tail.length)
  message.set(head)
  message.set(tail, head.length)
  return message
}
