import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Result from "effect/Result"
import * as TestClock from "effect/testing/TestClock"

import { Checkpoint, type Strike } from "../../../src/facilitator/Checkpoint.ts"
import type { Claim, PaymentRequest, Settled } from "../../../src/facilitator/Facilitator.ts"
import { maximumExecutions } from "../../../src/facilitator/store/Execution.ts"
import type { PaymentStore } from "../../../src/facilitator/store/PaymentStore.ts"
import * as Network from "../../../src/protocol/Network.ts"
import { refuse } from "../../../src/protocol/PaymentError.ts"
import type { PaymentFailure } from "../../../src/protocol/PaymentFailure.ts"
import { sealPayload } from "../../../src/protocol/PaymentPayload.ts"
import { FacilitatorUnavailable } from "../../../src/protocol/ProtocolError.ts"
import { isSettled } from "../../../src/protocol/Settlement.ts"
import { invalid } from "../../../src/protocol/ValidationError.ts"
import type { Payment } from "../../../src/scheme/SchemeFacilitator.ts"
import type { TestLedger } from "../../../src/testing/ledger/TestLedger.ts"
import * as TestScheme from "../../../src/testing/ledger/TestScheme.ts"
import * as LedgerShop from "../LedgerShop.ts"
import { begin, wordOf } from "../LedgerSteps.ts"

const { claim } = LedgerShop

const failing = (effect: Effect.Effect<Settled, PaymentFailure>) => Effect.map(Effect.flip(effect), wordOf)

const countOf = (answers: ReadonlyArray<Settled>, execution: Settled["execution"]) =>
  answers.filter((one) => one.execution === execution).length

/** Records whose first response to a claim is lost after the write. */
const losingAnswers = () => {
  let lost = false
  return LedgerShop.open({
    store: (store) => ({
      ...store,
      claim: (payment, wish, intake) =>
        Effect.tap(store.claim(payment, wish, intake), () => {
          const first = !lost
          lost = true
          return first ? new FacilitatorUnavailable({ message: "the connection broke" }) : Effect.void
        })
    })
  })
}

/** Records of a process that may end: then it reads and writes nothing more. */
const mortal = (store: PaymentStore["Service"], isDead: () => boolean): PaymentStore["Service"] => {
  const alive = <A, E>(effect: Effect.Effect<A, E>) => Effect.suspend(() => (isDead() ? Effect.never : effect))
  return {
    ...store,
    takeAnswer: (paymentId, call) => alive(store.takeAnswer(paymentId, call))
  }
}

/** The chain takes what waits for it; a second later everybody knows. */
const mine = (ledger: TestLedger) => {
  ledger.mine()
  return TestClock.adjust("1 second")
}

/** A payment whose first caller went away while no block took its transaction; one has taken it since. */
const abandoned = Effect.fnUntraced(function* (by?: Claim) {
  const shop = yield* LedgerShop.open()
  shop.ledger.faults.holdBlocks = true
  const request = yield* LedgerShop.pay()
  yield* Fiber.interrupt(yield* begin(shop.facilitator.settle(request, by)))
  yield* mine(shop.ledger)
  return { ...shop, request }
})

/** A payment whose first caller waited this number of seconds for a block, in vain: the outcome is pending. */
const pendingAfter = Effect.fnUntraced(function* (seconds: number, by?: Claim, options: LedgerShop.PayOptions = {}) {
  const shop = yield* LedgerShop.open({ settleTimeoutMillis: seconds * 1000 })
  shop.ledger.faults.holdBlocks = true
  const request = yield* LedgerShop.pay(options)
  const pending = yield* Fiber.join(yield* begin(Effect.flip(shop.facilitator.settle(request, by)), seconds))
  assert(pending._tag === "SettlementPending")
  return { ...shop, request, pending }
})

/** A settled payment whose first run, of claim `a`, has failed. */
const failedOnce = Effect.fnUntraced(function* (options: LedgerShop.PayOptions = {}) {
  const shop = yield* LedgerShop.open()
  const request = yield* LedgerShop.pay(options)
  const { paymentId } = yield* shop.facilitator.settle(request, claim("a"))
  yield* shop.facilitator.finish(paymentId, claim("a").id, "failed")
  return { ...shop, request, paymentId }
})

/** A payment whose bytes the node refuses; its authorization lives for 30 seconds, its caller waits for two. */
const refusedByNode = Effect.fnUntraced(function* () {
  const shop = yield* LedgerShop.open({ settleTimeoutMillis: 2_000 })
  shop.ledger.faults.refusal = "no gas money"
  const request = yield* LedgerShop.pay({ validFor: 30 })
  const caller = yield* Effect.forkChild(Effect.flip(shop.facilitator.settle(request, claim("a"))))
  return { ...shop, request, caller }
})

const usedByAnother = invalid("already_used", "on_chain", "a third party has sent it")
const poor = refuse("INSUFFICIENT_BALANCE", "low", "the payer holds nothing")

describe("settle", () => {
  it.effect("moves the money once and grants the run", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open()
      const settled = yield* facilitator.settle(yield* LedgerShop.pay(), claim("a"))
      assert.strictEqual(settled.execution, "granted")
      assert.strictEqual(settled.status, "included")
      assert.strictEqual(settled.payer, LedgerShop.payer)
      assert.strictEqual(settled.amount, "10000")
      assert.strictEqual(settled.network, "ledger:test")
      assert.deepStrictEqual(
        ledger.transfers.map(({ transaction }) => transaction),
        [settled.transaction]
      )
      assert.strictEqual(ledger.balanceOf(LedgerShop.payee), LedgerShop.amount)
    })
  )

  it.effect("lets another claim in at once when the records' answer to the first was lost", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* losingAnswers()
      const request = yield* LedgerShop.pay()
      assert.strictEqual(yield* failing(facilitator.settle(request, claim("a"))), "FacilitatorUnavailable")
      yield* TestClock.adjust("2 seconds")
      const settled = yield* facilitator.settle(request, claim("b"))
      assert.strictEqual(settled.execution, "granted")
      assert.strictEqual(ledger.transfers.length, 1)
    })
  )

  it.effect("200 copies at once with claims of their own: one is granted, one transfer happens", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open()
      const request = yield* LedgerShop.pay()
      const answers = yield* Effect.forEach(
        Array.from({ length: 200 }, (_, index) => index),
        (index) => facilitator.settle(request, claim(`copy${index}`)),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(countOf(answers, "granted"), 1)
      assert.strictEqual(countOf(answers, "held") + countOf(answers, "spent"), 199)
      assert.strictEqual(ledger.transfers.length, 1)
      assert.strictEqual(ledger.submissions.length, 1)
    })
  )

  it.effect("grants the same claim again, since its answer may have been lost", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open()
      const request = yield* LedgerShop.pay()
      const first = yield* facilitator.settle(request, claim("a"))
      const again = yield* facilitator.settle(request, claim("a"))
      assert.deepStrictEqual(again, first)
      assert.strictEqual(ledger.transfers.length, 1)
    })
  )

  it.effect("the same claim twice at once: both are granted, one transfer happens", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open()
      const request = yield* LedgerShop.pay()
      const twice = yield* Effect.all(
        [facilitator.settle(request, claim("a")), facilitator.settle(request, claim("a"))],
        { concurrency: "unbounded" }
      )
      assert.strictEqual(countOf(twice, "granted"), 2)
      assert.strictEqual(ledger.transfers.length, 1)
    })
  )

  it.effect("holds a second claim, spends it after serving, and knows another resource", () =>
    Effect.gen(function* () {
      const { facilitator } = yield* LedgerShop.open()
      const request = yield* LedgerShop.pay()
      const { paymentId } = yield* facilitator.settle(request, claim("a"))
      assert.strictEqual((yield* facilitator.settle(request, claim("b"))).execution, "held")
      assert.strictEqual((yield* facilitator.settle(request, claim("c", "other"))).execution, "conflict")
      yield* facilitator.finish(paymentId, claim("a").id, "served")
      assert.strictEqual((yield* facilitator.settle(request, claim("b"))).execution, "spent")
      assert.strictEqual((yield* facilitator.settle(request, claim("a"))).execution, "spent")
    })
  )

  it.effect("gives the run back when the chain cannot be asked", () =>
    Effect.gen(function* () {
      let goesAway = true
      const { facilitator, ledger } = yield* LedgerShop.open({
        // The chain goes away between verification and transfer.
        scheme: (scheme) => ({
          ...scheme,
          chainHead: Effect.suspend(() => {
            ledger.faults.down = goesAway
            return scheme.chainHead
          })
        })
      })
      const request = yield* LedgerShop.pay()
      assert.strictEqual(yield* failing(facilitator.settle(request, claim("a"))), "FacilitatorUnavailable")
      goesAway = false
      ledger.faults.down = false
      const settled = yield* facilitator.settle(request, claim("b"))
      assert.strictEqual(settled.execution, "granted")
      assert.strictEqual((yield* facilitator.payment(settled.paymentId))?.runs, 1)
    })
  )

  it.effect("gives the run back when the caller goes away", () =>
    Effect.gen(function* () {
      const { facilitator, ledger, request } = yield* abandoned(claim("a"))
      const settled = yield* facilitator.settle(request, claim("b"))
      assert.strictEqual(settled.execution, "granted")
      assert.strictEqual(ledger.transfers.length, 1)
    })
  )

  it.effect("answers a known payment after its authorization has expired, and with the chain down", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open()
      const request = yield* LedgerShop.pay()
      const first = yield* facilitator.settle(request, claim("a"))
      yield* facilitator.finish(first.paymentId, claim("a").id, "failed")
      yield* TestClock.adjust("5 minutes")
      ledger.faults.down = true
      const again = yield* facilitator.settle(request, claim("b"))
      assert.strictEqual(again.execution, "granted")
      assert.strictEqual(again.transaction, first.transaction)
    })
  )

  it.effect("answers a refused payment with its refusal again", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open()
      ledger.faults.holdBlocks = true
      const request = yield* LedgerShop.pay()
      const caller = yield* Effect.forkChild(Effect.flip(facilitator.settle(request, claim("a"))))
      yield* TestClock.adjust("10 millis")
      ledger.withdraw(LedgerShop.payer, ledger.balanceOf(LedgerShop.payer))
      yield* mine(ledger)
      assert.strictEqual(wordOf(yield* Fiber.join(caller)), "INSUFFICIENT_BALANCE")
      ledger.deposit(LedgerShop.payer, 1_000_000n)
      assert.strictEqual(yield* failing(facilitator.settle(request, claim("b"))), "INSUFFICIENT_BALANCE")
      assert.strictEqual(yield* failing(facilitator.claim(request, claim("c"))), "INSUFFICIENT_BALANCE")
      assert.strictEqual(yield* failing(facilitator.settle(request)), "INSUFFICIENT_BALANCE")
      assert.strictEqual(ledger.submissions.length, 1)
    })
  )
})

describe("a settlement that is not confirmed in time", () => {
  it.effect("is pending; the same payment joins it and is granted when the money has moved", () =>
    Effect.gen(function* () {
      const { facilitator, ledger, pending, request } = yield* pendingAfter(2, claim("a"))
      assert.strictEqual(pending.status, "sent")
      assert.strictEqual(pending.transaction, ledger.submissions[0]?.id)
      const second = yield* begin(facilitator.settle(request, claim("b")))
      yield* mine(ledger)
      const settled = yield* Fiber.join(second)
      assert.strictEqual(settled.execution, "granted")
      assert.strictEqual(settled.status, "included")
      assert.strictEqual(ledger.transfers.length, 1)
    })
  )

  it.effect("goes on without a caller, and the payer is entitled to the run", () =>
    Effect.gen(function* () {
      const { facilitator, ledger, pending, request } = yield* pendingAfter(2, claim("a"))
      yield* mine(ledger)
      const record = yield* facilitator.payment(pending.paymentId)
      assert.strictEqual(record?.status, "included")
      assert.strictEqual(record?.execution, "entitled")
      assert.strictEqual((yield* facilitator.settle(request, claim("b"))).execution, "granted")
    })
  )

  it.effect("a call that outlives its claim's lease does not run beside the claim that took over", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open({ settleTimeoutMillis: 200_000 })
      ledger.faults.holdBlocks = true
      const request = yield* LedgerShop.pay({ validFor: 80 })
      const slow = yield* Effect.forkChild(facilitator.settle(request, claim("a")))
      yield* TestClock.adjust("61 seconds")
      const taker = yield* Effect.forkChild(facilitator.settle(request, claim("b")))
      yield* TestClock.adjust("1 second")
      yield* mine(ledger)
      assert.strictEqual((yield* Fiber.join(taker)).execution, "granted")
      assert.strictEqual((yield* Fiber.join(slow)).execution, "held")
    })
  )
})

describe("a payment that was claimed and not sent", () => {
  /** The second and third check of a payment wait for their gates. */
  const withSlowChecks = Effect.fnUntraced(function* () {
    const gates = [yield* Deferred.make<void>(), yield* Deferred.make<void>()] as const
    let checks = 0
    const { facilitator, ledger } = yield* LedgerShop.open({
      settleTimeoutMillis: 200_000,
      scheme: (scheme) => ({
        ...scheme,
        verify: (payment: Payment) =>
          Effect.andThen(
            Effect.suspend(() => {
              const gate = gates[checks++ - 1]
              return gate === undefined ? Effect.void : Deferred.await(gate)
            }),
            scheme.verify(payment)
          )
      })
    })
    const request = yield* LedgerShop.pay({ validFor: 80 })
    yield* facilitator.claim(request, claim("a"))
    const both = yield* Effect.forkChild(
      Effect.all([facilitator.settle(request, claim("a")), facilitator.settle(request, claim("a"))], {
        concurrency: "unbounded"
      })
    )
    yield* TestClock.adjust("1 second")
    assert.strictEqual(checks, 3)
    return { facilitator, ledger, gates, request, both }
  })

  it.effect("a copy whose check ends after the transfer joins its result", () =>
    Effect.gen(function* () {
      const { both, facilitator, gates, ledger, request } = yield* withSlowChecks()
      yield* Deferred.succeed(gates[0], undefined)
      yield* TestClock.adjust("1 second")
      assert.strictEqual(ledger.transfers.length, 1)
      yield* Deferred.succeed(gates[1], undefined)
      const executions = (yield* Fiber.join(both)).map(({ execution }) => execution)
      assert.deepStrictEqual(executions, ["granted", "granted"])
      assert.strictEqual((yield* facilitator.settle(request, claim("b"))).execution, "held")
      assert.strictEqual(ledger.transfers.length, 1)
    })
  )

  it.effect("a copy whose check ends too late joins the transfer that is under way", () =>
    Effect.gen(function* () {
      const { both, gates, ledger } = yield* withSlowChecks()
      ledger.faults.holdBlocks = true
      yield* Deferred.succeed(gates[0], undefined)
      yield* TestClock.adjust("61 seconds")
      yield* Deferred.succeed(gates[1], undefined)
      yield* TestClock.adjust("1 second")
      yield* mine(ledger)
      const executions = (yield* Fiber.join(both)).map(({ execution }) => execution)
      assert.deepStrictEqual(executions, ["granted", "granted"])
      assert.strictEqual(ledger.transfers.length, 1)
    })
  )

  it.effect("whose bytes a node refused is pending, and served once a node took them, even after their time", () =>
    Effect.gen(function* () {
      const { caller, facilitator, ledger, request } = yield* refusedByNode()
      yield* TestClock.adjust("3 seconds")
      assert.strictEqual(wordOf(yield* Fiber.join(caller)), "SettlementPending")
      ledger.faults.refusal = undefined
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(ledger.transfers.length, 1)
      assert.strictEqual((yield* facilitator.settle(request, claim("b"))).execution, "granted")
      assert.strictEqual(ledger.transfers.length, 1)
    })
  )

  it.effect("has expired when no node took it in time", () =>
    Effect.gen(function* () {
      const { caller, facilitator, ledger, request } = yield* refusedByNode()
      yield* TestClock.adjust("1 minute")
      yield* Fiber.join(caller)
      assert.strictEqual(yield* failing(facilitator.settle(request, claim("b"))), "EXPIRED_PAYMENT")
      assert.strictEqual(ledger.transfers.length, 0)
    })
  )
})

describe("the entitlement", () => {
  it.effect("grants five runs in all, without another transfer", () =>
    Effect.gen(function* () {
      const { facilitator, ledger, paymentId, request } = yield* failedOnce()
      for (let run = 2; run <= maximumExecutions; run++) {
        assert.strictEqual((yield* facilitator.settle(request, claim(`run${run}`))).execution, "granted")
        yield* facilitator.finish(paymentId, claim(`run${run}`).id, "failed")
      }
      assert.strictEqual((yield* facilitator.settle(request, claim("run6"))).execution, "spent")
      assert.strictEqual(ledger.transfers.length, 1)
      const record = yield* facilitator.payment(paymentId)
      assert.strictEqual(record?.runs, 5)
      assert.strictEqual(record?.execution, "owed")
    })
  )

  it.effect("lasts ten minutes", () =>
    Effect.gen(function* () {
      const { facilitator, paymentId, request } = yield* failedOnce()
      yield* TestClock.adjust("599 seconds")
      assert.strictEqual((yield* facilitator.payment(paymentId))?.execution, "entitled")
      assert.strictEqual((yield* facilitator.settle(request, claim("b"))).execution, "granted")
      yield* facilitator.finish(paymentId, claim("b").id, "failed")
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* facilitator.settle(request, claim("c"))).execution, "spent")
    })
  )

  it.effect("does not count a run that never reached the handler", () =>
    Effect.gen(function* () {
      const { facilitator, paymentId, request } = yield* failedOnce()
      for (let run = 0; run < 10; run++) {
        assert.strictEqual((yield* facilitator.settle(request, claim(`not${run}`))).execution, "granted")
        yield* facilitator.finish(paymentId, claim(`not${run}`).id, "notRun")
      }
      assert.strictEqual((yield* facilitator.payment(paymentId))?.runs, 1)
    })
  )

  it.effect("follows from a holder's silence", () =>
    Effect.gen(function* () {
      const { facilitator } = yield* LedgerShop.open()
      const request = yield* LedgerShop.pay()
      yield* facilitator.settle(request, claim("a"))
      yield* TestClock.adjust("59 seconds")
      assert.strictEqual((yield* facilitator.settle(request, claim("b"))).execution, "held")
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* facilitator.settle(request, claim("b"))).execution, "granted")
    })
  )

  it.effect("gives an unbound payment its first run, when it was told to come back", () =>
    Effect.gen(function* () {
      const { facilitator, ledger, request } = yield* pendingAfter(1, claim("a"), { bound: false })
      yield* mine(ledger)
      const { execution, paymentId } = yield* facilitator.settle(request, claim("b"))
      assert.strictEqual(execution, "granted")
      yield* facilitator.finish(paymentId, claim("b").id, "failed")
      assert.strictEqual((yield* facilitator.settle(request, claim("c"))).execution, "spent")
    })
  )

  it.effect("asks for a binding: an unbound payment is not run again, and its record shows what is owed", () =>
    Effect.gen(function* () {
      const { facilitator, paymentId, request } = yield* failedOnce({ bound: false })
      assert.strictEqual((yield* facilitator.settle(request, claim("b"))).execution, "spent")
      assert.strictEqual((yield* facilitator.payment(paymentId))?.execution, "owed")
    })
  )
})

describe("a payment that is known", () => {
  const cases = [
    ["a bound payment without its binding", {}, { binding: undefined }, "already_used"],
    ["an unbound payment with another signature", { bound: false }, { signature: "another" }, "already_used"],
    ["an unbound payment with other terms of the same nonce", { bound: false }, { amount: "9999" }, "already_used"],
    ["a bound payment to another payee", {}, { payTo: "acct-mallory" }, "already_used"],
    ["a bound payment of another amount", {}, { amount: "1" }, "already_used"]
  ] as const

  for (const [name, options, change, word] of cases) {
    it.effect(`is not taken over by ${name}`, () =>
      Effect.gen(function* () {
        const { facilitator, ledger, request } = yield* failedOnce(options)
        const forged = yield* LedgerShop.altered(request, change)
        assert.strictEqual(yield* failing(facilitator.settle(forged, claim("thief"))), word)
        assert.strictEqual(ledger.transfers.length, 1)
      })
    )
  }

  it.effect("is another payment under another payer's name, and refused for its signature", () =>
    Effect.gen(function* () {
      const { facilitator, ledger, request } = yield* failedOnce()
      ledger.deposit("acct-mallory", 1_000_000n)
      const forged = yield* LedgerShop.altered(request, { payer: "acct-mallory" })
      assert.strictEqual(yield* failing(facilitator.settle(forged, claim("thief"))), "INVALID_SIGNATURE")
    })
  )

  it.effect("does not answer for another authorization of the same name: a hash that was cut can be met", () =>
    Effect.gen(function* () {
      let shared: string | undefined
      const { facilitator, ledger } = yield* LedgerShop.open({
        store: (store) => ({ ...store, find: (paymentId) => store.find(shared ?? paymentId) })
      })
      ledger.deposit("acct-mallory", 1_000_000n)
      const request = yield* LedgerShop.pay()
      const { paymentId } = yield* facilitator.settle(request, claim("a"))
      yield* facilitator.finish(paymentId, claim("a").id, "failed")
      shared = paymentId
      const twin = yield* LedgerShop.altered(request, { payer: "acct-mallory" })
      assert.strictEqual(yield* failing(facilitator.settle(twin, claim("b"))), "already_used")
      assert.strictEqual((yield* facilitator.settle(request, claim("a again"))).execution, "granted")
    })
  )

  it.effect("cannot be claimed away before it is sent by a payload that only looks like it", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open()
      const request = yield* LedgerShop.pay({ bound: false })
      const forged = yield* LedgerShop.altered(request, { signature: "another" })
      assert.strictEqual(yield* failing(facilitator.claim(forged, claim("thief"))), "INVALID_SIGNATURE")
      assert.strictEqual((yield* facilitator.settle(request, claim("a"))).execution, "granted")
      assert.strictEqual(ledger.transfers.length, 1)
    })
  )
})

describe("a caller without a claim", () => {
  it.effect("gets the result once; a repeat is told the transaction", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open()
      const request = yield* LedgerShop.pay()
      const settled = yield* facilitator.settle(request)
      assert.strictEqual(settled.execution, undefined)
      assert.strictEqual(settled.status, "included")
      const repeated = yield* Effect.flip(facilitator.settle(request))
      assert.strictEqual(wordOf(repeated), "already_used")
      assert.strictEqual(repeated._tag === "ValidationError" && repeated.detail, settled.transaction)
      assert.strictEqual(ledger.transfers.length, 1)
    })
  )

  it.effect("50 copies at once: one gets the result", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open()
      const request = yield* LedgerShop.pay()
      const answers = yield* Effect.forEach(
        Array.from({ length: 50 }),
        () => Effect.match(facilitator.settle(request), { onFailure: wordOf, onSuccess: () => "settled" }),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(answers.filter((one) => one === "settled").length, 1)
      assert.strictEqual(answers.filter((one) => one === "already_used").length, 49)
      assert.strictEqual(ledger.transfers.length, 1)
    })
  )

  it.effect("a caller with a pending outcome gets the result once", () =>
    Effect.gen(function* () {
      const { facilitator, ledger, request } = yield* pendingAfter(1)
      yield* mine(ledger)
      assert.strictEqual((yield* facilitator.settle(request)).status, "included")
      assert.strictEqual(yield* failing(facilitator.settle(request)), "already_used")
    })
  )

  it.effect("a caller with a pending outcome may verify again, until it has the result", () =>
    Effect.gen(function* () {
      const { facilitator, ledger, request } = yield* pendingAfter(2)
      yield* mine(ledger)
      const { payer } = yield* facilitator.verify(request)
      assert.strictEqual((yield* facilitator.settle(request)).payer, payer)
      const again = yield* Effect.flip(facilitator.verify(request))
      assert.strictEqual(again._tag === "ValidationError" && again.reason, "already_used")
      assert.strictEqual(ledger.transfers.length, 1)
    })
  )

  it.effect("a caller that was told of an unavailable chain may come again until the money has moved", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open()
      ledger.market.ceiling = 1n
      const request = yield* LedgerShop.pay()
      assert.strictEqual(yield* failing(facilitator.settle(request)), "FacilitatorUnavailable")
      ledger.faults.down = true
      assert.strictEqual(yield* failing(facilitator.settle(request)), "ChainUnavailable")
      ledger.faults.down = false
      ledger.market.ceiling = 1_000n
      assert.strictEqual((yield* facilitator.settle(request)).status, "included")
      assert.strictEqual(yield* failing(facilitator.settle(request)), "already_used")
      assert.strictEqual(ledger.transfers.length, 1)
    })
  )

  it.effect("a caller that went away gets the result when it comes back", () =>
    Effect.gen(function* () {
      const { facilitator, request } = yield* abandoned()
      assert.strictEqual((yield* facilitator.settle(request)).status, "included")
    })
  )

  it.effect("whose payment was taken in, and the records' answer was lost, gets the result when it comes back", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* losingAnswers()
      const request = yield* LedgerShop.pay()
      assert.strictEqual(yield* failing(facilitator.settle(request)), "FacilitatorUnavailable")
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual((yield* facilitator.settle(request)).status, "included")
      assert.strictEqual(yield* failing(facilitator.settle(request)), "already_used")
      assert.strictEqual(ledger.transfers.length, 1)
    })
  )

  it.effect("a caller that waits for an owed answer when the process ends gets it from the next one", () =>
    Effect.gen(function* () {
      const { scheme, ledger, request, restart, store } = yield* pendingAfter(1)
      let dead = false
      const records = mortal(store, () => dead)
      const dying = yield* LedgerShop.facilitatorOf([scheme], records, { leases: LedgerShop.idle })
      yield* Effect.forkDetach(dying.settle(request))
      yield* TestClock.adjust("500 millis")
      dead = true
      const next = yield* restart
      ledger.faults.holdBlocks = false
      yield* TestClock.adjust("5 seconds")
      assert.isTrue(isSettled((yield* next.settle(request)).status))
      assert.strictEqual(yield* failing(next.settle(request)), "already_used")
    })
  )

  const ends: ReadonlyArray<readonly [place: string, cut: Strike, lives: boolean]> = [
    ["after the claim", (name) => (name === "claimed" ? Effect.never : Effect.void), true],
    ["before the answer", () => Effect.void, false]
  ]
  for (const [place, cut, answers] of ends) {
    it.effect(`whose first call ended with its process, ${place}, gets the result from the next one, once`, () =>
      Effect.gen(function* () {
        const { scheme, ledger, restart, store } = yield* LedgerShop.open()
        const dying = yield* LedgerShop.facilitatorOf(
          [scheme],
          mortal(store, () => !answers),
          { leases: LedgerShop.idle }
        )
        const request = yield* LedgerShop.pay()
        yield* Effect.forkDetach(Effect.provideService(dying.settle(request), Checkpoint, cut))
        yield* TestClock.adjust("5 seconds")
        const next = yield* restart
        yield* TestClock.adjust("5 seconds")
        yield* next.verify(request)
        assert.isTrue(isSettled((yield* next.settle(request)).status))
        assert.strictEqual(yield* failing(next.settle(request)), "already_used")
        assert.strictEqual(ledger.transfers.length, 1)
      })
    )
  }

  it.effect(
    "whose answer was taken when the records stopped responding gets it, and no other caller's is given back",
    () =>
      Effect.gen(function* () {
        let lost = 0
        const { facilitator, ledger } = yield* LedgerShop.open({
          store: (store) => ({
            ...store,
            takeAnswer: (paymentId, call) =>
              Effect.tap(store.takeAnswer(paymentId, call), () =>
                lost++ < 3 ? new FacilitatorUnavailable({ message: "the connection broke" }) : Effect.void
              ),
            returnAnswer: () => new FacilitatorUnavailable({ message: "the connection broke" })
          })
        })
        const request = yield* LedgerShop.pay()
        for (let asked = 0; asked < 3; asked++) {
          assert.strictEqual(yield* failing(facilitator.settle(request)), "FacilitatorUnavailable")
        }
        assert.isTrue(isSettled((yield* facilitator.settle(request)).status))
        assert.strictEqual(yield* failing(facilitator.settle(request)), "already_used")
        assert.strictEqual(ledger.transfers.length, 1)
      })
  )

  it.effect("two who wait for an answer that is owed: one gets it", () =>
    Effect.gen(function* () {
      const { facilitator, ledger, request } = yield* pendingAfter(5)
      const word = Effect.match(facilitator.settle(request), { onFailure: wordOf, onSuccess: () => "settled" })
      const both = [yield* Effect.forkChild(word), yield* Effect.forkChild(word)]
      yield* TestClock.adjust("1 second")
      ledger.faults.holdBlocks = false
      yield* TestClock.adjust("2 seconds")
      const words = yield* Effect.forEach(both, (one) => Fiber.join(one))
      assert.deepStrictEqual(words.toSorted(), ["already_used", "settled"])
    })
  )

  it.effect("cannot use a payment that a server has claimed, nor the other way round", () =>
    Effect.gen(function* () {
      const { facilitator } = yield* LedgerShop.open()
      const claimed = yield* LedgerShop.pay()
      yield* facilitator.settle(claimed, claim("a"))
      assert.strictEqual(yield* failing(facilitator.settle(claimed)), "already_used")
      const unclaimed = yield* LedgerShop.pay()
      yield* facilitator.settle(unclaimed)
      assert.strictEqual((yield* facilitator.settle(unclaimed, claim("a"))).execution, "conflict")
    })
  )
})

describe("claim", () => {
  it.effect("moves no money; the settlement follows and grants the same claim", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open()
      const request = yield* LedgerShop.pay()
      const claimed = yield* facilitator.claim(request, claim("a"))
      assert.strictEqual(claimed.execution, "granted")
      assert.strictEqual(claimed.status, "accepted")
      assert.strictEqual(claimed.transaction, "")
      assert.strictEqual(ledger.submissions.length, 0)
      assert.strictEqual((yield* facilitator.settle(request, claim("b"))).execution, "held")
      assert.strictEqual((yield* facilitator.settle(request, claim("a"))).status, "included")
    })
  )

  it.effect("examines the payment before anything is sent, again when it settles later", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open()
      const expiring = yield* LedgerShop.pay({ validFor: 30 })
      yield* facilitator.claim(expiring, claim("a"))
      yield* TestClock.adjust("25 seconds")
      assert.strictEqual(yield* failing(facilitator.settle(expiring, claim("a"))), "ChainUnavailable")
      yield* TestClock.adjust("20 seconds")
      assert.strictEqual(yield* failing(facilitator.settle(expiring, claim("a"))), "EXPIRED_PAYMENT")
      const spentElsewhere = yield* LedgerShop.pay()
      yield* facilitator.claim(spentElsewhere, claim("b"))
      ledger.withdraw(LedgerShop.payer, ledger.balanceOf(LedgerShop.payer))
      assert.strictEqual(yield* failing(facilitator.settle(spentElsewhere, claim("b"))), "INSUFFICIENT_BALANCE")
      assert.strictEqual(ledger.submissions.length, 0)
    })
  )

  it.effect("examines a payment again whose run was given back", () =>
    Effect.gen(function* () {
      const { facilitator } = yield* LedgerShop.open()
      const request = yield* LedgerShop.pay({ validFor: 30 })
      const { paymentId } = yield* facilitator.claim(request, claim("a"))
      yield* facilitator.finish(paymentId, claim("a").id, "failed")
      assert.strictEqual((yield* facilitator.claim(request, claim("b"))).execution, "granted")
      yield* facilitator.finish(paymentId, claim("b").id, "failed")
      yield* TestClock.adjust("25 seconds")
      assert.strictEqual(yield* failing(facilitator.claim(request, claim("c"))), "ChainUnavailable")
      yield* TestClock.adjust("20 seconds")
      assert.strictEqual(yield* failing(facilitator.claim(request, claim("d"))), "EXPIRED_PAYMENT")
      assert.strictEqual((yield* facilitator.payment(paymentId))?.execution, "free")
    })
  )

  it.effect("renews the lease of its holder, also when the authorization's time is over", () =>
    Effect.gen(function* () {
      const { facilitator } = yield* LedgerShop.open()
      const request = yield* LedgerShop.pay({ validFor: 30 })
      yield* facilitator.claim(request, claim("a"))
      yield* TestClock.adjust("50 seconds")
      assert.strictEqual((yield* facilitator.claim(request, claim("a"))).execution, "granted")
      yield* TestClock.adjust("50 seconds")
      assert.strictEqual((yield* facilitator.claim(request, claim("b"))).execution, "held")
    })
  )

  it.effect("holds the execution for its caller until a first renewal, however long the settlement took", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open({ settleTimeoutMillis: 58_000 })
      ledger.faults.holdBlocks = true
      const request = yield* LedgerShop.pay()
      const settling = yield* Effect.forkChild(facilitator.settle(request, claim("a")))
      yield* TestClock.adjust("50 seconds")
      ledger.faults.holdBlocks = false
      yield* TestClock.adjust("3 seconds")
      assert.strictEqual((yield* Fiber.join(settling)).execution, "granted")
      yield* TestClock.adjust("20 seconds")
      assert.strictEqual((yield* facilitator.claim(request, claim("b"))).execution, "held")
      assert.strictEqual((yield* facilitator.claim(request, claim("a"))).execution, "granted")
    })
  )

  it.effect("frees an authorization whose handler failed without a transfer, for its resource alone", () =>
    Effect.gen(function* () {
      const { facilitator } = yield* LedgerShop.open()
      const request = yield* LedgerShop.pay({ bound: false })
      const { paymentId } = yield* facilitator.claim(request, claim("a"))
      yield* facilitator.finish(paymentId, claim("a").id, "failed")
      assert.strictEqual((yield* facilitator.claim(request, claim("b", "other"))).execution, "conflict")
      assert.strictEqual((yield* facilitator.claim(request, claim("b"))).execution, "granted")
    })
  )

  it.effect("reserves the balance, across two payments of one payer", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open({ balance: 15_000n })
      const first = yield* LedgerShop.pay()
      const second = yield* LedgerShop.pay()
      const { paymentId } = yield* facilitator.claim(first, claim("a"))
      const refused = yield* Effect.forkChild(Effect.flip(facilitator.claim(second, claim("b"))))
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(wordOf(yield* Fiber.join(refused)), "FacilitatorUnavailable")
      yield* facilitator.finish(paymentId, claim("a").id, "failed")
      assert.strictEqual((yield* facilitator.claim(second, claim("b"))).execution, "granted")
      assert.strictEqual(ledger.submissions.length, 0)
    })
  )

  for (const [name, left, word] of [
    ["is told that it is used", Effect.fail(usedByAnother), "already_used"],
    ["is told its balance if the chain still refuses it for that", Effect.fail(poor), "INSUFFICIENT_BALANCE"],
    ["is told to come again if the chain would take it", Effect.void, "FacilitatorUnavailable"]
  ] as const) {
    it.effect(`a payment whose money is gone while it waits for its balance ${name}`, () =>
      Effect.gen(function* () {
        let isGone = false
        const { facilitator } = yield* LedgerShop.open({
          scheme: (scheme) => ({
            ...scheme,
            verify: (payment) => (isGone ? left : scheme.verify(payment)),
            balance: () => Effect.sync(() => (isGone ? 0n : LedgerShop.amount))
          })
        })
        yield* facilitator.claim(yield* LedgerShop.pay(), claim("a"))
        const waiting = yield* Effect.forkChild(failing(facilitator.settle(yield* LedgerShop.pay({ bound: false }))))
        yield* TestClock.adjust("2 seconds")
        isGone = true
        yield* TestClock.adjust("1 second")
        assert.strictEqual(yield* Fiber.join(waiting), word)
      })
    )
  }

  it.effect("reserves the balance anew for a payment that was given back: ten of them run no more than it covers", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open({ balance: LedgerShop.amount })
      const requests = yield* Effect.forEach(Array.from({ length: 10 }), () => LedgerShop.pay())
      for (const request of requests) {
        const { paymentId } = yield* facilitator.claim(request, claim("first"))
        yield* facilitator.finish(paymentId, claim("first").id, "notRun")
      }
      const again = yield* Effect.forEach(requests, (request) =>
        Effect.forkChild(Effect.result(facilitator.claim(request, claim("again"))))
      )
      yield* TestClock.adjust("10 seconds")
      const ends = yield* Effect.forEach(again, (one) => Fiber.join(one))
      const words = ends.map((end) => (Result.isSuccess(end) ? end.success.execution : wordOf(end.failure)))
      assert.strictEqual(words.filter((word) => word === "granted").length, 1)
      assert.strictEqual(words.filter((word) => word === "FacilitatorUnavailable").length, 9)
      assert.strictEqual(ledger.transfers.length, 0)
    })
  )

  it.effect("a caller without a claim who comes again does not count on what others have reserved meanwhile", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open({ balance: LedgerShop.amount })
      ledger.market.ceiling = 1n
      const request = yield* LedgerShop.pay()
      assert.strictEqual(yield* failing(facilitator.settle(request)), "FacilitatorUnavailable")
      ledger.market.ceiling = 1_000n
      const other = yield* LedgerShop.pay()
      yield* facilitator.claim(other, claim("other"))
      const late = yield* Effect.forkChild(failing(facilitator.settle(request)))
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(yield* Fiber.join(late), "FacilitatorUnavailable")
      assert.isTrue(isSettled((yield* facilitator.settle(other, claim("other"))).status))
      assert.strictEqual(ledger.transfers.length, 1)
    })
  )

  it.effect("lets in what the balance covers beside other payments, and waits for those that settle", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open({ balance: 25_000n })
      const requests = yield* Effect.all([LedgerShop.pay(), LedgerShop.pay(), LedgerShop.pay()])
      yield* facilitator.claim(requests[0], claim("a"))
      assert.strictEqual((yield* facilitator.claim(requests[1], claim("b"))).execution, "granted")
      const third = yield* Effect.forkChild(Effect.flip(facilitator.claim(requests[2], claim("c"))))
      yield* TestClock.adjust("1 second")
      yield* facilitator.settle(requests[0], claim("a"))
      yield* facilitator.settle(requests[1], claim("b"))
      yield* TestClock.adjust("1 second")
      assert.strictEqual(wordOf(yield* Fiber.join(third)), "INSUFFICIENT_BALANCE")
      assert.strictEqual(ledger.transfers.length, 2)
    })
  )
})

/**
 * A balance that covers one payment, and a payment that is about to take it. The chain's next response to the balance
 * query is computed before that payment is included, and arrives after that, when it reserves nothing any more.
 */
const landingMeanwhile = Effect.fnUntraced(function* (question: "balance" | "verify") {
  const arrived = yield* Deferred.make<void>()
  const asked = yield* Deferred.make<void>()
  let isHeld = false
  const late = <A, E>(answer: Effect.Effect<A, E>): Effect.Effect<A, E> =>
    Effect.suspend(() => {
      if (!isHeld) return answer
      isHeld = false
      return Effect.tap(answer, () => Effect.andThen(Deferred.succeed(asked, undefined), Deferred.await(arrived)))
    })
  const shop = yield* LedgerShop.open({
    balance: LedgerShop.amount,
    scheme: (scheme) => ({
      ...scheme,
      verify: (payment) => (question === "verify" ? late(scheme.verify(payment)) : scheme.verify(payment)),
      balance: (payment) => (question === "balance" ? late(scheme.balance(payment)) : scheme.balance(payment))
    })
  })
  const first = yield* LedgerShop.pay()
  return {
    ...shop,
    /**
     * Runs the effect: its balance query is answered before the other payment is included, and the response arrives
     * after that.
     */
    during: Effect.fnUntraced(function* <A, E>(effect: Effect.Effect<A, E>) {
      shop.ledger.faults.holdBlocks = true
      const settling = yield* Effect.forkChild(shop.facilitator.settle(first, claim("first")))
      yield* TestClock.adjust("1 second")
      isHeld = true
      const running = yield* Effect.forkChild(effect)
      yield* Deferred.await(asked)
      shop.ledger.faults.holdBlocks = false
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* Fiber.join(settling)).status, "included")
      yield* Deferred.succeed(arrived, undefined)
      yield* TestClock.adjust("10 seconds")
      return yield* Fiber.join(running)
    })
  }
})

describe("a balance that was asked for before another payment was included", () => {
  it.effect.each(["verify", "balance"] as const)("covers no second one: %s", (question) =>
    Effect.gen(function* () {
      const { during, facilitator, ledger } = yield* landingMeanwhile(question)
      const second = yield* LedgerShop.pay()
      const refused = yield* during(Effect.flip(facilitator.claim(second, claim("second"))))
      assert.strictEqual(wordOf(refused), "INSUFFICIENT_BALANCE")
      assert.strictEqual(ledger.transfers.length, 1)
    })
  )

  it.effect("covers no second one that is on record and comes again", () =>
    Effect.gen(function* () {
      const { during, facilitator, ledger } = yield* landingMeanwhile("verify")
      const second = yield* LedgerShop.pay()
      ledger.market.ceiling = 1n
      assert.strictEqual(yield* failing(facilitator.settle(second)), "FacilitatorUnavailable")
      ledger.market.ceiling = 1_000n
      assert.strictEqual(yield* during(failing(facilitator.settle(second))), "FacilitatorUnavailable")
      assert.strictEqual(ledger.submissions.length, 1)
    })
  )
})

const onlyKnown = (name: string) => ({ ...claim(name), onlyKnown: true as const })

describe("the order of the checks", () => {
  it.effect("a known record comes before expiry, the offer and the chain", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open()
      const request = yield* LedgerShop.pay()
      const { paymentId } = yield* facilitator.settle(request, claim("a"))
      yield* facilitator.finish(paymentId, claim("a").id, "served")
      yield* TestClock.adjust("1 hour")
      ledger.faults.down = true
      const cheaper = { ...request.paymentRequirements, maxAmountRequired: "9999" }
      const late = { ...request, paymentRequirements: cheaper }
      assert.strictEqual((yield* facilitator.settle(late, claim("b"))).execution, "spent")
    })
  )

  it.effect("a claim on known payments alone is granted a record that covers the price, and takes nothing new", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open()
      const request = yield* LedgerShop.pay()
      const at = (maxAmountRequired: string): PaymentRequest => ({
        ...request,
        paymentRequirements: { ...request.paymentRequirements, maxAmountRequired }
      })
      const stranger = yield* Effect.flip(facilitator.settle(request, onlyKnown("first")))
      assert.propertyVal(stranger, "reason", "binding_mismatch")
      assert.strictEqual(ledger.transfers.length, 0)
      const { paymentId } = yield* facilitator.settle(request, LedgerShop.claim("second"))
      yield* facilitator.finish(paymentId, LedgerShop.claim("second").id, "failed")
      assert.strictEqual(yield* failing(facilitator.settle(at("10001"), onlyKnown("third"))), "already_used")
      const again = yield* facilitator.settle(at("9999"), onlyKnown("third"))
      assert.strictEqual(again.execution, "granted")
      assert.strictEqual(again.amount, `${LedgerShop.amount}`)
      assert.strictEqual(ledger.transfers.length, 1)
    })
  )

  it.effect("the offer and the clock come before the chain", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open()
      ledger.faults.down = true
      const expired = yield* LedgerShop.pay({ validFor: 5 })
      assert.strictEqual(yield* failing(facilitator.settle(expired, claim("a"))), "EXPIRED_PAYMENT")
      const cheap = yield* LedgerShop.altered(yield* LedgerShop.pay(), { amount: "1" })
      assert.strictEqual(yield* failing(facilitator.settle(cheap, claim("b"))), "amount_mismatch")
      const good = yield* LedgerShop.pay()
      assert.strictEqual(yield* failing(facilitator.settle(good, claim("c"))), "ChainUnavailable")
    })
  )

  it.effect("a payment that is refused leaves no record", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open()
      const request = yield* LedgerShop.pay()
      ledger.faults.down = true
      yield* Effect.flip(facilitator.settle(request, claim("a")))
      ledger.faults.down = false
      const forged = yield* LedgerShop.altered(request, { signature: "forged" })
      yield* Effect.flip(facilitator.settle(forged, claim("a")))
      assert.strictEqual((yield* facilitator.settle(request, claim("b", "other"))).execution, "granted")
    })
  )
})

describe("a payment that is not settled here", () => {
  const settling = Effect.fnUntraced(function* (change: {
    readonly scheme?: string
    readonly network?: string
    readonly payload?: string
    readonly offer?: Partial<typeof LedgerShop.requirements>
  }) {
    const { facilitator } = yield* LedgerShop.open()
    const request = yield* LedgerShop.pay()
    const { offer, ...envelope } = change
    return yield* failing(
      facilitator.settle(
        {
          paymentPayload: { ...request.paymentPayload, ...envelope },
          paymentRequirements: { ...request.paymentRequirements, ...offer }
        },
        claim("a")
      )
    )
  })
  const elsewhere = Network.make("ledger:other")

  const cases = [
    ["an unknown scheme", { scheme: "upto", offer: { scheme: "upto" } }, "unsupported_scheme"],
    ["a payment of another scheme than the offer's", { scheme: "upto" }, "unsupported_scheme"],
    ["an offer on another network", { offer: { network: elsewhere } }, "NETWORK_MISMATCH"],
    ["a payment for another network", { network: "ledger:other" }, "NETWORK_MISMATCH"],
    ["a payload that is no base64", { payload: "%%%" }, "malformed"],
    ["a payload that is no order", { payload: sealPayload("exact", "ledger:test", []).payload }, "malformed"]
  ] as const
  for (const [name, change, word] of cases) {
    it.effect(`${name} is ${word}`, () => Effect.map(settling(change), (got) => assert.strictEqual(got, word)))
  }

  it.effect("an alias of the network is the network", () =>
    Effect.gen(function* () {
      const { facilitator } = yield* LedgerShop.open()
      const request = yield* LedgerShop.pay()
      const aliased = {
        paymentPayload: { ...request.paymentPayload, network: "ledger:1" },
        paymentRequirements: { ...request.paymentRequirements, network: Network.make("ledger:1") }
      }
      const settled = yield* facilitator.settle(aliased, claim("a"))
      assert.strictEqual(settled.network, "ledger:test")
      assert.strictEqual((yield* facilitator.settle(request, claim("b"))).execution, "held")
    })
  )
})

describe("verify", () => {
  it.effect("says who pays and changes nothing", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open()
      const request = yield* LedgerShop.pay()
      assert.deepStrictEqual(yield* facilitator.verify(request), { payer: LedgerShop.payer })
      assert.deepStrictEqual(yield* facilitator.verify(request), { payer: LedgerShop.payer })
      assert.strictEqual(ledger.submissions.length, 0)
      assert.strictEqual((yield* facilitator.settle(request)).status, "included")
      assert.strictEqual(wordOf(yield* Effect.flip(facilitator.verify(request))), "already_used")
    })
  )

  it.effect("cannot tell while the chain is down", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open()
      const request = yield* LedgerShop.pay()
      ledger.faults.down = true
      assert.strictEqual(wordOf(yield* Effect.flip(facilitator.verify(request))), "ChainUnavailable")
    })
  )
})

describe("finish, payment, supported", () => {
  it.effect("an unknown payment cannot be finished and is not found", () =>
    Effect.gen(function* () {
      const { facilitator } = yield* LedgerShop.open()
      const nobody = "pay_0123456789abcdefghijkl"
      const error = yield* Effect.flip(facilitator.finish(nobody, claim("a").id, "served"))
      assert.strictEqual(error._tag === "ValidationError" && error.detail, "unknown_payment")
      assert.strictEqual(yield* facilitator.payment(nobody), undefined)
    })
  )

  it.effect("a finish by another claim changes nothing", () =>
    Effect.gen(function* () {
      const { facilitator } = yield* LedgerShop.open()
      const request = yield* LedgerShop.pay()
      const { paymentId } = yield* facilitator.settle(request, claim("a"))
      assert.strictEqual((yield* facilitator.finish(paymentId, claim("b").id, "served")).execution, "running")
      assert.strictEqual((yield* facilitator.finish(paymentId, claim("a").id, "served")).execution, "served")
      assert.strictEqual((yield* facilitator.finish(paymentId, claim("a").id, "failed")).execution, "served")
    })
  )

  it.effect("the record tells the whole history", () =>
    Effect.gen(function* () {
      const { facilitator } = yield* LedgerShop.open()
      const { paymentId, transaction } = yield* facilitator.settle(yield* LedgerShop.pay(), claim("a"))
      const record = yield* facilitator.payment(paymentId)
      assert.deepStrictEqual(
        record?.history.map(({ status }) => status),
        ["accepted", "planned", "sent", "included"]
      )
      assert.strictEqual(record?.transaction, transaction)
      assert.strictEqual(record?.asset, TestScheme.asset.address)
      assert.strictEqual(record?.payTo, LedgerShop.payee)
    })
  )

  it.effect("lists each network's signers, of all its schemes", () =>
    Effect.gen(function* () {
      const { scheme, ledger, store } = yield* LedgerShop.open()
      const upto = {
        ...TestScheme.facilitator(ledger, { lanes: ["signer-2"] }),
        scheme: { ...scheme.scheme, name: "upto" }
      }
      const facilitator = yield* LedgerShop.facilitatorOf([scheme, upto], store)
      assert.deepStrictEqual(yield* facilitator.supported, {
        kinds: [
          { protocolVersion: 2, scheme: "exact", network: "ledger:test" },
          { protocolVersion: 2, scheme: "upto", network: "ledger:test" }
        ],
        signers: { "ledger:test": ["signer-1", "signer-2"] }
      })
    })
  )

  it.effect("tells what a scheme demands of offers", () =>
    Effect.gen(function* () {
      const { scheme, store } = yield* LedgerShop.open()
      const extra = { relayer: "signer-1" }
      const facilitator = yield* LedgerShop.facilitatorOf([{ ...scheme, extra }], store)
      assert.deepStrictEqual((yield* facilitator.supported).kinds, [
        { protocolVersion: 2, scheme: "exact", network: "ledger:test", extra }
      ])
    })
  )

  it.effect("refuses two schemes that send from one signer", () =>
    Effect.gen(function* () {
      const { scheme, store } = yield* LedgerShop.open()
      const upto = { ...scheme, scheme: { ...scheme.scheme, name: "upto" } }
      const error = yield* Effect.flip(LedgerShop.facilitatorOf([scheme, upto], store))
      assert.strictEqual(error._tag, "Misconfigured")
      assert.include(error.message, "signer-1")
    })
  )
})
