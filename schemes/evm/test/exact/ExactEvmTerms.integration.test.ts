/** The terms of an authorization against those of the offer: one deviation a row, each with its own refusal. */
import { assert, describe, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"

import { EvmTestChain } from "../../src/testing/index.ts"
import * as Payment from "../EvmTestPayment.ts"

const other = "0x1111111111111111111111111111111111111111"
const zero = "0x0000000000000000000000000000000000000000"
const tooLarge = `${2n ** 256n}`

const one = Payment.bound()
const another = Payment.bound()

const rows = (now: bigint): Readonly<Record<string, readonly [string, Payment.Deviation]>> => ({
  "a good payment": ["ok", {}],
  "for ever after": ["ok", { signed: { validAfter: now - 1000n } }],
  "bound to a request": ["ok", one],
  "bound, another nonce": ["binding_mismatch nonce_not_bound", { ...one, signed: {} }],
  "bound, another salt": ["binding_mismatch nonce_not_bound", { ...one, signed: another.signed }],
  "an envelope of another network": ["NETWORK_MISMATCH other_network", { envelope: { network: "eip155:1" } }],
  "an envelope of no network": ["NETWORK_MISMATCH other_network", { envelope: { network: "ethereum" } }],
  "an offer on another network": [
    "NETWORK_MISMATCH network_not_settled",
    { requirements: { network: "eip155:1" as never } }
  ],
  "an envelope of another scheme": ["unsupported_scheme other_scheme", { envelope: { scheme: "upto" } }],
  "another recipient": ["INVALID_RECIPIENT other_recipient", { signed: { to: Payment.parsed(other) } }],
  "the zero address": ["INVALID_RECIPIENT zero_address", { signed: { to: Payment.parsed(zero) } }],
  "an offer to the zero address": [
    "INVALID_RECIPIENT zero_address",
    { signed: { to: Payment.parsed(zero) }, requirements: { payTo: zero } }
  ],
  "an offer to no address": ["INVALID_RECIPIENT other_recipient", { requirements: { payTo: "0x12" } }],
  "less than asked": ["amount_mismatch other_amount", { signed: { value: 9_999n } }],
  "more than asked": ["amount_mismatch other_amount", { signed: { value: 10_001n } }],
  "an asset that is not in the table": ["asset_mismatch asset_not_settled", { requirements: { asset: other } }],
  "no asset in the offer": ["asset_mismatch asset_not_settled", { requirements: { asset: undefined as never } }],
  "an offer that names the asset by symbol": ["asset_mismatch other_asset", { requirements: { asset: "TUSD" } }],
  expired: ["EXPIRED_PAYMENT expired", { signed: { validBefore: now } }],
  "about to expire": ["EXPIRED_PAYMENT expired", { signed: { validBefore: now + 5n } }],
  "expired in 1970": ["EXPIRED_PAYMENT expired", { signed: { validBefore: 0n } }],
  "not valid yet": ["EXPIRED_PAYMENT not_yet_valid", { signed: { validAfter: now + 30n, validBefore: now + 80n } }],
  "never valid": ["EXPIRED_PAYMENT not_yet_valid", { signed: { validAfter: 2n ** 256n - 1n } }],
  "valid for too long": [
    "unsupported_authorization valid_too_long",
    { signed: { validBefore: now + 3600n }, requirements: { maxTimeoutSeconds: 60 } }
  ],
  "valid for ever": ["unsupported_authorization valid_too_long", { signed: { validBefore: 2n ** 256n - 1n } }],
  "valid for as long as the offer says": [
    "ok",
    { signed: { validBefore: now + 3600n }, requirements: { maxTimeoutSeconds: 3600 } }
  ],
  "a number that is no text": ["malformed payload_fields", { written: { value: 10_000 } }],
  "a leading zero": ["malformed payload_fields", { written: { value: "010000" } }],
  "a sign": ["malformed payload_fields", { written: { value: "+10000" } }],
  "an exponent": ["malformed payload_fields", { written: { value: "1e4" } }],
  hexadecimal: ["malformed payload_fields", { written: { value: "0x2710" } }],
  "2^256": ["malformed payload_fields", { written: { value: tooLarge } }],
  "2^256 as a time": ["malformed payload_fields", { written: { validBefore: tooLarge } }],
  "a nonce of 31 bytes": ["malformed payload_fields", { written: { nonce: `0x${"11".repeat(31)}` } }],
  "a nonce that is no text": ["malformed payload_fields", { written: { nonce: 1 } }],
  "a recipient with a wrong checksum": [
    "malformed payload_fields",
    { written: { to: "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD".replace("aA", "Aa") } }
  ],
  "no authorization at all": ["malformed payload_fields", { envelope: { payload: "e30=" } }],
  "no JSON": ["malformed payload_encoding", { envelope: { payload: "AAAA" } }],
  "no base64": ["malformed payload_encoding", { envelope: { payload: "{}" } }]
})

describe("an authorization and its offer", () => {
  layer(EvmTestChain.layer({ payers: 1 }), { excludeTestServices: true })((it) => {
    it.effect("each deviation has its refusal", () =>
      Effect.gen(function* () {
        const { verify } = yield* Payment.facilitator()
        const table = rows(yield* Payment.now)
        const outcomes: Record<string, string> = {}
        for (const [name, [, deviation]] of Object.entries(table)) {
          outcomes[name] = yield* Payment.outcome(Effect.flatMap(Payment.payment(deviation), verify))
        }
        assert.deepStrictEqual(
          outcomes,
          Object.fromEntries(Object.entries(table).map(([name, [expected]]) => [name, expected]))
        )
      })
    )
  })
})
