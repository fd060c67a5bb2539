import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"

import * as TronCommitments from "../../src/sending/TronCommitments.ts"

const prices = { energy: 100n, bandwidth: 1_000n }
const nothing: TronCommitments.Means = { balance: 0n, energy: 0n, freeBandwidth: 0n, stakedBandwidth: 0n }
const need = { energy: 10_000n, bytes: 345n }

const commitment = (id: string, payer = "payer", until = 60_000): TronCommitments.Commitment => ({
  id,
  payer,
  until,
  ...need
})

describe("burntBy", () => {
  it("burns the missing energy, and the bandwidth that neither stake nor quota covers alone", () => {
    const means = { ...nothing, energy: 15_000n, freeBandwidth: 600n, stakedBandwidth: 400n }
    assert.strictEqual(TronCommitments.burntBy([need], means, prices), 0n)
    assert.strictEqual(TronCommitments.burntBy([need, need], means, prices), 500_000n)
    assert.strictEqual(TronCommitments.burntBy([need, need, need], means, prices), 500_000n + 1_000_000n + 345_000n)
    assert.strictEqual(TronCommitments.burntBy([], means, prices), 0n)
    // 300 bytes of each are left, and are not added.
    assert.strictEqual(
      TronCommitments.burntBy(
        [need],
        { ...nothing, energy: 10_000n, freeBandwidth: 300n, stakedBandwidth: 300n },
        prices
      ),
      345_000n
    )
  })
})

describe("TronCommitments", () => {
  const means = { ...nothing, balance: 4_000_000n }

  it.effect("counts each payment once, and as many as the payer's means cover", () =>
    Effect.gen(function* () {
      const commitments = TronCommitments.make()
      const reserve = (id: string, payer?: string) => commitments.reserve(commitment(id, payer), means, prices)
      assert.deepStrictEqual(yield* Effect.forEach(["a", "b", "a", "c"], (id) => reserve(id)), [
        true,
        true,
        true,
        false
      ])
      assert.isFalse(yield* commitments.allow(commitment("c"), means, prices))
      assert.isTrue(yield* commitments.allow(commitment("b"), means, prices))
      assert.isTrue(yield* reserve("c", "another"))
      yield* commitments.release("a")
      yield* commitments.release("unknown")
      assert.isTrue(yield* reserve("c"))
    })
  )

  it.effect("removes a payment when its transaction expires", () =>
    Effect.gen(function* () {
      const commitments = TronCommitments.make()
      const reserve = (id: string, until: number) => commitments.reserve(commitment(id, "payer", until), means, prices)
      assert.isTrue(yield* reserve("a", 30_000))
      assert.isTrue(yield* reserve("b", 60_000))
      yield* TestClock.adjust("29 seconds")
      assert.isFalse(yield* reserve("c", 90_000))
      yield* TestClock.adjust("1 second")
      assert.isTrue(yield* reserve("c", 90_000))
      assert.isFalse(yield* reserve("d", 90_000))
    })
  )
})
