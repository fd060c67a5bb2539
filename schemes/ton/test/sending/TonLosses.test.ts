import { assert, describe, it } from "@effect/vitest"
import type { Payment } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as TestClock from "effect/testing/TestClock"

import { TonAuthorization, TonNetwork } from "../../src/index.ts"
import * as TonLosses from "../../src/sending/TonLosses.ts"
import { TonTestAccounts } from "../../src/testing/index.ts"
import * as Forgery from "../TonForgery.ts"
import * as Trial from "../TonTrial.ts"

const relayer = Forgery.addressOf(TonTestAccounts.ofName("relayer 0").raw)
const payee = Forgery.addressOf(TonTestAccounts.ofName("payee").raw)

let queryId = 0n

/** A payment of an account, each with a query id of its own. */
const paymentOf = (name: string, to = payee): Payment<TonAuthorization.TonAuthorization> => {
  const account = TonTestAccounts.ofName(name)
  const body = Forgery.transfer({ amount: 10_000n, to, responseTo: relayer, queryId: queryId++ })
  const message = Forgery.message({ to: payee, body })
  const request = Forgery.request({ validUntil: 60, seqno: 0, actions: Forgery.actionOf(message), seed: account.seed })
  const payload = { ...Forgery.payload(account, request), kind: "w5-internal" as const }
  const terms = { kinds: ["w5-internal"] as const, responseDestination: relayer, maxInnerTon: 1n }
  const read = Result.getOrThrow(TonAuthorization.read(payload, terms))
  return {
    requirements: { scheme: "exact", network: TonNetwork.local, maxAmountRequired: "10000", resource: "", payTo: to },
    payload: read,
    authorization: {
      payer: read.payer,
      payTo: to,
      asset: payee,
      amount: 10_000n,
      nonce: read.nonce,
      validAfter: 0,
      validBefore: 60,
      binding: undefined
    }
  }
}

const open = () => TonLosses.make({ total: 100n, perCaller: 60n, perPayer: 40n })

const blamed = ({ payload }: Payment<TonAuthorization.TonAuthorization>, gravity: "grave" | "slight") => ({
  culprit: payload.payer,
  gravity
})

describe("TonLosses", () => {
  it.effect("bans the culprit for a while after the first grave loss, and no other payer", () =>
    Effect.gen(function* () {
      const losses = yield* open()
      const bad = paymentOf("griefer")
      yield* losses.lose(bad, 10n, blamed(bad, "grave"))
      assert.strictEqual(
        yield* Trial.wordOf(losses.allow(paymentOf("griefer"), 10n)),
        "unsupported_authorization account_banned"
      )
      assert.strictEqual(yield* Trial.wordOf(losses.allow(paymentOf("somebody"), 10n)), "ok")
      yield* TestClock.adjust("61 minutes")
      assert.strictEqual(yield* Trial.wordOf(losses.allow(paymentOf("griefer"), 10n)), "ok")
    })
  )

  it.effect("bans the recipient where it is to blame", () =>
    Effect.gen(function* () {
      const losses = yield* open()
      yield* losses.lose(paymentOf("somebody"), 10n, { culprit: payee, gravity: "grave" })
      assert.strictEqual(
        yield* Trial.wordOf(losses.allow(paymentOf("another"), 10n)),
        "unsupported_authorization account_banned"
      )
      assert.strictEqual(yield* Trial.wordOf(losses.allow(paymentOf("another", relayer), 10n)), "ok")
      // A delivery is owed to it.
      const { requirements, ...owed } = paymentOf("another")
      const push = { ...owed, requirements: { ...requirements, extra: { delivers: "pay_of_a_shop" } } }
      assert.strictEqual(yield* Trial.wordOf(losses.allow(push, 10n)), "ok")
    })
  )

  it.effect(
    "bans a payer after three payments in a day that could not be emulated, and none for a loss without blame",
    () =>
      Effect.gen(function* () {
        const losses = yield* open()
        for (const word of ["ok", "ok", "unsupported_authorization account_banned"]) {
          yield* losses.suspect(paymentOf("odd"))
          yield* losses.lose(paymentOf("unlucky"), 1n, undefined)
          assert.strictEqual(yield* Trial.wordOf(losses.allow(paymentOf("odd"), 10n)), word)
        }
        assert.strictEqual(yield* Trial.wordOf(losses.allow(paymentOf("unlucky"), 10n)), "ok")
      })
  )

  it.effect("counts a pending payment until it has ended, and judges it once", () =>
    Effect.gen(function* () {
      const losses = yield* open()
      const first = paymentOf("one")
      yield* losses.reserve(first, 40n)
      assert.strictEqual(yield* Trial.wordOf(losses.allow(paymentOf("one"), 10n)), "FacilitatorUnavailable")
      assert.strictEqual(yield* Trial.wordOf(losses.allow(first, 40n)), "ok")
      assert.strictEqual(yield* Trial.wordOf(losses.reserve(first, 40n)), "ok")
      yield* losses.reserve(paymentOf("two"), 40n)
      assert.strictEqual(yield* Trial.wordOf(losses.reserve(paymentOf("three"), 40n)), "FacilitatorUnavailable")
      yield* losses.settle(first)
      assert.strictEqual(yield* Trial.wordOf(losses.reserve(paymentOf("three"), 40n)), "ok")
    })
  )

  it.effect("serves a payer with a settled payment when the budget is used up, and no newcomer", () =>
    Effect.gen(function* () {
      const losses = yield* open()
      const honest = paymentOf("honest")
      yield* losses.reserve(honest, 30n)
      yield* losses.settle(honest)
      for (const name of ["a", "b", "c", "d"]) {
        const bad = paymentOf(name)
        yield* losses.lose(bad, 25n, blamed(bad, "grave"))
      }
      assert.strictEqual(yield* Trial.wordOf(losses.allow(paymentOf("newcomer"), 30n)), "FacilitatorUnavailable")
      assert.strictEqual(yield* Trial.wordOf(losses.reserve(paymentOf("honest"), 30n)), "ok")
    })
  )
})
