/** Payments that their lane refuses while their authorization can be used: a third party that has seen it may submit it later. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type * as Result from "effect/Result"
import * as TestClock from "effect/testing/TestClock"

import type { PaymentRequest, Settled } from "../../../src/facilitator/Facilitator.ts"
import { reserves } from "../../../src/facilitator/store/PaymentStore.ts"
import { refuse } from "../../../src/protocol/PaymentError.ts"
import type { PaymentFailure } from "../../../src/protocol/PaymentFailure.ts"
import { ChainUnavailable } from "../../../src/protocol/ProtocolError.ts"
import { invalid } from "../../../src/protocol/ValidationError.ts"
import type { SchemeFacilitator } from "../../../src/scheme/SchemeFacilitator.ts"
import * as LedgerShop from "../LedgerShop.ts"
import { sentByAnother, wordOf } from "../LedgerSteps.ts"

const { amount, claim, pay, payer } = LedgerShop

const seconds = (count: number) =>
  Effect.forEach(Array.from({ length: count }), () => TestClock.adjust("1 second"), { discard: true })

/** The effect's outcome, after this number of seconds. */
const within = <A, E>(count: number, effect: Effect.Effect<A, E>) =>
  Effect.gen(function* () {
    const fiber = yield* Effect.forkDetach(Effect.result(effect))
    yield* seconds(count)
    return yield* Fiber.join(fiber)
  })

/** How a call has ended, in a word. */
const endOf = (end: Result.Result<Settled, PaymentFailure>): string => {
  if (end._tag === "Success") return `${end.success.execution ?? "answered"} ${end.success.status}`
  return wordOf(end.failure)
}

const settled = ({ facilitator }: LedgerShop.Shop, request: PaymentRequest, name: string | undefined, count = 20) =>
  Effect.map(within(count, facilitator.settle(request, name === undefined ? undefined : claim(name))), endOf)

const waitingLane = ({ scheme }: LedgerShop.Shop) => `${scheme.network} ${scheme.lanes[0] ?? ""}`

/** A payment that waits in its lane while its payer spends the money otherwise, and is refused there. */
const refused = Effect.fnUntraced(function* (shop: LedgerShop.Shop, options: LedgerShop.PayOptions = {}) {
  const { facilitator, ledger, store } = shop
  const request = yield* pay(options)
  const { paymentId } = yield* facilitator.claim(request, claim("a"))
  yield* facilitator.finish(paymentId, claim("a").id, "unanswered")
  yield* seconds(3)
  ledger.withdraw(payer, ledger.balanceOf(payer))
  yield* store.queue(paymentId, waitingLane(shop), { available: 10n ** 9n })
  yield* seconds(3)
  return { request, paymentId }
})

const silent = ({ network }: SchemeFacilitator) => new ChainUnavailable({ network, message: "it does not answer" })

/** Refuses every payment once it is told to, as a scheme does whose payer has cost the facilitator money. */
const banning = (isBanned: () => boolean) => (scheme: SchemeFacilitator) => ({
  ...scheme,
  verify: (payment: Parameters<SchemeFacilitator["verify"]>[0]) =>
    isBanned()
      ? Effect.fail(invalid("unsupported_authorization", "account_banned", "no other is settled"))
      : scheme.verify(payment)
})

const families = [
  ["where signers send", {}],
  ["where payers send their own", { lanes: [] }]
] as const

for (const [kind, options] of families) {
  describe(`a payment that its lane refuses for its payer's balance, ${kind}`, () => {
    it.effect("has not ended: it waits in no lane, reserves nothing, and its caller is told why", () =>
      Effect.gen(function* () {
        const shop = yield* LedgerShop.open(options)
        const { paymentId, request } = yield* refused(shop)
        const stored = yield* shop.store.find(paymentId)
        assert.deepInclude(stored, { status: "accepted", lane: undefined, refusal: undefined })
        assert.deepInclude(stored?.history.at(-1), { exit: "payment_refused" })
        assert.include(stored?.history.at(-1)?.note, "holds less than")
        assert.isFalse(stored === undefined || reserves(stored, yield* shop.store.now))
        assert.strictEqual(yield* settled(shop, request, "b"), "INSUFFICIENT_BALANCE")
        assert.strictEqual((yield* shop.store.find(paymentId))?.status, "accepted")
      })
    )

    it.effect("is told its refusal while it waits", () =>
      Effect.gen(function* () {
        let down = true
        const shop = yield* LedgerShop.open({
          settleTimeoutMillis: 600_000,
          ...options,
          capacity: 1,
          scheme: (scheme) => ({
            ...scheme,
            submit: (prepared) => (down ? Effect.succeed({ _tag: "Accepted" }) : scheme.submit(prepared))
          })
        })
        const { facilitator, ledger, store } = shop
        const first = yield* Effect.forkDetach(facilitator.settle(yield* pay(), claim("a")))
        yield* seconds(1)
        const request = yield* pay()
        const waiting = yield* Effect.forkDetach(Effect.result(facilitator.settle(request, claim("b"))))
        yield* seconds(10)
        ledger.withdraw(payer, ledger.balanceOf(payer) - amount)
        down = false
        yield* seconds(60)
        assert.strictEqual((yield* Fiber.join(first)).execution, "granted")
        assert.strictEqual(endOf(yield* Fiber.join(waiting)), "INSUFFICIENT_BALANCE")
        const [, stored] = yield* store.page(0n, 10)
        assert.deepInclude(stored, { status: "accepted", lane: undefined })
        assert.strictEqual(stored?.execution.holder, undefined)
      })
    )

    it.effect("and that a third party sends then, is served once when its buyer repeats", () =>
      Effect.gen(function* () {
        const shop = yield* LedgerShop.open(options)
        const { paymentId, request } = yield* refused(shop)
        shop.ledger.deposit(payer, amount)
        yield* sentByAnother(shop.ledger, request)
        assert.strictEqual(shop.ledger.balanceOf(payer), 0n)
        assert.match(yield* settled(shop, request, "b"), /^granted (included|final)$/)
        yield* shop.facilitator.finish(paymentId, claim("b").id, "served")
        assert.match(yield* settled(shop, request, "c"), /^spent/)
        yield* seconds(60)
        const stored = yield* shop.store.find(paymentId)
        assert.deepInclude(stored, { status: "final", refusal: undefined })
        assert.lengthOf(shop.ledger.transfers, 1)
      })
    )

    it.effect("and that a third party sends, ends final while its buyer does not repeat it, and is served later", () =>
      Effect.gen(function* () {
        const shop = yield* LedgerShop.open(options)
        const { paymentId, request } = yield* refused(shop)
        shop.ledger.deposit(payer, amount)
        yield* sentByAnother(shop.ledger, request)
        yield* seconds(8 * 60)
        assert.strictEqual((yield* shop.store.find(paymentId))?.status, "final")
        assert.strictEqual(yield* settled(shop, request, "b", 1), "granted final")
        assert.strictEqual(yield* settled(shop, request, "c", 1), "held final")
      })
    )

    it.effect("and that a third party sends, opens nothing where it is not bound, and says so", () =>
      Effect.gen(function* () {
        const shop = yield* LedgerShop.open(options)
        const { paymentId, request } = yield* refused(shop, { bound: false })
        shop.ledger.deposit(payer, amount)
        yield* sentByAnother(shop.ledger, request)
        assert.strictEqual(yield* settled(shop, request, "b"), "already_used")
        yield* seconds(60)
        const stored = yield* shop.store.find(paymentId)
        assert.strictEqual(stored?.status, "final")
        assert.include(stored?.refusal?.message, "a third party has sent the transfer")
      })
    )

    it.effect("and that is never sent, expires by proof, which says that it was not settled in time", () =>
      Effect.gen(function* () {
        const shop = yield* LedgerShop.open(options)
        const { paymentId, request } = yield* refused(shop)
        yield* seconds(8 * 60)
        const stored = yield* shop.store.find(paymentId)
        assert.strictEqual(stored?.status, "expired")
        assert.deepInclude(stored?.refusal, { code: "EXPIRED_PAYMENT", detail: "not_settled" })
        assert.strictEqual(yield* settled(shop, request, "b", 1), "EXPIRED_PAYMENT")
      })
    )

    const canceled = refuse("INVALID_SIGNATURE", "canceled", "the payer has cancelled the authorization")
    for (const [proof, status, word, reason] of [
      ["that its validity is over", "expired", "EXPIRED_PAYMENT", undefined],
      ["why its authorization cannot be used", "rejected", "INVALID_SIGNATURE", canceled]
    ] as const) {
      it.effect(`ends at once where the chain proves ${proof}, as that end says`, () =>
        Effect.gen(function* () {
          const unused = { _tag: "Unused" as const, ...(reason !== undefined && { reason }) }
          const shop = yield* LedgerShop.open({
            ...options,
            scheme: (scheme) => ({
              ...scheme,
              conclude: () => Effect.map(scheme.chainHead, ({ head }) => ({ ...unused, at: head }))
            })
          })
          const { paymentId, request } = yield* refused(shop)
          const stored = yield* shop.store.find(paymentId)
          assert.strictEqual(stored?.status, status)
          assert.include(stored?.history.at(-1)?.note, "unused at block")
          assert.strictEqual(yield* settled(shop, request, "b", 1), word)
        })
      )
    }

    it.effect("is no verdict while the chain cannot be asked for its transfer", () =>
      Effect.gen(function* () {
        const doubt = { isOn: true }
        const shop = yield* LedgerShop.open({
          ...options,
          scheme: (scheme) => ({
            ...scheme,
            conclude: (observed) => (doubt.isOn ? Effect.fail(silent(scheme)) : scheme.conclude(observed))
          })
        })
        const { paymentId, request } = yield* refused(shop)
        const stored = yield* shop.store.find(paymentId)
        assert.deepInclude(stored, { status: "accepted", lane: undefined })
        assert.strictEqual(yield* settled(shop, request, "b"), "ChainUnavailable")
        doubt.isOn = false
        assert.strictEqual(yield* settled(shop, request, "c"), "INSUFFICIENT_BALANCE")
      })
    )
  })

  describe(`a payment of a payer whom its scheme refuses before it looks for a transfer, ${kind}`, () => {
    const bannedThen = Effect.fnUntraced(function* (payOptions: LedgerShop.PayOptions = {}) {
      let isBanned = false
      const shop = yield* LedgerShop.open({ ...options, scheme: banning(() => isBanned) })
      const request = yield* pay(payOptions)
      const { paymentId } = yield* shop.facilitator.claim(request, claim("a"))
      yield* shop.facilitator.finish(paymentId, claim("a").id, "unanswered")
      isBanned = true
      yield* seconds(3)
      yield* shop.store.queue(paymentId, waitingLane(shop), { available: 10n ** 9n })
      yield* seconds(3)
      return { shop, request, paymentId }
    })

    it.effect("is served once all the same when a third party has sent it", () =>
      Effect.gen(function* () {
        const { paymentId, request, shop } = yield* bannedThen()
        assert.strictEqual((yield* shop.store.find(paymentId))?.status, "accepted")
        assert.strictEqual(yield* settled(shop, request, "b"), "unsupported_authorization")
        yield* sentByAnother(shop.ledger, request)
        assert.match(yield* settled(shop, request, "c"), /^granted (included|final)$/)
        assert.match(yield* settled(shop, request, "d", 1), /^held/)
        yield* seconds(30)
        assert.strictEqual((yield* shop.store.find(paymentId))?.status, "final")
        assert.lengthOf(shop.ledger.transfers, 1)
      })
    )

    it.effect("is told as used where it is not bound", () =>
      Effect.gen(function* () {
        const { request, shop } = yield* bannedThen({ bound: false })
        yield* sentByAnother(shop.ledger, request)
        assert.strictEqual(yield* settled(shop, request, "b"), "already_used")
      })
    )
  })

  describe(`a payment taken without a claim that a third party sends, ${kind}`, () => {
    it.effect("is good by a verification for the answer that its caller is owed, once", () =>
      Effect.gen(function* () {
        const shop = yield* LedgerShop.open({ ...options, settleTimeoutMillis: 600_000, leases: LedgerShop.idle })
        const request = yield* pay()
        const asking = yield* Effect.forkDetach(shop.facilitator.settle(request, undefined))
        yield* seconds(1)
        yield* Fiber.interrupt(asking)
        const [stored] = yield* shop.store.page(0n, 1)
        assert.deepInclude(stored, { status: "accepted", answerOwed: true })
        yield* sentByAnother(shop.ledger, request)
        yield* shop.facilitator.verify(request)
        const working = yield* LedgerShop.facilitatorOf([shop.scheme], shop.store)
        assert.strictEqual(
          endOf(yield* within(30, working.settle(request, undefined))).replace("included", "final"),
          "answered final"
        )
        assert.strictEqual((yield* Effect.flip(working.verify(request)))._tag, "ValidationError")
      })
    )

    it.effect("is in doubt by a verification where it is not bound, while its lane may still send it", () =>
      Effect.gen(function* () {
        const shop = yield* LedgerShop.open({ ...options, leases: LedgerShop.idle })
        const request = yield* pay({ bound: false })
        const asking = yield* Effect.forkDetach(shop.facilitator.settle(request, undefined))
        yield* seconds(1)
        yield* Fiber.interrupt(asking)
        yield* sentByAnother(shop.ledger, request)
        assert.strictEqual((yield* Effect.flip(shop.facilitator.verify(request)))._tag, "ChainUnavailable")
      })
    )
  })
}

describe("a payment whose own transaction has failed", () => {
  const failed = Effect.fnUntraced(function* (payOptions: LedgerShop.PayOptions = {}) {
    const shop = yield* LedgerShop.open()
    shop.ledger.faults.failEntries = 1
    const request = yield* pay(payOptions)
    assert.strictEqual(yield* settled(shop, request, "a", 3), "unsupported_authorization")
    const [stored] = yield* shop.store.page(0n, 1)
    assert.strictEqual(stored?.status, "failed")
    return { shop, request, paymentId: stored?.paymentId ?? "" }
  })

  it.effect("is not told as dead once a third party has sent it, and is served after its validity", () =>
    Effect.gen(function* () {
      const { paymentId, request, shop } = yield* failed()
      assert.strictEqual(yield* settled(shop, request, "b", 1), "unsupported_authorization")
      yield* sentByAnother(shop.ledger, request)
      assert.strictEqual(yield* settled(shop, request, "c", 1), "ChainUnavailable")
      yield* seconds(90)
      assert.strictEqual((yield* shop.store.find(paymentId))?.status, "final")
      assert.strictEqual(yield* settled(shop, request, "d", 1), "granted final")
      assert.lengthOf(shop.ledger.transfers, 1)
    })
  )

  it.effect("is not told as dead while the chain cannot be asked", () =>
    Effect.gen(function* () {
      const { request, shop } = yield* failed()
      shop.ledger.faults.down = true
      assert.strictEqual(yield* settled(shop, request, "b", 1), "ChainUnavailable")
    })
  )
})
