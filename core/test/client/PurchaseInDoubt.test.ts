import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Result from "effect/Result"
import * as TestClock from "effect/testing/TestClock"

import * as PayableRequest from "../../src/client/PayableRequest.ts"
import type * as PaymentClient from "../../src/client/PaymentClient.ts"
import { FacilitatorUnavailable } from "../../src/protocol/ProtocolError.ts"
import type { PaymentRecord, PaymentState } from "../../src/protocol/Settlement.ts"
import { buy, buyText, failure, waitingOut } from "./Payer.ts"
import * as Payer from "./Payer.ts"
import * as Shop from "./Shop.ts"
import * as Wallet from "./Wallet.ts"

describe("an unknown outcome", () => {
  const pending = Shop.refuse(409, { retry: "wait", paymentState: "sent" }, { "Retry-After": "2" })
  const unknown = Shop.refuse(503, { retry: "same_payment", paymentState: "sent" }, { "Retry-After": "3" })

  it.effect("is waited for as long as the server says, with the same authorization", () =>
    Effect.gen(function* () {
      const world = yield* Payer.make()
      const shop = Shop.make(pending, unknown, Shop.paid())
      const fiber = yield* Effect.forkChild(buyText(world, shop.request()))
      yield* TestClock.adjust("1999 millis")
      assert.strictEqual(shop.payments.length, 1)
      yield* TestClock.adjust("1 millis")
      assert.strictEqual(shop.payments.length, 2)
      yield* TestClock.adjust("2999 millis")
      assert.strictEqual(shop.payments.length, 2)
      yield* TestClock.adjust("1 millis")
      assert.strictEqual(yield* Fiber.join(fiber), "the report")
      assert.strictEqual(new Set(shop.payments).size, 1)
      assert.strictEqual(world.wallet.signed.length, 1)
    })
  )

  it.effect("is waited for to the end of the validity, however long the server lets it wait", () =>
    Effect.gen(function* () {
      const world = yield* Payer.make()
      const slowly = Shop.refuse(503, { retry: "same_payment" }, { "Retry-After": "30" })
      const shop = Shop.make(slowly, slowly, Shop.paid())
      const fiber = yield* Effect.forkChild(buyText(world, shop.request()))
      yield* TestClock.adjust("58 seconds")
      assert.strictEqual(shop.payments.length, 2)
      yield* TestClock.adjust("1 second")
      assert.strictEqual(yield* Fiber.join(fiber), "the report")
    })
  )

  it.effect("is asked for every few seconds while the server does not respond at all", () =>
    Effect.gen(function* () {
      const world = yield* Payer.make()
      const shop = Shop.make(...Array.from({ length: 9 }, () => Shop.reset), Shop.paid())
      const fiber = yield* Effect.forkChild(buyText(world, shop.request()))
      yield* TestClock.adjust("31 seconds")
      assert.strictEqual(yield* Fiber.join(fiber), "the report")
      assert.strictEqual(world.wallet.signed.length, 1)
    })
  )

  it.effect.each([
    ["a reset connection", Shop.reset],
    ["pending for ever", pending],
    ["unknown for ever", unknown],
    ["503 that names no state", Shop.refuse(503)],
    [
      "503 without a readable body",
      Shop.reply(() => new Response("<html>", { status: 503, headers: { "X-Payment": "{}" } }))
    ],
    [
      "409 without a readable body",
      Shop.reply(() => new Response("{", { status: 409, headers: { "X-Payment": "{}" } }))
    ],
    ["409 that says nothing", Shop.refuse(409)],
    ["402 that says it is pending", Shop.refuse(402, { paymentState: "sent" })],
    ["402 that says it is settled", Shop.refuse(402, { paymentState: "final" })],
    ["402 that asks to wait", Shop.refuse(402, { code: "EXPIRED_PAYMENT", retry: "wait" })],
    ["a wait of no time", Shop.refuse(503, {}, { "Retry-After": "0" })],
    ["a wait of a year", Shop.refuse(503, {}, { "Retry-After": "31536000" })],
    ["a wait that is a date", Shop.refuse(503, {}, { "Retry-After": "Fri, 31 Dec 1999 23:59:59 GMT" })]
  ] as const)("%s ends as SettlementPending, with one signature however often it is asked for", ([, reply]) =>
    Effect.gen(function* () {
      const world = yield* Payer.make()
      const shop = Shop.make(reply)
      for (let call = 0; call < 5; call++) {
        const error = yield* waitingOut(failure(buy(world, shop.request())))
        assert.strictEqual(error._tag, "SettlementPending")
        assert.match("paymentId" in error ? error.paymentId : "", /^pay_[A-Za-z0-9_-]{22}$/)
      }
      assert.strictEqual(world.wallet.signed.length, 1)
      assert.strictEqual(new Set(shop.payments).size, 1)
      assert.isAtMost(shop.payments.length, 64)
      assert.strictEqual(yield* world.spent, 10_000n, "it stays spent")
    })
  )

  it.effect("that turns out well is the response of the next call", () =>
    Effect.gen(function* () {
      const world = yield* Payer.make()
      const shop = Shop.make(...Array.from({ length: 24 }, () => Shop.reset), Shop.paid())
      assert.strictEqual((yield* waitingOut(failure(buy(world, shop.request()))))._tag, "SettlementPending")
      while (shop.payments.length < 24) yield* waitingOut(failure(buy(world, shop.request())))
      assert.strictEqual(yield* buyText(world, shop.request()), "the report")
      assert.strictEqual(world.wallet.signed.length, 1)
      assert.strictEqual(new Set(shop.payments).size, 1)
    })
  )

  it.effect("is another request's when URL, method or body differ", () =>
    Effect.gen(function* () {
      const world = yield* Payer.make()
      const shop = Shop.make(Shop.reset)
      yield* waitingOut(failure(buy(world, shop.request())))
      const served = Shop.make(Shop.paid())
      yield* buy(world, served.request({ url: "https://shop.example/report?a" }))
      yield* buy(world, served.request({ method: "POST" }))
      yield* buy(world, served.request({ body: Effect.succeed(new Uint8Array([1])) }))
      assert.strictEqual(world.wallet.signed.length, 4)
      yield* buy(world, served.request({ url: "https://shop.example/report#part" }))
      assert.strictEqual(world.wallet.signed.length, 4, "a fragment is no difference")
    })
  )

  it.effect("is not taken over by a call that runs beside it", () =>
    Effect.gen(function* () {
      const world = yield* Payer.make()
      const slow = Shop.make(Shop.never)
      const fiber = yield* Effect.forkChild(buy(world, slow.request()))
      yield* TestClock.adjust(0)
      assert.strictEqual(slow.payments.length, 1)
      yield* buy(world, Shop.make(Shop.paid()).request())
      assert.strictEqual(world.wallet.signed.length, 2, "two calls at once are two purchases")
      yield* Fiber.interrupt(fiber)
      const next = Shop.make(Shop.paid())
      yield* buy(world, next.request())
      assert.strictEqual(world.wallet.signed.length, 2)
      assert.deepStrictEqual(next.payments, slow.payments)
    })
  )

  it.effect("of an interrupted call is kept from the moment it was sent", () =>
    Effect.gen(function* () {
      const world = yield* Payer.make()
      const shop = Shop.make(Shop.never, Shop.paid())
      const fiber = yield* Effect.forkChild(buy(world, shop.request()))
      yield* TestClock.adjust(0)
      yield* Fiber.interrupt(fiber)
      assert.strictEqual(yield* world.spent, 10_000n)
      assert.strictEqual(yield* buyText(world, shop.request()), "the report")
      assert.strictEqual(world.wallet.signed.length, 1)
    })
  )

  it.effect("of a call interrupted while it waits is kept too", () =>
    Effect.gen(function* () {
      const world = yield* Payer.make()
      const shop = Shop.make(unknown, Shop.paid())
      const fiber = yield* Effect.forkChild(buy(world, shop.request()))
      yield* TestClock.adjust("1 second")
      yield* Fiber.interrupt(fiber)
      yield* buy(world, shop.request())
      assert.strictEqual(world.wallet.signed.length, 1)
      assert.strictEqual(new Set(shop.payments).size, 1)
    })
  )
})

const recordOf = (paymentId: string, status: PaymentState): PaymentRecord => ({
  paymentId,
  status,
  network: Wallet.network,
  asset: Wallet.dollars.address,
  payer: "0x4444444444444444444444444444444444444444",
  payTo: Wallet.payTo,
  amount: "10000",
  transaction: "",
  execution: "free",
  runs: 0,
  history: []
})

const saying = (status: PaymentState) => (paymentId: string) => Effect.succeed(recordOf(paymentId, status))

describe("an unknown outcome whose validity has ended", () => {
  const afterEnd = Effect.fnUntraced(function* (
    options: Partial<PaymentClient.Options>,
    ...replies: Array<Shop.Reply>
  ) {
    const world = yield* Payer.make(options)
    yield* waitingOut(failure(buy(world, Shop.make(Shop.reset).request())))
    const shop = Shop.make(...replies)
    const result = yield* Effect.result(buyText(world, shop.request()))
    return { world, shop, result, again: buyText(world, shop.request()) }
  })

  it.effect("is asked for once more, and its late response is taken", () =>
    Effect.gen(function* () {
      const { result, world } = yield* afterEnd({}, Shop.paid())
      assert.deepStrictEqual(result, Result.succeed("the report"))
      assert.strictEqual(world.wallet.signed.length, 1)
    })
  )

  it.effect(
    "is told when the server says no, which may have forgotten it; the next call buys anew, and it stays spent",
    () =>
      Effect.gen(function* () {
        const { again, result, shop, world } = yield* afterEnd(
          {},
          Shop.refuse(402, { code: "EXPIRED_PAYMENT" }),
          Shop.paid()
        )
        assert.strictEqual(Result.isFailure(result) && result.failure._tag, "PaymentError")
        assert.strictEqual(world.wallet.signed.length, 1)
        assert.strictEqual(yield* again, "the report")
        assert.strictEqual(world.wallet.signed.length, 2)
        assert.strictEqual(new Set(shop.payments).size, 2)
        assert.strictEqual(yield* world.spent, 20_000n, "a server's word gives nothing back")
      })
  )

  it.effect("is not bought again unawares when it was used", () =>
    Effect.gen(function* () {
      const { result, world } = yield* afterEnd({}, Shop.refuse(409, { reason: "already_used", retry: "never" }))
      assert.strictEqual(Result.isFailure(result) && result.failure._tag, "ValidationError")
      assert.strictEqual(world.wallet.signed.length, 1)
    })
  )

  it.effect("stays unknown while nobody can tell", () =>
    Effect.gen(function* () {
      const { result, world } = yield* afterEnd({}, Shop.refuse(503))
      assert.strictEqual(Result.isFailure(result) && result.failure._tag, "SettlementPending")
      assert.strictEqual(world.wallet.signed.length, 1)
    })
  )

  it.effect("gives its amount back when the payer's own facilitator proves it dead", () =>
    Effect.gen(function* () {
      const { shop, world } = yield* afterEnd({ lookup: saying("expired") }, Shop.paid())
      assert.strictEqual(world.wallet.signed.length, 2)
      assert.strictEqual(shop.payments.length, 1, "the dead one is not sent again")
      assert.strictEqual(yield* world.spent, 10_000n)
    })
  )

  it.effect.each(["accepted", "sent", "included", "final"] as const)(
    "keeps it when the facilitator says %s",
    (status) =>
      Effect.gen(function* () {
        const { world } = yield* afterEnd({ lookup: saying(status) }, Shop.paid())
        assert.strictEqual(world.wallet.signed.length, 1)
        assert.strictEqual(yield* world.spent, 10_000n)
      })
  )

  it.effect("keeps it when the facilitator knows nothing or cannot be asked", () =>
    Effect.gen(function* () {
      const lookups = [
        () => Effect.succeed(undefined),
        () => Effect.fail(new FacilitatorUnavailable({ message: "down" }))
      ]
      for (const lookup of lookups) {
        const { world } = yield* afterEnd({ lookup }, Shop.paid())
        assert.strictEqual(world.wallet.signed.length, 1)
        assert.strictEqual(yield* world.spent, 10_000n)
      }
    })
  )

  it.effect("is alive until the margin has passed, whatever the facilitator says", () =>
    Effect.gen(function* () {
      const world = yield* Payer.make({ lookup: saying("rejected") })
      const fiber = yield* Effect.forkChild(failure(buy(world, Shop.make(Shop.reset).request())))
      yield* TestClock.adjust("61 seconds")
      yield* Fiber.join(fiber)
      yield* buy(world, Shop.make(Shop.paid()).request())
      assert.strictEqual(world.wallet.signed.length, 1)
    })
  )
})

describe("an entry that was held when its call was interrupted", () => {
  it.effect("is sent by the next call, also where the interruption came before anything was sent", () =>
    Effect.gen(function* () {
      let isAsked = false
      const world = yield* Payer.make({
        lookup: () => {
          isAsked = true
          return Effect.never
        }
      })
      yield* waitingOut(failure(buy(world, Shop.make(Shop.reset).request())))
      const shop = Shop.make(Shop.paid())
      const name = yield* PayableRequest.nameOf(shop.request())
      const fiber = yield* Effect.forkChild(buy(world, shop.request()))
      yield* TestClock.adjust(0)
      assert.isTrue(isAsked)
      yield* Fiber.interrupt(fiber)
      assert.strictEqual(world.wallet.signed.length, 1)
      assert.isDefined(yield* world.journal.adopt(name), "nobody holds it any more")
    })
  )
})

const setBack: Shop.Reply = () => Effect.andThen(TestClock.setTime(0), Shop.refuse(503)())

describe("a clock that is set back", () => {
  it.effect("does not make a call wait for longer than an authorization lives", () =>
    Effect.gen(function* () {
      const world = yield* Payer.make()
      const shop = Shop.make(setBack, Shop.refuse(503))
      const fiber = yield* Effect.forkChild(failure(buy(world, shop.request())))
      yield* TestClock.adjust(0)
      yield* TestClock.adjust("150 seconds")
      assert.isDefined(fiber.pollUnsafe(), "by the clock it has a quarter of an hour left")
      assert.strictEqual((yield* Fiber.join(fiber))._tag, "SettlementPending")
    })
  )
})

describe("a refusal", () => {
  const refused = Effect.fnUntraced(function* (reply: Shop.Reply) {
    const world = yield* Payer.make()
    const shop = Shop.make(reply)
    const error = yield* failure(buy(world, shop.request()))
    return { world, shop, error }
  })

  it.effect("with a code is a PaymentError", () =>
    Effect.gen(function* () {
      const { error } = yield* refused(Shop.refuse(402, { code: "INSUFFICIENT_BALANCE", detail: "empty" }))
      assert.include(error, { _tag: "PaymentError", code: "INSUFFICIENT_BALANCE", detail: "empty" })
    })
  )

  it.effect("with a reason is a ValidationError", () =>
    Effect.gen(function* () {
      const { error } = yield* refused(Shop.refuse(402, { reason: "amount_mismatch", detail: "too_low" }))
      assert.include(error, { _tag: "ValidationError", reason: "amount_mismatch", detail: "too_low" })
    })
  )

  it.effect("of a used authorization names the payment", () =>
    Effect.gen(function* () {
      const { error } = yield* refused(Shop.refuse(409, { reason: "already_used", detail: "spent", retry: "never" }))
      assert.include(error, { _tag: "ValidationError", reason: "already_used" })
      assert.match(error.message, /pay_[A-Za-z0-9_-]{22}/)
    })
  )

  it.effect.each([
    ["another plain 402", Shop.refuse(402)],
    ["a 402 that asks for a new payment", Shop.refuse(402, { paymentState: "failed", retry: "new_payment" })],
    ["a 402 of garbage", Shop.reply(() => new Response("<html>", { status: 402, headers: { "X-Payment": "{}" } }))]
  ] as const)("without either is a PaymentRefused: %s", ([, reply]) =>
    Effect.gen(function* () {
      assert.strictEqual((yield* refused(reply)).error._tag, "PaymentRefused")
    })
  )

  it.effect("is no reason to sign again while what was signed could still be settled", () =>
    Effect.gen(function* () {
      const { shop, world } = yield* refused(Shop.refuse(402, { code: "INVALID_SIGNATURE" }))
      yield* TestClock.adjust("119 seconds")
      assert.strictEqual((yield* failure(buy(world, shop.request())))._tag, "PaymentError")
      assert.strictEqual(world.wallet.signed.length, 1)
      assert.strictEqual(new Set(shop.payments).size, 1)
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* failure(buy(world, shop.request())))._tag, "PaymentError")
      assert.strictEqual(world.wallet.signed.length, 2)
      assert.strictEqual(yield* world.spent, 20_000n, "the first might have been settled in secret")
    })
  )

  it.effect("by a server that takes the money and denies it costs no more than the budget", () =>
    Effect.gen(function* () {
      const world = yield* Payer.make({ limits: { perDay: "$0.05" } })
      const shop = Shop.make(Shop.refuse(402, { code: "EXPIRED_PAYMENT" }))
      for (let call = 0; call < 100; call++) {
        yield* Effect.result(buy(world, shop.request({ url: `https://shop.example/${call}` })))
        yield* TestClock.adjust("5 minutes")
      }
      assert.strictEqual(world.wallet.signed.length, 5)
    })
  )

  it.effect("tells the server's words without what a terminal would obey", () =>
    Effect.gen(function* () {
      const { error } = yield* refused(
        Shop.refuse(402, { code: "INVALID_SIGNATURE", error: "\u001b[2J\u009b\n\u202etxt" })
      )
      assert.match(error.message, /^[\x20-\x7e]*$/)
    })
  )
})
