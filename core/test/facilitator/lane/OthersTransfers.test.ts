/** Transfers that a third party has sent: the payment that they count for, and the right that they give. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"

import type { Claim, PaymentRequest } from "../../../src/facilitator/Facilitator.ts"
import * as MemoryPaymentStore from "../../../src/facilitator/store/MemoryPaymentStore.ts"
import type { SchemeFacilitator } from "../../../src/scheme/SchemeFacilitator.ts"
import * as TestScheme from "../../../src/testing/ledger/TestScheme.ts"
import * as LedgerShop from "../LedgerShop.ts"
import { patient, sentByAnother } from "../LedgerSteps.ts"

const { claim, pay } = LedgerShop

type Service = LedgerShop.Shop["facilitator"]

/** The answer to a caller in a word: the state of its execution, or the reason of the refusal. */
const told = (facilitator: Service, request: PaymentRequest, by: Claim | undefined) =>
  Effect.match(facilitator.settle(request, by), {
    onFailure: (failure) => (failure._tag === "ValidationError" ? `${failure.reason} ${failure.detail}` : failure._tag),
    onSuccess: ({ execution, status }) => `${execution ?? "answered"} ${status}`
  })

/** Waits for an end, however long it takes. */
const inTime = <A>(effect: Effect.Effect<A>, seconds = 30) =>
  Effect.gen(function* () {
    const fiber = yield* Effect.forkDetach(effect)
    for (let second = 0; second < seconds; second++) yield* TestClock.adjust("1 second")
    return yield* Fiber.join(fiber)
  })

/** A scheme facilitator before whose chain head something happens, once. */
const beforeSurvey =
  (happens: () => Effect.Effect<void>) =>
  (scheme: SchemeFacilitator): SchemeFacilitator => {
    let hasHappened = false
    const once = Effect.suspend(() => {
      if (hasHappened) return Effect.void
      hasHappened = true
      return happens()
    })
    return { ...scheme, chainHead: Effect.andThen(once, scheme.chainHead) }
  }

/** A third party submits the payment after its verification, before the chain head is queried for its transaction. */
const overtaken = Effect.fnUntraced(function* (bound: boolean, options: LedgerShop.Options = {}) {
  let submit: Effect.Effect<void> = Effect.void
  const shop = yield* LedgerShop.open({ ...patient, ...options, scheme: beforeSurvey(() => submit) })
  const request = yield* pay({ bound })
  submit = Effect.orDie(sentByAnother(shop.ledger, request))
  return { ...shop, request }
})

for (const [kind, options] of [
  ["where signers send", {}],
  ["where payers send their own", { lanes: [] }]
] as const) {
  describe(`a transfer by a third party, ${kind}`, () => {
    it.effect("between verification and signing is a bound payment's own", () =>
      Effect.gen(function* () {
        const { facilitator, ledger, request } = yield* overtaken(true, options)
        assert.strictEqual(yield* inTime(told(facilitator, request, claim("a"))), "granted included")
        assert.strictEqual(ledger.transfers.length, 1)
        assert.match(yield* told(facilitator, request, claim("b")), /^held/)
      })
    )

    it.effect("between verification and signing opens nothing for an unbound payment", () =>
      Effect.gen(function* () {
        const { facilitator, ledger, request } = yield* overtaken(false, options)
        assert.match(yield* inTime(told(facilitator, request, claim("a"))), /^already_used/)
        assert.strictEqual(ledger.transfers.length, 1)
      })
    )

    it.effect("of a bound payment that waits in its lane settles it", () =>
      Effect.gen(function* () {
        let down = true
        const { facilitator, ledger } = yield* LedgerShop.open({
          ...patient,
          ...options,
          capacity: 1,
          scheme: (scheme) => ({
            ...scheme,
            submit: (prepared) => (down ? Effect.succeed({ _tag: "Accepted" }) : scheme.submit(prepared))
          })
        })
        const first = yield* Effect.forkDetach(told(facilitator, yield* pay(), claim("a")))
        yield* TestClock.adjust("1 second")
        const request = yield* pay()
        const waiting = yield* Effect.forkDetach(told(facilitator, request, claim("b")))
        yield* TestClock.adjust("10 seconds")
        yield* sentByAnother(ledger, request)
        down = false
        for (let second = 0; second < 60; second++) yield* TestClock.adjust("1 second")
        assert.match(yield* Fiber.join(waiting), /^granted (included|final)$/)
        assert.match(yield* Fiber.join(first), /^granted/)
        assert.strictEqual(ledger.transfers.length, 2)
      })
    )

    for (const late of [5, 70]) {
      it.effect(`between claim and settlement settles a bound payment, ${late} seconds later`, () =>
        Effect.gen(function* () {
          const { facilitator, ledger } = yield* LedgerShop.open({ ...patient, ...options })
          const request = yield* pay()
          yield* facilitator.claim(request, claim("a"))
          yield* sentByAnother(ledger, request)
          yield* TestClock.adjust(`${late} seconds`)
          assert.match(yield* inTime(told(facilitator, request, claim("a")), 60), /^granted (included|final)$/)
          assert.strictEqual(ledger.transfers.length, 1)
        })
      )
    }

    it.effect("before the first presentation is none of a payment's, bound or not", () =>
      Effect.gen(function* () {
        const { facilitator, ledger } = yield* LedgerShop.open({ ...patient, ...options })
        for (const bound of [true, false]) {
          const request = yield* pay({ bound })
          yield* sentByAnother(ledger, request)
          assert.match(yield* told(facilitator, request, claim("a")), /^already_used/)
        }
      })
    )

    it.effect("is none where the records of one that was served are lost, and the node lags", () =>
      Effect.gen(function* () {
        const { facilitator, scheme, ledger, restart } = yield* LedgerShop.open({ ...patient, ...options })
        const request = yield* pay()
        assert.strictEqual(yield* told(facilitator, request, claim("a")), "granted included")
        yield* TestClock.adjust("1 second")
        yield* Effect.exit(Effect.scoped(restart))
        // The node has not seen the transfer yet when it is asked, and then it has.
        const lagging: SchemeFacilitator = { ...scheme, verify: () => Effect.void }
        const forgetful = yield* LedgerShop.facilitatorOf([lagging], yield* MemoryPaymentStore.make, patient)
        assert.match(yield* inTime(told(forgetful, request, claim("b"))), /^already_used/)
        assert.strictEqual(ledger.transfers.length, 1)
      })
    )
  })
}

for (const [kind, options] of [
  ["where signers send", {}],
  ["where payers send their own", { lanes: [] }]
] as const) {
  describe(`a payment on record of which the chain does not say what has become of it, ${kind}`, () => {
    /** A shop whose chain shows a used authorization, and not by what, as long as it is told to. */
    const silent = Effect.fnUntraced(function* () {
      const doubt = { isOn: true }
      const shop = yield* LedgerShop.open({
        ...patient,
        ...options,
        scheme: (scheme) => ({
          ...scheme,
          conclude: (observedPayment) =>
            doubt.isOn ? Effect.succeed({ _tag: "Pending" }) : scheme.conclude(observedPayment)
        })
      })
      return { ...shop, doubt }
    })

    for (const bound of [true, false]) {
      it.effect(`is not refused after its claim (${bound ? "bound" : "not bound"})`, () =>
        Effect.gen(function* () {
          const { doubt, facilitator, ledger, store } = yield* silent()
          const request = yield* pay({ bound })
          const { paymentId } = yield* facilitator.claim(request, claim("a"))
          yield* sentByAnother(ledger, request)
          for (const seconds of [1, 70]) {
            yield* TestClock.adjust(`${seconds} seconds`)
            assert.strictEqual(yield* inTime(told(facilitator, request, claim("a"))), "ChainUnavailable")
            assert.deepInclude(yield* store.find(paymentId), { status: "accepted", lane: undefined })
          }
          doubt.isOn = false
          const answer = yield* inTime(told(facilitator, request, claim("a")))
          assert.match(answer, bound ? /^granted (included|final)$/ : /^already_used stranger/)
          assert.strictEqual(ledger.transfers.length, 1)
        })
      )

      it.effect(`is not refused in its lane (${bound ? "bound" : "not bound"})`, () =>
        Effect.gen(function* () {
          const { doubt, facilitator, scheme, ledger, store } = yield* silent()
          const request = yield* pay({ bound })
          const { paymentId } = yield* facilitator.claim(request, claim("a"))
          yield* sentByAnother(ledger, request)
          yield* store.queue(paymentId, `${scheme.network} ${scheme.lanes[0] ?? ""}`)
          yield* TestClock.adjust("3 seconds")
          const stored = yield* store.find(paymentId)
          assert.deepInclude(stored, { status: "accepted", lane: undefined })
          doubt.isOn = false
          const answer = yield* inTime(told(facilitator, request, claim("a")))
          assert.match(answer, bound ? /^granted (included|final)$/ : /^already_used stranger/)
        })
      )

      it.effect(`is not called expired when it has waited too long (${bound ? "bound" : "not bound"})`, () =>
        Effect.gen(function* () {
          const { doubt, facilitator, scheme, ledger, store } = yield* silent()
          const request = yield* pay({ bound, validFor: 20 })
          const { paymentId } = yield* facilitator.claim(request, claim("a"))
          yield* TestClock.adjust("15 seconds")
          yield* store.queue(paymentId, `${scheme.network} ${scheme.lanes[0] ?? ""}`)
          yield* TestClock.adjust("2 seconds")
          assert.deepInclude(yield* store.find(paymentId), { status: "accepted", lane: undefined })
          // The validity is not over yet: a third party may still send it.
          yield* sentByAnother(ledger, request)
          doubt.isOn = false
          const answer = yield* inTime(told(facilitator, request, claim("a")))
          assert.match(answer, bound ? /^granted (included|final)$/ : /^already_used stranger/)
        })
      )
    }
  })
}

/** From now on no reorganisation reaches what is in a block. */
const finality = (ledger: LedgerShop.Shop["ledger"]) =>
  Effect.gen(function* () {
    ledger.finality = 1
    for (let second = 0; second < 10; second++) yield* TestClock.adjust("1 second")
  })

describe("an unbound payment that a third party has sent", () => {
  /** It is pending, and a third party is quicker. */
  const outrun = Effect.fnUntraced(function* (by: Claim | undefined) {
    const shop = yield* LedgerShop.open(patient)
    shop.ledger.finality = 100
    const request = yield* pay({ bound: false })
    shop.ledger.faults.holdBlocks = true
    const telling = yield* Effect.forkDetach(told(shop.facilitator, request, by))
    yield* TestClock.adjust("1 second")
    yield* sentByAnother(shop.ledger, request)
    shop.ledger.faults.holdBlocks = false
    const answer = yield* inTime(Fiber.join(telling))
    const [stored] = yield* shop.store.page(0n, 1)
    return { ...shop, request, answer, paymentId: stored?.paymentId ?? "", nonce: stored?.authorization.nonce }
  })

  it.effect("is settled, opens nothing, and its record says so", () =>
    Effect.gen(function* () {
      const { answer, facilitator, ledger, nonce, paymentId, request } = yield* outrun(claim("a"))
      assert.strictEqual(answer, "ChainUnavailable")
      assert.strictEqual(ledger.transfers.length, 1)
      const record = yield* facilitator.payment(paymentId)
      assert.deepInclude(record, { reason: "already_used", execution: "owed", transaction: `stranger/${nonce}` })
      assert.strictEqual(record?.status, "included")
      yield* finality(ledger)
      for (const by of [claim("a"), claim("b"), undefined]) {
        assert.strictEqual(yield* told(facilitator, request, by), `already_used stranger/${nonce}`)
      }
      assert.match((yield* Effect.flip(facilitator.claim(request, claim("c")))).message, /a third party has sent/)
      assert.match((yield* Effect.flip(facilitator.verify(request))).message, /used already/)
      assert.deepInclude(yield* facilitator.payment(paymentId), { status: "final", execution: "owed" })
      assert.strictEqual(ledger.transfers.length, 1)
    })
  )

  it.effect("is refused to nobody while a reorganisation may take the transfer back", () =>
    Effect.gen(function* () {
      for (const by of [claim("a"), undefined]) {
        const { answer, facilitator, request } = yield* outrun(by)
        assert.strictEqual(answer, "ChainUnavailable")
        for (const other of [claim("a"), claim("b"), undefined]) {
          assert.strictEqual(yield* told(facilitator, request, other), "ChainUnavailable")
        }
        for (const asking of [facilitator.verify(request), facilitator.claim(request, claim("c"))]) {
          const failure = yield* Effect.flip(Effect.asVoid(asking))
          assert.strictEqual(failure._tag, "ChainUnavailable")
          assert.match(failure.message, /not final yet; send the same payment again later, do not sign a new one/)
        }
      }
    })
  )

  it.effect("waits in its lane for the end, and a verification refuses it meanwhile to nobody", () =>
    Effect.gen(function* () {
      let down = true
      const { facilitator, ledger } = yield* LedgerShop.open({
        ...patient,
        capacity: 1,
        scheme: (scheme) => ({
          ...scheme,
          submit: (prepared) => (down ? Effect.succeed({ _tag: "Accepted" }) : scheme.submit(prepared))
        })
      })
      const first = yield* Effect.forkDetach(told(facilitator, yield* pay(), claim("a")))
      yield* TestClock.adjust("1 second")
      const request = yield* pay({ bound: false })
      const waiting = yield* Effect.forkDetach(told(facilitator, request, undefined))
      yield* TestClock.adjust("1 second")
      yield* sentByAnother(ledger, request)
      assert.strictEqual((yield* Effect.flip(facilitator.verify(request)))._tag, "ChainUnavailable")
      ledger.reorganise(Number(ledger.head().number) - 1)
      down = false
      assert.strictEqual(yield* inTime(Fiber.join(waiting)), "answered included")
      assert.match(yield* Fiber.join(first), /^granted/)
      assert.strictEqual(ledger.transfers.length, 2)
    })
  )

  it.effect("is not refused by an instance that verifies a copy while another takes it in", () =>
    Effect.gen(function* () {
      const { facilitator, ledger, scheme, store } = yield* LedgerShop.open(patient)
      ledger.finality = 100
      for (const isByAnother of [true, false]) {
        const request = yield* pay({ bound: false })
        const meanwhile = Effect.gen(function* () {
          ledger.faults.holdBlocks = true
          const telling = yield* Effect.forkDetach(told(facilitator, request, claim("a")))
          yield* TestClock.adjust("1 second")
          if (isByAnother) yield* Effect.orDie(sentByAnother(ledger, request))
          ledger.faults.holdBlocks = false
          return yield* inTime(Fiber.join(telling))
        })
        let first = ""
        const slow: SchemeFacilitator = {
          ...scheme,
          verify: (payment) =>
            Effect.andThen(
              Effect.map(meanwhile, (answer) => (first = answer)),
              scheme.verify(payment)
            )
        }
        const other = yield* LedgerShop.facilitatorOf([slow], store, { ...patient, leases: LedgerShop.idle })
        const second = yield* told(other, request, claim("b"))
        assert.deepStrictEqual(
          [first, second],
          isByAnother ? ["ChainUnavailable", "ChainUnavailable"] : ["granted included", "held included"]
        )
      }
    })
  )

  it.effect("gives no answer to a caller without a claim either", () =>
    Effect.gen(function* () {
      const { answer, facilitator, ledger, request } = yield* outrun(undefined)
      assert.strictEqual(answer, "ChainUnavailable")
      yield* finality(ledger)
      for (let repeat = 0; repeat < 2; repeat++) {
        assert.match(yield* told(facilitator, request, undefined), /^already_used stranger/)
      }
    })
  )

  it.effect("opens nothing after a reorganisation either", () =>
    Effect.gen(function* () {
      const { answer, facilitator, ledger, nonce, request } = yield* outrun(claim("a"))
      assert.strictEqual(answer, "ChainUnavailable")
      ledger.faults.holdBlocks = true
      ledger.reorganise(Number(ledger.head().number) - 1)
      assert.strictEqual(ledger.transfers.length, 0)
      yield* sentByAnother(ledger, request)
      ledger.faults.holdBlocks = false
      yield* TestClock.adjust("30 seconds")
      assert.strictEqual(yield* inTime(told(facilitator, request, claim("b"))), "ChainUnavailable")
      yield* finality(ledger)
      assert.strictEqual(yield* told(facilitator, request, claim("b")), `already_used stranger/${nonce}`)
    })
  )

  it.effect("opens what it was signed for once our own transaction has made the transfer after a reorganisation", () =>
    Effect.gen(function* () {
      for (const by of [claim("a"), undefined]) {
        const { answer, facilitator, ledger, paymentId, request } = yield* outrun(by)
        assert.strictEqual(answer, "ChainUnavailable")
        ledger.reorganise(Number(ledger.head().number) - 1)
        yield* TestClock.adjust("5 seconds")
        const expected = by === undefined ? "answered included" : "granted included"
        assert.strictEqual(yield* inTime(told(facilitator, request, by && claim("b"))), expected)
        const record = yield* facilitator.payment(paymentId)
        assert.isUndefined(record?.reason)
        assert.strictEqual(record?.transaction, ledger.transfers[0]?.transaction)
      }
    })
  )

  it.effect("is one that a facilitator with records of its own has sent: of two one grants", () =>
    Effect.gen(function* () {
      const { facilitator, scheme, ledger } = yield* LedgerShop.open(patient)
      const theirs = TestScheme.facilitator(ledger, { lanes: ["signer-2"] })
      const other = yield* LedgerShop.facilitatorOf([theirs], yield* MemoryPaymentStore.make, patient)
      assert.notDeepEqual(scheme.lanes, theirs.lanes)
      const requests: Array<{ readonly request: PaymentRequest; readonly loser: Service }> = []
      for (let round = 0; round < 5; round++) {
        const request = yield* pay({ bound: false })
        // Both have verified and sent it before the chain shows anything.
        ledger.faults.holdBlocks = true
        const asking = yield* Effect.forkDetach(
          Effect.all([told(facilitator, request, claim("a")), told(other, request, claim("b"))], {
            concurrency: "unbounded"
          })
        )
        yield* TestClock.adjust("1 second")
        ledger.faults.holdBlocks = false
        const answers = yield* inTime(Fiber.join(asking))
        assert.deepStrictEqual(answers.map((answer) => answer.replace(/ .*/, "")).toSorted(), [
          "ChainUnavailable",
          "granted"
        ])
        requests.push({ request, loser: answers[0] === "ChainUnavailable" ? facilitator : other })
      }
      yield* finality(ledger)
      for (const { loser, request } of requests) {
        assert.match(yield* told(loser, request, claim("c")), /^already_used/)
      }
      assert.strictEqual(ledger.transfers.length, 5)
    })
  )

  it.effect("is none where another transaction of its own lane has sent it", () =>
    Effect.gen(function* () {
      // The slot counts as used by a foreign transaction after enough observations without a receipt, though our own transaction is in it.
      // A family may not know which of the facilitator's transactions it is.
      const { facilitator, ledger } = yield* LedgerShop.open({
        ...patient,
        scheme: (scheme) => ({
          ...scheme,
          conclude: (observedPayment) =>
            Effect.map(scheme.conclude(observedPayment), (end) =>
              end._tag === "Settled" ? { ...end, external: true } : end
            )
        })
      })
      ledger.faults.hiddenLooks = 40
      const request = yield* pay({ bound: false })
      assert.strictEqual(yield* inTime(told(facilitator, request, claim("a")), 90), "granted included")
      assert.strictEqual(ledger.transfers.length, 1)
    })
  )
})
