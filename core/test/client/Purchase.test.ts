import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Result from "effect/Result"
import * as TestClock from "effect/testing/TestClock"

import type { JournalEntry } from "../../src/client/JournalEntry.ts"
import * as PayableRequest from "../../src/client/PayableRequest.ts"
import * as PaymentJournal from "../../src/client/PaymentJournal.ts"
import { maximumHeaderLength } from "../../src/client/Purchase.ts"
import { openPayload } from "../../src/protocol/PaymentPayload.ts"
import type { Settlement } from "../../src/protocol/Settlement.ts"
import { SigningFailed } from "../../src/scheme/SchemeClient.ts"
import { protocolSeller } from "../../src/wire/pontage/ProtocolSeller.ts"
import { buy, buyText, failure, waitingOut } from "./Payer.ts"
import * as Payer from "./Payer.ts"
import * as Shop from "./Shop.ts"
import * as Wallet from "./Wallet.ts"

describe("pay", () => {
  it.effect("signs once for the first acceptable option, sends it and gives the response", () =>
    Effect.gen(function* () {
      const world = yield* Payer.make()
      const shop = Shop.make(Shop.paid())
      const refusal = Shop.refusal(402, {
        accepts: [
          Wallet.offer({ network: "ton:mainnet" as never }),
          Wallet.offer({ maxAmountRequired: "999999999" }),
          Wallet.offer({ maxAmountRequired: "20000", maxTimeoutSeconds: 30 }),
          Wallet.offer()
        ]
      })
      assert.strictEqual(yield* buyText(world, shop.request(), refusal), "the report")
      assert.strictEqual(world.wallet.signed.length, 1)
      const [request] = world.wallet.signed
      assert.strictEqual(request?.requirements.maxAmountRequired, "20000")
      assert.deepStrictEqual(request?.asset, Wallet.dollars)
      assert.strictEqual(request?.validAfter, 0)
      assert.strictEqual(request?.validBefore, 1000 + 30)
      assert.isUndefined(request?.binding)
      assert.strictEqual(shop.payments.length, 1)
      assert.deepStrictEqual(shop.urls, ["https://shop.example/report"])
      const { payment } = Result.getOrThrow(protocolSeller.readPayment(shop.payments[0] ?? ""))
      assert.strictEqual(payment.scheme, "exact")
      assert.strictEqual(payment.network, Wallet.network)
      assert.include(Result.getOrThrow(openPayload(payment)) as object, { value: "20000", validBefore: 1030 })
    })
  )

  it.effect("signs for 60 seconds where the offer does not say, and never for more than 120", () =>
    Effect.gen(function* () {
      const world = yield* Payer.make()
      const refusal = Shop.refusal(402, { accepts: [Wallet.offer({ maxTimeoutSeconds: 86_400 })] })
      const shop = Shop.make(Shop.paid())
      yield* buy(world, shop.request())
      yield* buy(world, shop.request(), refusal)
      assert.deepStrictEqual(
        world.wallet.signed.map(({ validBefore }) => validBefore),
        [1060, 1120]
      )
    })
  )

  it.effect("binds to the server's challenge with fresh salt, and only to a text", () =>
    Effect.gen(function* () {
      const world = yield* Payer.make()
      const challenge = "A".repeat(43)
      const shop = Shop.make(Shop.paid())
      const bound = Shop.refusal(402, { accepts: [Wallet.offer({ extra: { challenge } })] })
      yield* buy(world, shop.request(), bound.clone())
      yield* buy(world, shop.request(), bound)
      yield* buy(world, shop.request(), Shop.refusal(402, { accepts: [Wallet.offer({ extra: { challenge: 1 } })] }))
      const [one, two, three] = world.wallet.signed.map(({ binding }) => binding)
      assert.strictEqual(one?.challenge, challenge)
      assert.match(one?.salt ?? "", /^[A-Za-z0-9_-]{22}$/)
      assert.notStrictEqual(one?.salt, two?.salt)
      assert.isUndefined(three)
    })
  )

  it.effect("writes down what it signed before it sends it", () =>
    Effect.gen(function* () {
      const world = yield* Payer.make()
      const events: Array<string> = []
      const { write } = world.journal
      Object.assign(world.journal, {
        write: (entry: JournalEntry) => Effect.tap(write(entry), () => Effect.sync(() => events.push(entry.state)))
      })
      const shop = Shop.make(() =>
        Effect.andThen(
          Effect.sync(() => events.push("sent")),
          Shop.paid()()
        )
      )
      yield* buy(world, shop.request())
      assert.deepStrictEqual(events, ["pending", "sent", "settled"])
    })
  )

  it.effect("sends nothing when the journal cannot be written", () =>
    Effect.gen(function* () {
      const world = yield* Payer.make()
      const error = new PaymentJournal.JournalUnavailable({ message: "the disk is full" })
      Object.assign(world.journal, { write: () => Effect.fail(error) })
      const shop = Shop.make(Shop.paid())
      assert.strictEqual((yield* failure(buy(world, shop.request())))._tag, "JournalUnavailable")
      assert.strictEqual(shop.payments.length, 0)
    })
  )

  it.effect("buys again when the same thing is asked for again", () =>
    Effect.gen(function* () {
      const world = yield* Payer.make()
      const shop = Shop.make(Shop.paid("one"), Shop.paid("two"))
      assert.strictEqual(yield* buyText(world, shop.request()), "one")
      assert.strictEqual(yield* buyText(world, shop.request()), "two")
      assert.strictEqual(world.wallet.signed.length, 2)
      assert.notStrictEqual(shop.payments[0], shop.payments[1])
      assert.strictEqual(yield* world.spent, 20_000n)
    })
  )

  it.effect("tells of a payment once, and does not lose the response to a listener that throws", () =>
    Effect.gen(function* () {
      const told: Array<string> = []
      const onPayment = (receipt: { readonly transaction: string }) =>
        Effect.sync(() => {
          told.push(receipt.transaction)
          throw new Error("the listener is broken")
        })
      const troubles: Array<unknown> = []
      const onTrouble = (error: unknown) =>
        Effect.sync(() => {
          troubles.push(error)
          throw new Error("and so is the one for trouble")
        })
      const world = yield* Payer.make({ onPayment, onTrouble })
      const shop = Shop.make(Shop.paid("failed", 500), Shop.paid("served"))
      assert.strictEqual(yield* buyText(world, shop.request()), "failed")
      assert.strictEqual(yield* buyText(world, shop.request()), "served")
      assert.deepStrictEqual(told, ["0xabc"])
      assert.deepStrictEqual(
        troubles.map((error) => error instanceof Error && error.message),
        ["the listener is broken"]
      )
    })
  )

  it.effect("is handed over where its outcome cannot be noted, and that is told", () =>
    Effect.gen(function* () {
      const troubles: Array<unknown> = []
      const world = yield* Payer.make({ onTrouble: (error) => Effect.sync(() => void troubles.push(error)) })
      const { write } = world.journal
      const full = new PaymentJournal.JournalUnavailable({ message: "the disk is full" })
      Object.assign(world.journal, {
        write: (entry: JournalEntry) => (entry.state === "settled" ? Effect.fail(full) : write(entry))
      })
      assert.strictEqual(yield* buyText(world, Shop.make(Shop.paid("served")).request()), "served")
      assert.deepStrictEqual(troubles, [full])
    })
  )

  it.effect("calls a payment by the payer's own names, whatever its receipt says", () =>
    Effect.gen(function* () {
      const told: Array<Settlement> = []
      const world = yield* Payer.make({ onPayment: (receipt) => Effect.sync(() => void told.push(receipt)) })
      const lie = { ...Shop.receipt, payer: "0x5555555555555555555555555555555555555555", paymentId: "pay_of_another" }
      const shop = Shop.make(
        Shop.reply(() => new Response("ok", { headers: protocolSeller.receiptHeaders(lie, { now: 0 }) }))
      )
      yield* buy(world, shop.request())
      const { payer = "", paymentId = "" } = told[0] ?? {}
      assert.strictEqual(payer, Shop.receipt.payer)
      assert.deepInclude((yield* world.client.status(paymentId)).entry, { state: "settled", paymentId, payer })
    })
  )

  it.effect("tells nothing of a receipt that is of another payment", () =>
    Effect.gen(function* () {
      const told: Array<string> = []
      const world = yield* Payer.make({
        onPayment: ({ transaction }) => Effect.sync(() => void told.push(transaction))
      })
      const foreign = { ...Shop.receipt, amount: "1" }
      const shop = Shop.make(
        Shop.reply(() => new Response("ok", { headers: protocolSeller.receiptHeaders(foreign, { now: 0 }) }))
      )
      yield* buy(world, shop.request())
      assert.deepStrictEqual(told, [])
    })
  )
})

const paymentHeaders = () => ({ "X-Payment": "a".repeat(maximumHeaderLength) })

describe("signing", () => {
  it.effect("that fails reserves and sends nothing", () =>
    Effect.gen(function* () {
      const before = Effect.fail(new SigningFailed({ message: "the person said no" }))
      const world = yield* Payer.make({ limits: { perDay: "$0.01" } }, Wallet.make({ before }))
      const shop = Shop.make(Shop.paid())
      assert.strictEqual((yield* failure(buy(world, shop.request())))._tag, "SigningFailed")
      assert.strictEqual((yield* failure(buy(world, shop.request())))._tag, "SigningFailed", "not over the limit")
      assert.strictEqual(yield* world.spent, 0n)
      assert.strictEqual(shop.payments.length, 0)
    })
  )

  it.effect("that takes longer than what is signed would live is given up", () =>
    Effect.gen(function* () {
      const world = yield* Payer.make({}, Wallet.make({ before: Effect.never }))
      const shop = Shop.make(Shop.paid())
      assert.strictEqual((yield* waitingOut(failure(buy(world, shop.request()))))._tag, "SigningFailed")
      assert.strictEqual(yield* world.spent, 0n)
      assert.strictEqual(shop.payments.length, 0)
    })
  )

  it.effect("that ends while the machine sleeps, too late for what is signed, sends nothing", () =>
    Effect.gen(function* () {
      // No timer has gone off: the clock is simply later than it was.
      const world = yield* Payer.make({}, Wallet.make({ before: TestClock.setTime(Payer.start + 60_000) }))
      const shop = Shop.make(Shop.paid())
      assert.strictEqual((yield* failure(buy(world, shop.request())))._tag, "SigningFailed")
      assert.strictEqual(yield* world.spent, 0n)
      assert.strictEqual(shop.payments.length, 0)
    })
  )

  it.effect("for an offer that would make headers no server takes sends nothing and keeps nothing", () =>
    Effect.gen(function* () {
      const world = yield* Payer.make()
      const shop = Shop.make(Shop.paid())
      const demanded = yield* Payer.demand(world.client, Shop.refusal(402))
      const demand = { ...demanded, refusal: { ...demanded.refusal, paymentHeaders } }
      const error = yield* failure(world.client.pay(shop.request(), demand))
      assert.strictEqual(error._tag, "SigningFailed")
      assert.include(error.message, `at most ${maximumHeaderLength}`)
      assert.strictEqual(yield* world.spent, 0n)
      assert.strictEqual(shop.payments.length, 0)
    })
  )

  it.effect("that is interrupted leaves nothing behind", () =>
    Effect.gen(function* () {
      const world = yield* Payer.make({}, Wallet.make({ before: Effect.never }))
      const shop = Shop.make(Shop.paid())
      const fiber = yield* Effect.forkChild(buy(world, shop.request()))
      yield* TestClock.adjust("1 second")
      assert.strictEqual(yield* world.spent, 10_000n, "reserved while it is signed")
      yield* Fiber.interrupt(fiber)
      assert.strictEqual(yield* world.spent, 0n)
    })
  )

  it.effect("that is interrupted while it is written down leaves nothing behind", () =>
    Effect.gen(function* () {
      const world = yield* Payer.make()
      const { write } = world.journal
      Object.assign(world.journal, { write: (entry: JournalEntry) => Effect.delay(write(entry), "1 second") })
      const shop = Shop.make(Shop.paid())
      const fiber = yield* Effect.forkChild(buy(world, shop.request()))
      yield* TestClock.adjust("500 millis")
      const interruption = yield* Effect.forkChild(Fiber.interrupt(fiber))
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(interruption)
      assert.strictEqual(yield* world.spent, 0n)
      assert.strictEqual(shop.payments.length, 0)
      assert.isUndefined(yield* world.journal.adopt(yield* PayableRequest.nameOf(shop.request())))
    })
  )
})

describe("a response that failed after the payment", () => {
  it.effect("is given to the caller, and asked for again with the same payment", () =>
    Effect.gen(function* () {
      const world = yield* Payer.make()
      const shop = Shop.make(Shop.paid("oops", 500), Shop.paid("oops", 502), Shop.paid("served"), Shop.paid("next"))
      const first = yield* buy(world, shop.request())
      assert.strictEqual(first.status, 500)
      assert.strictEqual((yield* buy(world, shop.request())).status, 502)
      assert.strictEqual(yield* buyText(world, shop.request()), "served")
      assert.strictEqual(world.wallet.signed.length, 1)
      assert.strictEqual(new Set(shop.payments).size, 1)
      assert.strictEqual(yield* buyText(world, shop.request()), "next")
      assert.strictEqual(world.wallet.signed.length, 2, "what was served is over")
    })
  )

  it.effect("is owed for ten minutes from the first failure", () =>
    Effect.gen(function* () {
      const world = yield* Payer.make()
      const shop = Shop.make(Shop.paid("oops", 500))
      yield* buy(world, shop.request())
      yield* TestClock.adjust("9 minutes")
      yield* buy(world, shop.request())
      assert.strictEqual(world.wallet.signed.length, 1)
      yield* TestClock.adjust("1 minute")
      yield* buy(world, shop.request())
      assert.strictEqual(world.wallet.signed.length, 2)
    })
  )

  it.effect("without a receipt leaves the outcome unknown: the same payment is sent again", () =>
    Effect.gen(function* () {
      const world = yield* Payer.make()
      for (const status of [500, 502, 504, 429, 404]) {
        const shop = Shop.make(
          Shop.reply(() => new Response("proxy", { status })),
          Shop.paid()
        )
        const request = shop.request({ url: `https://shop.example/${status}` })
        assert.strictEqual((yield* buy(world, request)).status, status)
        assert.strictEqual((yield* buy(world, request)).status, 200)
        assert.strictEqual(new Set(shop.payments).size, 1)
      }
      assert.strictEqual(world.wallet.signed.length, 5)
    })
  )

  it.effect("is never read by the client", () =>
    Effect.gen(function* () {
      const world = yield* Payer.make()
      const response = yield* buy(world, Shop.make(Shop.paid()).request())
      assert.isFalse(response.bodyUsed)
    })
  )
})
