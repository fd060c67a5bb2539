/** What the settling half checks by the chain's own clock and height, beside what the core checks by ours. */
import { assert, describe, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"

import { TronTestChain } from "../../src/testing/index.ts"
import { localSigner } from "../../src/wallet/LocalTronSigner.ts"
import * as Payment from "../TronTestPayment.ts"

/** How verifying a payment ends whose transaction expires so many milliseconds after the head. */
const verified = Effect.fnUntraced(function* (millis: bigint, options: Payment.FacilitatorOptions = {}) {
  const head = yield* (yield* Payment.rpc).head
  const scheme = yield* Payment.half(options)
  const one = yield* Payment.read(scheme, yield* Payment.payment({ transfer: { expiration: head.time + millis } }))
  return yield* Payment.outcome(scheme.verify(one))
})

/** How verifying a payment ends whose reference block is so many blocks ahead of the head. */
const referring = Effect.fnUntraced(function* (ahead: bigint) {
  const head = yield* (yield* Payment.rpc).head
  const refBlockBytes = ((head.number + ahead) & 0xffffn).toString(16).padStart(4, "0")
  const scheme = yield* Payment.half()
  const one = yield* Payment.read(scheme, yield* Payment.payment({ transfer: { refBlockBytes } }))
  return yield* Payment.outcome(scheme.verify(one))
})

describe("ExactTronVerification", () => {
  layer(TronTestChain.layer(), { excludeTestServices: true })((it) => {
    it.effect("wants two slots to be left by the chain's clock, and five where energy is lent", () =>
      Effect.gen(function* () {
        const { accounts } = yield* TronTestChain.TronTestChain
        assert.strictEqual(yield* verified(6_001n), "ok")
        assert.strictEqual(yield* verified(6_000n), "EXPIRED_PAYMENT expired")
        const sponsor = { signer: localSigner(accounts.signers[0].privateKey) }
        assert.strictEqual(yield* verified(15_001n, { sponsor }), "ok")
        assert.strictEqual(yield* verified(15_000n, { sponsor }), "EXPIRED_PAYMENT expired")
      })
    )

    it.effect("takes no transaction that the chain would not take yet", () =>
      Effect.gen(function* () {
        assert.strictEqual(yield* verified(86_400_000n), "ok")
        assert.strictEqual(yield* verified(86_400_001n), "unsupported_authorization valid_too_long")
      })
    )

    it.effect("blames nobody for a node that lags behind the payer's, and knows another chain's block", () =>
      Effect.gen(function* () {
        assert.strictEqual(yield* referring(1n), "ChainUnavailable")
        assert.strictEqual(yield* referring(19n), "ChainUnavailable")
        assert.strictEqual(yield* referring(20n), "EXPIRED_PAYMENT ref_block_old")
        assert.strictEqual(yield* referring(0n), "ok")
        const { mine } = yield* TronTestChain.TronTestChain
        yield* mine(2)
        assert.strictEqual(yield* referring(-1n), "NETWORK_MISMATCH ref_block")
        assert.strictEqual(yield* referring(-1_000n), "NETWORK_MISMATCH ref_block")
      })
    )
  })
})
