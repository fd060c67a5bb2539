import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"

import { TonAuthorization } from "../../src/index.ts"
import * as PendingPayers from "../../src/sending/PendingPayers.ts"
import { TonTestAccounts } from "../../src/testing/index.ts"
import * as Forgery from "../TonForgery.ts"

const payee = Forgery.addressOf(TonTestAccounts.ofName("payee").raw)

/** A payment of one payer with this number, valid until second 60. */
const numbered = (seqno: number, queryId = BigInt(seqno)): TonAuthorization.TonAuthorization => {
  const account = TonTestAccounts.ofName("payer 0")
  const body = Forgery.transfer({ amount: 10_000n, to: payee, responseTo: payee, queryId })
  const message = Forgery.message({ to: payee, body })
  const request = Forgery.request({ validUntil: 60, seqno, actions: Forgery.actionOf(message), seed: account.seed })
  const payload = { ...Forgery.payload(account, request), kind: "w5-internal" as const }
  const terms = { kinds: ["w5-internal"] as const, responseDestination: payee, maxInnerTon: 1n }
  return Result.getOrThrow(TonAuthorization.read(payload, terms))
}

describe("PendingPayers", () => {
  const [first, second] = [numbered(0), numbered(0, 1n)]

  it.effect("refuses a payer's second payment of a number until the first has ended", () =>
    Effect.gen(function* () {
      const payers = PendingPayers.make()
      assert.isTrue(yield* payers.take(first))
      assert.isTrue(yield* payers.isTaken(second))
      assert.isFalse(yield* payers.take(second))
      yield* payers.release(first)
      assert.isFalse(yield* payers.isTaken(second))
      assert.isTrue(yield* payers.take(second))
    })
  )

  it.effect("takes a payment with the next number, and none with an earlier one beside it", () =>
    Effect.gen(function* () {
      const payers = PendingPayers.make()
      const next = numbered(1)
      assert.isTrue(yield* payers.take(first))
      assert.isFalse(yield* payers.isTaken(next))
      assert.isTrue(yield* payers.take(next))
      // The first one is observed until it ends, and frees the payer for no other payment of the next one's number.
      assert.isFalse(yield* payers.take(first))
      yield* payers.release(first)
      assert.isTrue(yield* payers.isTaken(numbered(1, 9n)))
      yield* payers.release(next)
      assert.isFalse(yield* payers.isTaken(numbered(1, 9n)))
    })
  )

  it.effect("leaves the payer free when a payment that has ended is observed again", () =>
    Effect.gen(function* () {
      const payers = PendingPayers.make()
      yield* payers.take(first)
      yield* payers.release(first)
      assert.isTrue(yield* payers.take(first))
      assert.isFalse(yield* payers.isTaken(second))
    })
  )

  it.effect("takes a payment again that was put back, and the payer with it", () =>
    Effect.gen(function* () {
      const payers = PendingPayers.make()
      yield* payers.take(first)
      yield* payers.putBack(second)
      assert.isTrue(yield* payers.isTaken(second))
      yield* payers.putBack(first)
      assert.isFalse(yield* payers.isTaken(second))
      assert.isTrue(yield* payers.take(first))
      assert.isTrue(yield* payers.isTaken(second))
      assert.isFalse(yield* payers.take(second))
    })
  )
})
