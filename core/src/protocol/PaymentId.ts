/**
 * The name of a payment: derived from the values that the chain itself consumes, so that every copy of one authorization has the
 * same name wherever and in whatever encoding it turns up (apps/docs/protocol.md#d14-name-of-a-payment).
 */
import * as Effect from "effect/Effect"
import * as Base64Url from "effect/encoding/Base64Url"

import { Hash } from "../platform/Hash.ts"

const text = new TextEncoder()
const grammar = /^pay_[A-Za-z0-9_-]{22}$/

/** Whether a text has the form of a payment's name. */
export const isPaymentId = (name: string): boolean => grammar.test(name)

/**
 * A nonce of the form `<kind>:<owner>:<nonce>` is one whatever its asset is: the chain consumes it once, and so only one payment may
 * have it.
 */
const isOfAnyAsset = (nonce: string): boolean => nonce.includes(":")

/**
 * `"pay_" + base64url(sha256(network,asset,payer,nonce))[0..22]`; the four in their canonical wire form, joined by commas;
 * without the asset where the nonce names its owner.
 */
export const make = (
  network: string,
  { asset, nonce, payer }: { readonly asset: string; readonly payer: string; readonly nonce: string }
): Effect.Effect<string> =>
  Effect.map(
    Effect.flatMap(Hash, (hash) =>
      hash.sha256(text.encode([network, ...(isOfAnyAsset(nonce) ? [] : [asset]), payer, nonce].join(",")))
    ),
    (digest) => `pay_${Base64Url.encode(digest).slice(0, 22)}`
  )
