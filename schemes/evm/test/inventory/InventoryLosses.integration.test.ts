/** An operator's loss by a reorganisation deeper than its finality, on two real chains: it is counted, and the pair stops. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"

import { EvmAddress, EvmHex } from "../../src/index.ts"
import * as EvmTestChain from "../../src/testing/EvmTestChain.ts"
import * as EvmTestToken from "../EvmTestToken.ts"
import { chains, opened, payoutOf, price, settled } from "./InventoryMarket.ts"

describe("an inventory whose finality is too short", () => {
  it.live("counts a payment that was taken back after the shop was paid, and takes no new ones", () =>
    Effect.gen(function* () {
      const both = yield* chains
      const { first, second } = both
      const { far, facilitator, onward, paid } = yield* opened(both)
      const payment = yield* paid(0)
      yield* facilitator.verify(payment)
      const before = yield* first.snapshot
      const { block, transaction } = yield* settled(facilitator, payment)
      const observe = onward.observe({ payment, transaction, block, attempt: 1 })
      assert.strictEqual((yield* observe)._tag, "Underway")
      yield* first.mine(1)
      const ready = yield* observe
      // The payment to the shop is the same one in every attempt, so the other token takes it once.
      assert.deepStrictEqual(yield* onward.observe({ payment, transaction, block, attempt: 2 }), ready)
      const payout = yield* payoutOf(far, ready)
      yield* far.verify(payout)
      yield* settled(far, payout)
      assert.strictEqual((yield* observe)._tag, "Delivered")
      yield* facilitator.verify(yield* paid(1))
      yield* first.revert(before)
      yield* first.mine(4)
      assert.deepInclude(yield* observe, { _tag: "Delivered", amount: price, final: false })
      const refusal = yield* Effect.flip(facilitator.verify(yield* paid(2)))
      assert.strictEqual(refusal._tag, "FacilitatorUnavailable")
      // The payer's authorization is still good, and its chain may show it again: then nothing is lost.
      yield* settled(facilitator, payment)
      yield* first.mine(1)
      assert.strictEqual(yield* second.balanceOf(first.accounts.payee.address), price)
    }).pipe(Effect.scoped)
  )
})

describe("an operator's payment to a shop", () => {
  it.live("is never made after its authorization was cancelled, so that the buyer can be paid back", () =>
    Effect.gen(function* () {
      const both = yield* chains
      const { first, second } = both
      const { facilitator, far, onward, operator, paid } = yield* opened(both)
      const payment = yield* paid(0)
      const { block, transaction } = yield* settled(facilitator, payment)
      yield* first.mine(1)
      const observe = onward.observe({ payment, transaction, block, attempt: 1 })
      const payout = yield* payoutOf(far, yield* observe)
      const from = EvmAddress.fromText(operator.address) ?? EvmAddress.zero
      const cancelled = { from, nonce: EvmHex.fromTrusted(payout.authorization.nonce) }
      const cancelling = EvmTestToken.cancellation(cancelled, operator)
      yield* second.send(yield* Effect.provideService(cancelling, EvmTestChain.EvmTestChain, second))
      const end = yield* observe
      assert.strictEqual(end._tag, "Blocked")
      assert.include(end._tag === "Blocked" ? end.reason : "", "used up the nonce")
      assert.strictEqual((yield* Effect.flip(far.verify(payout)))._tag, "ValidationError")
      assert.strictEqual(yield* second.balanceOf(first.accounts.payee.address), 0n)
    }).pipe(Effect.scoped)
  )
})
