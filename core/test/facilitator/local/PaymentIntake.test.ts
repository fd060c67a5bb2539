import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"

import type { PaymentRequest } from "../../../src/facilitator/Facilitator.ts"
import * as SettlementEngine from "../../../src/facilitator/lane/SettlementEngine.ts"
import * as ChainClock from "../../../src/facilitator/local/ChainClock.ts"
import * as IntakeGate from "../../../src/facilitator/local/IntakeGate.ts"
import * as PaymentIntake from "../../../src/facilitator/local/PaymentIntake.ts"
import { LaneLeases } from "../../../src/facilitator/store/LaneLeases.ts"
import * as MemoryPaymentStore from "../../../src/facilitator/store/MemoryPaymentStore.ts"
import type { PaymentStore, StoredPayment } from "../../../src/facilitator/store/PaymentStore.ts"
import * as BoundedMap from "../../../src/platform/BoundedMap.ts"
import * as Network from "../../../src/protocol/Network.ts"
import type { PaymentFailure } from "../../../src/protocol/PaymentFailure.ts"
import { FacilitatorUnavailable } from "../../../src/protocol/ProtocolError.ts"
import { invalid } from "../../../src/protocol/ValidationError.ts"
import * as FacilitatorSchemeRegistry from "../../../src/scheme/FacilitatorSchemeRegistry.ts"
import type { SchemeFacilitator } from "../../../src/scheme/SchemeFacilitator.ts"
import * as TestLedger from "../../../src/testing/ledger/TestLedger.ts"
import * as TestScheme from "../../../src/testing/ledger/TestScheme.ts"
import * as LedgerShop from "../LedgerShop.ts"

interface Options {
  readonly balance?: bigint
  readonly store?: (store: PaymentStore["Service"]) => PaymentStore["Service"]
  readonly scheme?: (scheme: SchemeFacilitator) => SchemeFacilitator
}

/** An intake over a ledger and records in memory, whose lanes another instance works. */
const opened = Effect.fnUntraced(function* (options: Options = {}) {
  yield* TestClock.setTime(LedgerShop.start)
  const ledger = TestLedger.make()
  ledger.deposit(LedgerShop.payer, options.balance ?? 10n ** 9n)
  const memory = yield* MemoryPaymentStore.make
  const store = options.store?.(memory) ?? memory
  const honest = TestScheme.facilitator(ledger, {})
  const schemes = [options.scheme?.(honest) ?? honest]
  const registered = FacilitatorSchemeRegistry.layer(schemes.map((scheme) => Effect.succeed(scheme)))
  const registry = yield* Effect.provide(FacilitatorSchemeRegistry.FacilitatorSchemeRegistry, registered)
  const leases = yield* Effect.provide(LaneLeases, LedgerShop.idle)
  const context: PaymentIntake.IntakeContext = {
    store,
    registry,
    engine: yield* SettlementEngine.make({ store, leases, schemes, limits: {}, drainMillis: 0 }),
    clocks: ChainClock.make(),
    intake: IntakeGate.make(),
    patience: Duration.seconds(25),
    arriving: new Map(),
    undelivered: BoundedMap.oldestOut(PaymentIntake.ungivenAtMost)
  }
  const take = Effect.fnUntraced(function* (request: PaymentRequest, name?: string, isWanted = true) {
    const presented = yield* PaymentIntake.present(context, request)
    const claim = name === undefined ? undefined : LedgerShop.claim(name)
    return yield* PaymentIntake.take(context, presented, claim, isWanted)
  })
  return { context, ledger, memory, take }
})

/** The detail of a failure, or its tag. */
const wordOf = <A, E extends PaymentFailure>(effect: Effect.Effect<A, E>) =>
  Effect.match(effect, {
    onFailure: (error) => ("detail" in error ? error.detail : error._tag),
    onSuccess: () => "taken"
  })

/** A scheme whose verification waits until `go`, and tells when it has begun; with the number of its verifications. */
const slow = Effect.gen(function* () {
  const begun = yield* Deferred.make<void>()
  const go = yield* Deferred.make<void>()
  const count = { verified: 0 }
  const scheme = (honest: SchemeFacilitator): SchemeFacilitator => ({
    ...honest,
    verify: (payment) =>
      Effect.gen(function* () {
        count.verified++
        yield* Deferred.succeed(begun, undefined)
        yield* Deferred.await(go)
        yield* honest.verify(payment)
      })
  })
  return { begun, go, count, scheme }
})

describe("a new payment at the intake", () => {
  it.effect("is verified, put on record with its lane and granted to its claim; the same claim again renews", () =>
    Effect.gen(function* () {
      const { memory, take } = yield* opened()
      const request = yield* LedgerShop.pay()
      const first = yield* take(request, "one")
      assert.deepStrictEqual([first.execution, first.fresh, first.renewed], ["granted", true, false])
      assert.strictEqual((yield* memory.find(first.stored.paymentId))?.lane, first.stored.lane)
      assert.isDefined(first.stored.lane)
      const again = yield* take(request, "one")
      assert.deepStrictEqual([again.execution, again.fresh, again.renewed], ["granted", false, true])
      assert.strictEqual((yield* take(request, "two")).execution, "held")
    })
  )

  it.effect("waits in no lane unless its settlement is wanted", () =>
    Effect.gen(function* () {
      const { take } = yield* opened()
      const { execution, stored } = yield* take(yield* LedgerShop.pay(), "one", false)
      assert.deepStrictEqual([execution, stored.lane, stored.status], ["granted", undefined, "accepted"])
    })
  )

  it.effect("is verified once for all its copies: other claims are held at once, its own waits for the record", () =>
    Effect.gen(function* () {
      const { begun, count, go, scheme } = yield* slow
      const { context, memory, take } = yield* opened({ scheme })
      const request = yield* LedgerShop.pay()
      const first = yield* Effect.forkChild(take(request, "one"))
      yield* Deferred.await(begun)
      const other = yield* take(request, "two")
      assert.deepStrictEqual([other.execution, other.stored.serial, count.verified], ["held", 0n, 1])
      assert.strictEqual(yield* memory.find(other.stored.paymentId), undefined)
      const copy = yield* Effect.forkChild(take(request, "one"))
      yield* Effect.yieldNow
      yield* Deferred.succeed(go, undefined)
      assert.strictEqual((yield* Fiber.join(first)).fresh, true)
      const joined = yield* Fiber.join(copy)
      assert.deepStrictEqual([joined.execution, joined.renewed, count.verified], ["granted", true, 1])
      assert.strictEqual(context.arriving.size, 0)
    })
  )

  it.effect("is no longer arriving when its caller goes away: the next copy is verified anew", () =>
    Effect.gen(function* () {
      const { begun, count, go, scheme } = yield* slow
      const { context, take } = yield* opened({ scheme })
      const request = yield* LedgerShop.pay()
      const first = yield* Effect.forkChild(take(request, "one"))
      yield* Deferred.await(begun)
      yield* Fiber.interrupt(first)
      assert.strictEqual(context.arriving.size, 0)
      yield* Deferred.succeed(go, undefined)
      assert.strictEqual((yield* take(request, "two")).execution, "granted")
      assert.strictEqual(count.verified, 2)
    })
  )

  it.effect("that cannot be verified leaves no record", () =>
    Effect.gen(function* () {
      const { memory, take } = yield* opened({ balance: 1n })
      assert.strictEqual(yield* wordOf(take(yield* LedgerShop.pay(), "one")), "balance_below_amount")
      assert.deepStrictEqual(yield* memory.page(0n, 9), [])
    })
  )

  it.effect("whose authorization is used answers from the record that another instance has made meanwhile", () =>
    Effect.gen(function* () {
      const { begun, go, scheme } = yield* slow
      const used = invalid("already_used", "used", "the authorization was used")
      const failing = (honest: SchemeFacilitator) => {
        const one = scheme(honest)
        return { ...one, verify: (payment) => Effect.andThen(one.verify(payment), used) } satisfies SchemeFacilitator
      }
      const { context, memory, take } = yield* opened({ scheme: failing })
      const request = yield* LedgerShop.pay()
      const fiber = yield* Effect.forkChild(take(request, "one"))
      yield* Deferred.await(begun)
      const presented = yield* PaymentIntake.present(context, request)
      yield* memory.claim(presented, LedgerShop.claim("elsewhere"))
      yield* Deferred.succeed(go, undefined)
      assert.strictEqual((yield* Fiber.join(fiber)).execution, "held")
      assert.strictEqual(yield* wordOf(take(yield* LedgerShop.pay(), "one")), "used")
    })
  )

  it.effect("is not taken where only known ones are wanted, nor while a gate is closed", () =>
    Effect.gen(function* () {
      const { context, take } = yield* opened()
      const request = yield* LedgerShop.pay()
      const presented = yield* PaymentIntake.present(context, request)
      const onlyKnown = { ...LedgerShop.claim("one"), onlyKnown: true as const }
      assert.strictEqual(yield* wordOf(PaymentIntake.take(context, presented, onlyKnown, true)), "other_request")
      context.intake.close("test", [{ network: TestScheme.network, reason: "the chain is another one" }])
      assert.strictEqual(yield* wordOf(take(request, "one")), "FacilitatorUnavailable")
      context.intake.close("test", [])
      assert.strictEqual(yield* wordOf(take(request, "one")), "taken")
      context.intake.close("test", [{ network: TestScheme.network, reason: "the chain is another one" }])
      assert.strictEqual(yield* wordOf(take(request, "one")), "taken")
      context.intake.close("test", [{ reason: "the disk is full" }])
      assert.strictEqual(yield* wordOf(take(request, "one")), "FacilitatorUnavailable")
    })
  )
})

describe("a presented payment", () => {
  const changes: ReadonlyArray<readonly [string, (request: PaymentRequest) => PaymentRequest, string]> = [
    [
      "of another scheme than its offer",
      (request) => ({ ...request, paymentPayload: { ...request.paymentPayload, scheme: "upto" } }),
      "other_scheme"
    ],
    [
      "of a scheme that is not settled here",
      ({ paymentPayload, paymentRequirements }) => ({
        paymentPayload: { ...paymentPayload, scheme: "upto" },
        paymentRequirements: { ...paymentRequirements, scheme: "upto" }
      }),
      "scheme_not_settled"
    ],
    [
      "on a network that is not settled here",
      (request) => ({
        ...request,
        paymentRequirements: { ...request.paymentRequirements, network: Network.make("ledger:other") }
      }),
      "network_not_settled"
    ]
  ]
  for (const [name, change, word] of changes) {
    it.effect(`${name} is refused: ${word}`, () =>
      Effect.gen(function* () {
        const { context } = yield* opened()
        assert.strictEqual(yield* wordOf(PaymentIntake.present(context, change(yield* LedgerShop.pay()))), word)
      })
    )
  }
})

describe("the answer that a caller without a claim is owed", () => {
  it.effect("is taken once; a call that could not tell it gives it back", () =>
    Effect.gen(function* () {
      const { context, memory, take } = yield* opened()
      const { stored } = yield* take(yield* LedgerShop.pay())
      const told: Array<string> = []
      const gone = PaymentIntake.takeAnswer(context, stored.paymentId, Effect.interrupt)
      assert.isTrue(Exit.hasInterrupts(yield* Effect.exit(gone)))
      const taking = PaymentIntake.takeAnswer(
        context,
        stored.paymentId,
        Effect.sync(() => void told.push("told"))
      )
      assert.isTrue(yield* taking)
      assert.isFalse(yield* taking)
      assert.deepStrictEqual(told, ["told"])
      assert.strictEqual((yield* memory.find(stored.paymentId))?.answerOwed, false)
    })
  )

  it.effect("belongs to the next call where the records did not say whether it was taken", () =>
    Effect.gen(function* () {
      let isDown = true
      const lost = Effect.fail(new FacilitatorUnavailable({ message: "the answer of the records was lost" }))
      const { context, memory, take } = yield* opened({
        store: (store) => ({
          ...store,
          takeAnswer: (id, call) => Effect.tap(store.takeAnswer(id, call), () => (isDown ? lost : Effect.void)),
          returnAnswer: (id, call) => (isDown ? lost : store.returnAnswer(id, call))
        })
      })
      const { stored } = yield* take(yield* LedgerShop.pay())
      const taking = PaymentIntake.takeAnswer(context, stored.paymentId, Effect.void)
      assert.strictEqual((yield* Effect.flip(taking))._tag, "FacilitatorUnavailable")
      const known = yield* memory.find(stored.paymentId)
      assert.isTrue(known !== undefined && !known.answerOwed && PaymentIntake.isAnswerOwed(context, known))
      isDown = false
      assert.isTrue(yield* taking)
      assert.strictEqual(context.undelivered.size, 0)
    })
  )
})

describe("the refusal of a payment on record", () => {
  const refusal = invalid("already_used", "used", "a third party has sent it")
  const provenOf = Effect.fnUntraced(function* (fields: Partial<StoredPayment>) {
    const { take } = yield* opened()
    const { stored } = yield* take(yield* LedgerShop.pay(), "one")
    return yield* Effect.result(PaymentIntake.provenRefusal({ ...stored, refusal, ...fields }))
  })

  it.effect("is told once its end is final, and not while a reorganisation may take it back", () =>
    Effect.gen(function* () {
      assert.deepInclude(yield* provenOf({ status: "final" }), { _tag: "Success", success: refusal })
      assert.deepInclude(yield* provenOf({ status: "rejected" }), { _tag: "Success", success: refusal })
      assert.deepInclude(yield* provenOf({ status: "sent" }), { _tag: "Success", success: undefined })
      const included = yield* provenOf({ status: "included" })
      assert.isTrue(included._tag === "Failure" && included.failure._tag === "ChainUnavailable")
    })
  )
})

describe("a claim that is given back", () => {
  it.effect("frees its execution for another claim at once, also of a payment that the records do not know", () =>
    Effect.gen(function* () {
      const { context, take } = yield* opened()
      const request = yield* LedgerShop.pay()
      const { stored } = yield* take(request, "one")
      assert.strictEqual((yield* take(request, "two")).execution, "held")
      yield* PaymentIntake.giveBack(context, stored.paymentId, LedgerShop.claim("one"))
      yield* PaymentIntake.giveBack(context, "pay_unknown", LedgerShop.claim("one"))
      assert.strictEqual((yield* take(request, "two")).execution, "granted")
    })
  )
})
