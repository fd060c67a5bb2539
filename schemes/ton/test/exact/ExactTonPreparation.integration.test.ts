/** Preparations that are made again: where the node does not serve every request, and where the bytes were not sent. */
import { assert, describe, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"

import { ToncenterFault, TonTestChain } from "../../src/testing/index.ts"
import * as Trial from "../TonTrial.ts"

describe("two payments of one message", () => {
  layer(TonTestChain.layer({ payers: 4 }), { excludeTestServices: true })((it) => {
    // Both payments are verified at the same time: the first two requests are theirs, the next ones repeat the refused one.
    for (const [name, refused, ends] of [
      ["are both relayed though the node refused one of their requests", [1], ["Settled", "Settled"]],
      ["are both relayed though the node refused a repetition too", [1, 3], ["Settled", "Settled"]],
      ["are parted where the node serves one account at no time", [1, 3, 4, 5], ["Failed", "Settled"]]
    ] as const) {
      it.effect(name, () =>
        Effect.gen(function* () {
          const { accounts, mend, spoil } = yield* TonTestChain.TonTestChain
          let isPreparing = false
          let requests = 0
          const trial = yield* Trial.make({
            onRequest: (method) => {
              if (!isPreparing || method !== "getAddressInformation") return
              requests++
              if (refused.some((one) => one === requests))
                Effect.runSync(spoil(method, ToncenterFault.Status({ status: 429 }), 1))
            }
          })
          const { facilitator } = trial
          const payments = yield* Effect.forEach(accounts.payers.slice(0, 2), (payer) => Trial.payment(trial, payer))
          const [lane = ""] = facilitator.lanes
          const number = yield* facilitator.nextSlot(lane, "known")
          const chainHead = yield* facilitator.chainHead
          isPreparing = true
          const { count, prepared } = yield* facilitator.prepare(payments, { lane, number }, chainHead)
          isPreparing = false
          yield* mend
          assert.strictEqual(count, 2)
          yield* facilitator.submit(prepared)
          const observedPayments = payments.map((payment) => ({ payment, since: prepared.head }))
          const { observations } = yield* facilitator.observe(observedPayments, [prepared])
          assert.deepStrictEqual(observations.map(({ _tag }) => _tag).toSorted(), [...ends])
        })
      )
    }
  })
})

describe("a payment that is prepared again after its bytes were not sent", () => {
  layer(TonTestChain.layer({ payers: 1 }), { excludeTestServices: true })((it) => {
    it.effect("keeps its payer from another payment of the same number", () =>
      Effect.gen(function* () {
        const trial = yield* Trial.make()
        const { chain, facilitator } = trial
        const [payer] = chain.accounts.payers
        const [first, second] = [yield* Trial.payment(trial, payer), yield* Trial.payment(trial, payer)]
        yield* Trial.relayed(trial, [first])
        assert.strictEqual(yield* Trial.wordOf(facilitator.verify(second)), "EXPIRED_PAYMENT seqno_reserved")
        yield* facilitator.release?.([first]) ?? assert.fail("it can be released")
        assert.strictEqual(yield* Trial.wordOf(facilitator.verify(second)), "ok")
        yield* Trial.relayed(trial, [first])
        assert.strictEqual(yield* Trial.wordOf(facilitator.verify(second)), "EXPIRED_PAYMENT seqno_reserved")
      })
    )
  })
})
