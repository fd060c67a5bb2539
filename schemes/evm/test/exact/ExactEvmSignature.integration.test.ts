/** Signatures of a plain account's payment: one form is taken, everything else is refused and named. */
import { assert, describe, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { type Hex, serializeErc6492Signature, zeroAddress } from "viem"

import { EvmTestChain } from "../../src/testing/index.ts"
import * as Payment from "../EvmTestPayment.ts"

const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n

const parts = (signature: Hex) => ({
  r: signature.slice(2, 66),
  s: BigInt(`0x${signature.slice(66, 130)}`),
  v: signature.slice(130)
})

/** The twin that a strict token refuses: s in the upper half, v turned over. */
const malleate = (signature: Hex): Hex => {
  const { r, s, v } = parts(signature)
  return `0x${r}${(order - s).toString(16).padStart(64, "0")}${v === "1b" ? "1c" : "1b"}`
}

const withRecoveryId = (signature: Hex): Hex =>
  `${signature.slice(0, 130)}${signature.endsWith("1b") ? "00" : "01"}` as Hex

/** 64 bytes, the recovery id in the top bit of s (EIP-2098). */
const compact = (signature: Hex): Hex => {
  const { r, s, v } = parts(signature)
  return `0x${r}${(s | (v === "1c" ? 1n << 255n : 0n)).toString(16).padStart(64, "0")}`
}

const erc6492 = (signature: Hex): Hex => serializeErc6492Signature({ address: zeroAddress, data: "0x", signature })

const signatures: Readonly<Record<string, readonly [string, (signature: Hex) => unknown]>> = {
  "as it was signed": ["ok", (signature) => signature],
  "in upper case": ["ok", (signature) => `0x${signature.slice(2).toUpperCase()}`],
  "its malleated twin": ["INVALID_SIGNATURE high_s", malleate],
  "v of 0 or 1": ["INVALID_SIGNATURE recovery_id", withRecoveryId],
  "v of 29": ["INVALID_SIGNATURE recovery_id", (signature) => `${signature.slice(0, 130)}1d`],
  "64 bytes (EIP-2098)": ["INVALID_SIGNATURE compact", compact],
  "a byte too many": ["INVALID_SIGNATURE length", (signature) => `${signature}00`],
  "no bytes": ["INVALID_SIGNATURE length", () => "0x"],
  "65 bytes of nothing": ["INVALID_SIGNATURE recovery_id", () => `0x${"00".repeat(65)}`],
  "r and s of zero": ["INVALID_SIGNATURE payer_mismatch", () => `0x${"00".repeat(64)}1b`],
  "r beyond the curve": [
    "INVALID_SIGNATURE payer_mismatch",
    (signature) => `0x${"ff".repeat(32)}${signature.slice(66)}`
  ],
  "a changed r": ["INVALID_SIGNATURE payer_mismatch", (signature) => `0x${"11".repeat(32)}${signature.slice(66)}`],
  "the longest there may be": ["INVALID_SIGNATURE length", () => `0x${"ab".repeat(4096)}`],
  "longer than 4 KiB": ["malformed signature_too_long", () => `0x${"ab".repeat(4097)}`],
  "no hexadecimal": ["malformed signature_not_hexadecimal", () => "signed, the payer"],
  "half a byte": ["malformed signature_not_hexadecimal", (signature) => signature.slice(0, -1)],
  "no text": ["malformed payload_fields", () => 27],
  "of an account to be deployed (ERC-6492)": ["unsupported_authorization erc6492", erc6492]
}

describe("a plain account's signature", () => {
  layer(EvmTestChain.layer({ payers: 2 }), { excludeTestServices: true })((it) => {
    it.effect("is taken in one form", () =>
      Effect.gen(function* () {
        const { verify } = yield* Payment.facilitator()
        const outcomes: Record<string, string> = {}
        for (const [name, [, signature]] of Object.entries(signatures)) {
          outcomes[name] = yield* Payment.outcome(Effect.flatMap(Payment.payment({ signature }), verify))
        }
        assert.deepStrictEqual(
          outcomes,
          Object.fromEntries(Object.entries(signatures).map(([name, [expected]]) => [name, expected]))
        )
      })
    )

    it.effect("is of the payer's key and of exactly what is written", () =>
      Effect.gen(function* () {
        const chain = yield* EvmTestChain.EvmTestChain
        const { verify } = yield* Payment.facilitator()
        const [payer, stranger] = chain.accounts.payers
        const validBefore = (yield* Payment.now) + 61n
        const deviations: ReadonlyArray<Payment.Deviation> = [
          { signer: stranger ?? payer },
          { from: chain.accounts.stranger.address },
          { written: { from: chain.accounts.stranger.address } },
          { signed: { value: 1n }, written: { value: "10000" } },
          { signed: { to: Payment.parsed(payer.address) }, written: { to: chain.accounts.payee.address } },
          { signed: { validAfter: 1n }, written: { validAfter: "0" } },
          { signed: { validBefore }, written: { validBefore: `${validBefore - 1n}` } },
          { written: { nonce: Payment.freshNonce() } },
          { token: chain.accounts.stranger.address, requirements: { asset: chain.token.address } }
        ]
        const requests = yield* Effect.forEach(deviations, Payment.payment)
        const outcomes = yield* Effect.forEach(requests, (request) => Payment.outcome(verify(request)))
        assert.deepStrictEqual(
          outcomes,
          deviations.map(() => "INVALID_SIGNATURE payer_mismatch")
        )
      })
    )
  })
})
