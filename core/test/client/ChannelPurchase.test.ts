/** A buyer's purchases through a payment channel, at a shop and a node that play the responses they are given. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Result from "effect/Result"
import * as TestClock from "effect/testing/TestClock"

import * as ChannelPurchase from "../../src/client/ChannelPurchase.ts"
import type { PurchasingClient } from "../../src/client/OwnPurchase.ts"
import type * as PaymentClient from "../../src/client/PaymentClient.ts"
import type { ChannelSigner, ChannelStanding, DrawRequest } from "../../src/scheme/ChannelSigner.ts"
import { SigningFailed } from "../../src/scheme/SchemeClient.ts"
import { buy, buyText, demand, failure } from "./Payer.ts"
import * as Payer from "./Payer.ts"
import * as Shop from "./Shop.ts"
import * as Wallet from "./Wallet.ts"

const offer = (price: bigint, extra = {}) => ({ accepts: [Wallet.offer({ maxAmountRequired: `${price}`, extra })] })

/** The first refusal of a request, with its price. */
const priced = (price: bigint) => Shop.refusal(402, offer(price))

/** A correction to a charge that this payer's own voucher proves. */
const correct = (charged: bigint) => Shop.refuse(402, offer(100n, { charged: `${charged}` }))

const other = { url: "https://shop.example/other" }

/** A payer through one channel; its node says what `node.standing` is at the time, and `drawn` holds what it has signed. */
const payerOf = Effect.fnUntraced(function* (
  standing: Omit<ChannelStanding, "isClosing" | "time">,
  options: PaymentClient.Options = {}
) {
  const node = { standing, time: 0, fails: false }
  const drawn: Array<Pick<DrawRequest, "ceiling" | "deposit">> = []
  const signer: ChannelSigner = {
    channelOf: () => ({ id: "0xa", terms: {}, withdrawDelay: 900, leastDeposit: 0n, wantedDeposit: 0n }),
    read: () =>
      Effect.suspend(() =>
        node.fails
          ? Effect.fail(new SigningFailed({ message: "the payment channel cannot be read, so nothing was signed" }))
          : Effect.succeed({ ...node.standing, isClosing: false, time: node.time })
      ),
    sign: ({ ceiling, deposit }) =>
      Effect.sync(() => {
        drawn.push({ ceiling, deposit })
        return { payer: Shop.receipt.payer, payload: { ceiling: `${ceiling}` }, deposit: deposit && {} }
      }),
    signRefund: ({ charged }) =>
      Effect.sync(() => {
        drawn.push({ ceiling: charged, deposit: undefined })
        return { payer: Shop.receipt.payer, payload: { refund: `${charged}` }, deposit: undefined }
      }),
    chargeOf: () => undefined,
    correctionOf: ({ accepts }) => {
      const charged = accepts[0]?.extra?.["charged"]
      return typeof charged === "string" ? { charged: BigInt(charged), proven: BigInt(charged) } : undefined
    }
  }
  const schemeClient: PurchasingClient = { ...Wallet.make().schemeClient, purchase: ChannelPurchase.make(signer) }
  const payer = yield* Payer.make({ limits: { perChannel: "$5" }, ...options }, { schemeClient, signed: [] })
  return { ...payer, node, drawn, ceilings: () => drawn.map(({ ceiling }) => ceiling) }
})

describe("a node that shows claims which the payer has not signed for", () => {
  const lie = { balance: 1_000_000n, claimed: 1_000_000n }

  it.effect("gets neither a deposit nor a voucher nor a refund signed", () =>
    Effect.gen(function* () {
      const payer = yield* payerOf({ balance: 100n, claimed: 0n })
      const shop = Shop.make(Shop.paid())
      assert.strictEqual(yield* buyText(payer, shop.request(), priced(100n)), "the report")
      payer.node.standing = lie
      const declined = yield* failure(buy(payer, shop.request(), priced(10n)))
      assert.deepInclude(declined, { _tag: "PaymentDeclined", rule: "terms_unsupported" })
      const demanded = yield* demand(payer.client, priced(10n))
      assert.deepInclude(yield* failure(payer.client.refund(shop.request(), demanded)), { _tag: "PaymentDeclined" })
      assert.deepStrictEqual(payer.drawn, [{ ceiling: 100n, deposit: undefined }])
      const [book] = [...(yield* payer.journal.channels).values()]
      assert.deepInclude(book, { balance: "100", claimed: "0", charged: "100", signed: "100" })
    })
  )

  it.effect("is followed where the journal does not know the channel", () =>
    Effect.gen(function* () {
      const payer = yield* payerOf({ balance: 1000n, claimed: 500n })
      assert.strictEqual(yield* buyText(payer, Shop.make(Shop.paid()).request(), priced(100n)), "the report")
      assert.deepStrictEqual(payer.ceilings(), [600n])
    })
  )
})

describe("claims of a channel that the journal does not know", () => {
  const spent = { balance: 500n, claimed: 500n }

  it.effect("are no ground for a deposit, which the vouchers of an earlier journal could claim", () =>
    Effect.gen(function* () {
      const payer = yield* payerOf(spent)
      const declined = yield* failure(buy(payer, Shop.make(Shop.paid()).request(), priced(100n)))
      assert.deepInclude(declined, { _tag: "PaymentDeclined", rule: "over_channel_limit" })
      assert.include(declined.message, "another salt")
      assert.deepStrictEqual(payer.drawn, [])
    })
  )

  it.effect("let a node and a shop have the rest of the balance, and no deposit after it", () =>
    Effect.gen(function* () {
      const payer = yield* payerOf({ balance: 600n, claimed: 500n })
      const shop = Shop.make(Shop.paid())
      assert.strictEqual(yield* buyText(payer, shop.request(), priced(100n)), "the report")
      payer.node.standing = { balance: 600n, claimed: 600n }
      const declined = yield* failure(buy(payer, shop.request(other), priced(100n)))
      assert.deepInclude(declined, { _tag: "PaymentDeclined", rule: "over_channel_limit" })
      assert.deepStrictEqual(payer.drawn, [{ ceiling: 600n, deposit: undefined }])
    })
  )

  it.effect("that a voucher of the payer's own proves let it deposit again", () =>
    Effect.gen(function* () {
      const payer = yield* payerOf({ balance: 1000n, claimed: 500n })
      const shop = Shop.make(correct(900n), Shop.paid())
      assert.strictEqual(yield* buyText(payer, shop.request(), priced(100n)), "the report")
      assert.strictEqual(yield* buyText(payer, shop.request(other), priced(100n)), "the report")
      assert.deepStrictEqual(
        payer.drawn.map(({ deposit }) => deposit?._tag),
        [undefined, undefined, "New"]
      )
    })
  )
})

describe("a journal that was lost", () => {
  it.effect("has a purchase sign for its own amount once, where the shop has a voucher as high as its own", () =>
    Effect.gen(function* () {
      const payer = yield* payerOf({ balance: 1000n, claimed: 0n })
      const shop = Shop.make(correct(100n), Shop.paid())
      const error = yield* failure(buy(payer, shop.request(), priced(100n)))
      assert.deepInclude(error, { reason: "already_used", detail: "voucher_charged" })
      assert.deepStrictEqual(payer.ceilings(), [100n])
      assert.strictEqual(yield* buyText(payer, shop.request(), priced(100n)), "the report")
      assert.deepStrictEqual(payer.ceilings(), [100n, 200n])
    })
  )

  it.effect("is made up for by a correction to any other voucher", () =>
    Effect.gen(function* () {
      const payer = yield* payerOf({ balance: 1000n, claimed: 0n })
      const shop = Shop.make(correct(300n), Shop.paid())
      assert.strictEqual(yield* buyText(payer, shop.request(), priced(100n)), "the report")
      assert.deepStrictEqual(payer.ceilings(), [100n, 400n])
    })
  )
})

describe("a node that hangs", () => {
  it.effect("has no second deposit signed before a block shows that the first one is over", () =>
    Effect.gen(function* () {
      const payer = yield* payerOf({ balance: 0n, claimed: 0n })
      const shop = Shop.make(Shop.paid(), Shop.paid())
      assert.strictEqual(yield* buyText(payer, shop.request(), priced(100n)), "the report")
      yield* TestClock.adjust("2 hours")
      const declined = yield* failure(buy(payer, shop.request(other), priced(100n)))
      assert.deepInclude(declined, { _tag: "PaymentDeclined", rule: "over_channel_limit" })
      payer.node.time = 7_200
      assert.strictEqual(yield* buyText(payer, shop.request(other), priced(100n)), "the report")
      assert.deepStrictEqual(
        payer.drawn.map(({ deposit }) => deposit?._tag),
        ["New", "New"]
      )
    })
  )
})

describe("a purchase that is interrupted", () => {
  /** The purchase's steps in the journal take a second after they are durable, and it is interrupted in the second one. */
  const interrupted = Effect.fnUntraced(function* (halfSeconds: number) {
    const payer = yield* payerOf({ balance: 1000n, claimed: 0n })
    const { draw } = payer.journal
    const slow: typeof draw = (...step) => Effect.uninterruptible(Effect.tap(draw(...step), Effect.sleep("1 second")))
    Object.assign(payer.journal, { draw: slow })
    const shop = Shop.make(Shop.paid())
    const fiber = yield* Effect.forkChild(buy(payer, shop.request(), priced(100n)))
    yield* TestClock.adjust(`${halfSeconds * 500} millis`)
    const interruption = yield* Effect.forkChild(Fiber.interrupt(fiber))
    yield* TestClock.adjust("2 seconds")
    yield* Fiber.join(interruption)
    Object.assign(payer.journal, { draw })
    assert.strictEqual(shop.payments.length, 0)
    return { payer, shop }
  })

  it.effect("while its voucher is written has it counted: the books never forget what was signed", () =>
    Effect.gen(function* () {
      const { payer, shop } = yield* interrupted(3)
      const [book] = [...(yield* payer.journal.channels).values()]
      assert.strictEqual(book?.signed, "100")
      assert.strictEqual(yield* payer.spent, 100n)
      assert.strictEqual(yield* buyText(payer, shop.request(), priced(100n)), "the report")
      assert.deepStrictEqual(payer.ceilings(), [100n], "the repetition sends the same voucher")
      assert.strictEqual(yield* payer.spent, 100n)
    })
  )

  it.effect("while it is reserved leaves nothing behind", () =>
    Effect.gen(function* () {
      const { payer } = yield* interrupted(1)
      assert.strictEqual(yield* payer.spent, 0n)
      assert.deepStrictEqual(payer.ceilings(), [])
    })
  )
})

describe("another host that copies the shop's offer", () => {
  it.effect("and never responds holds up no purchase at the shop, which needs no higher voucher", () =>
    Effect.gen(function* () {
      const payer = yield* payerOf({ balance: 1000n, claimed: 0n })
      const thief = Shop.make(Shop.never)
      const copy = { url: "https://copy.example/report" }
      yield* Effect.forkChild(buy(payer, thief.request(copy), priced(100n)))
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(payer.ceilings(), [100n])
      const shop = Shop.make(Shop.paid())
      const buying = yield* Effect.forkChild(buyText(payer, shop.request(), priced(100n)))
      yield* TestClock.adjust("1 second")
      assert.isDefined(buying.pollUnsafe())
      assert.strictEqual(yield* Fiber.join(buying), "the report")
      assert.deepStrictEqual(payer.ceilings(), [100n, 100n])
    })
  )
})

/** A request whose connection ends before a response. */
const lose = Effect.fnUntraced(function* (payer: Payer.Payer, shop: Shop.Shop) {
  const lost = yield* Effect.forkChild(buy(payer, shop.request(), priced(100n)))
  yield* TestClock.adjust("1 second")
  yield* Fiber.interrupt(lost)
})

describe("a response that was lost before another request was charged", () => {
  const used = { reason: "already_used", detail: "voucher_charged" }

  it.effect("is reported once where a correction showed its charge, and is not paid twice in silence", () =>
    Effect.gen(function* () {
      const payer = yield* payerOf({ balance: 1000n, claimed: 0n })
      const shop = Shop.make(Shop.never, correct(100n), Shop.paid(), correct(200n), Shop.paid())
      yield* lose(payer, shop)
      assert.strictEqual(yield* buyText(payer, shop.request(other), priced(100n)), "the report")
      const again = () => buy(payer, shop.request(), priced(100n))
      assert.deepInclude(yield* failure(again()), used)
      assert.deepStrictEqual(payer.ceilings(), [100n, 100n, 200n])
      assert.strictEqual((yield* again()).status, 200)
      assert.deepStrictEqual(payer.ceilings(), [100n, 100n, 200n, 300n])
    })
  )

  it.effect("is reported once where the chain showed its charge", () =>
    Effect.gen(function* () {
      const payer = yield* payerOf({ balance: 100n, claimed: 0n })
      const shop = Shop.make(Shop.never, Shop.paid(), correct(210n), Shop.paid())
      yield* lose(payer, shop)
      payer.node.standing = { balance: 1000n, claimed: 100n }
      assert.strictEqual(yield* buyText(payer, shop.request(other), priced(110n)), "the report")
      assert.deepStrictEqual(payer.ceilings(), [100n, 210n])
      assert.deepInclude(yield* failure(buy(payer, shop.request(), priced(100n))), used)
      assert.deepStrictEqual(payer.ceilings(), [100n, 210n])
    })
  )

  it.effect("is bought where the other request was served for the same voucher, so that this one is not charged", () =>
    Effect.gen(function* () {
      const payer = yield* payerOf({ balance: 1000n, claimed: 0n })
      const shop = Shop.make(Shop.never, Shop.paid(), correct(100n), Shop.paid())
      yield* lose(payer, shop)
      assert.strictEqual(yield* buyText(payer, shop.request(other), priced(100n)), "the report")
      assert.strictEqual((yield* buy(payer, shop.request(), priced(100n))).status, 200)
      assert.deepStrictEqual(payer.ceilings(), [100n, 100n, 200n])
    })
  )
})

describe("a shop that does not respond to the request for a refund", () => {
  const rich = { balance: 1000n, claimed: 0n }

  it.effect("leaves the outcome unknown after two minutes, and the channel free", () =>
    Effect.gen(function* () {
      const payer = yield* payerOf(rich)
      const demanded = yield* demand(payer.client, priced(100n))
      const refunding = yield* Effect.forkChild(failure(payer.client.refund(Shop.make(Shop.never).request(), demanded)))
      yield* TestClock.adjust("119 seconds")
      assert.isUndefined(refunding.pollUnsafe())
      yield* TestClock.adjust("1 second")
      const error = yield* Fiber.join(refunding)
      assert.deepInclude(error, {
        _tag: "RefundUnanswered",
        host: "shop.example",
        channelId: "0xa",
        isAsked: true,
        message:
          "the outcome of the refund by shop.example is unknown (no response within 120000 ms); read the channel's balance, ask again, or withdraw without the shop"
      })
      assert.strictEqual(yield* buyText(payer, Shop.make(Shop.paid()).request(), priced(100n)), "the report")
    })
  )

  it.effect("is waited for as long as the option says", () =>
    Effect.gen(function* () {
      const payer = yield* payerOf(rich, { refundTimeoutMillis: 5_000 })
      const demanded = yield* demand(payer.client, priced(100n))
      const refunding = yield* Effect.forkChild(failure(payer.client.refund(Shop.make(Shop.never).request(), demanded)))
      yield* TestClock.adjust("5 seconds")
      assert.deepInclude(yield* Fiber.join(refunding), { _tag: "RefundUnanswered", isAsked: true })
    })
  )

  it.effect("was not asked where a purchase of the channel is without a response before", () =>
    Effect.gen(function* () {
      const payer = yield* payerOf(rich)
      const demanded = yield* demand(payer.client, priced(100n))
      yield* Effect.forkChild(buy(payer, Shop.make(Shop.never).request(other), priced(100n)))
      yield* TestClock.adjust("1 second")
      const shop = Shop.make(Shop.never)
      const refunding = yield* Effect.forkChild(failure(payer.client.refund(shop.request(), demanded)))
      yield* TestClock.adjust("120 seconds")
      assert.deepInclude(yield* Fiber.join(refunding), { _tag: "RefundUnanswered", isAsked: false })
      assert.deepStrictEqual(shop.payments, [])
    })
  )

  it.effect("leaves the outcome unknown too if each response does", () =>
    Effect.gen(function* () {
      const payer = yield* payerOf(rich)
      const demanded = yield* demand(payer.client, priced(100n))
      const pending = Shop.refuse(409, { retry: "wait", paymentState: "sent" })
      const refunding = Effect.result(payer.client.refund(Shop.make(pending).request(), demanded))
      const outcome = yield* Payer.waitingOut(refunding)
      assert.isTrue(Result.isFailure(outcome))
      if (Result.isFailure(outcome)) assert.deepInclude(outcome.failure, { _tag: "RefundUnanswered", isAsked: true })
    })
  )

  it.effect("has no bound that is no time", () =>
    Effect.gen(function* () {
      const refused = yield* Effect.exit(payerOf(rich, { refundTimeoutMillis: 0 }))
      assert.isTrue(Exit.isFailure(refused))
      assert.include(String(refused), "refundTimeoutMillis")
    })
  )
})

describe("a refund that its shop says is made, where the node does not answer", () => {
  const asked = Effect.fnUntraced(function* () {
    const payer = yield* payerOf({ balance: 1000n, claimed: 0n })
    const demanded = yield* demand(payer.client, priced(100n))
    const made = () => {
      payer.node.fails = true
      return Shop.paid("", 200, {})()
    }
    const refunding = yield* Effect.forkChild(Effect.result(payer.client.refund(Shop.make(made).request(), demanded)))
    yield* TestClock.adjust("1 second")
    assert.isUndefined(refunding.pollUnsafe())
    return { payer, refunding }
  })

  it.effect("is looked for again", () =>
    Effect.gen(function* () {
      const { payer, refunding } = yield* asked()
      Object.assign(payer.node, { fails: false, standing: { balance: 400n, claimed: 0n } })
      yield* TestClock.adjust("1 second")
      const back = Result.getOrThrow(yield* Fiber.join(refunding))
      assert.deepStrictEqual(back, { channelId: "0xa", transaction: Shop.receipt.transaction, amount: 600n })
    })
  )

  it.effect("is told with its transaction if it is never seen", () =>
    Effect.gen(function* () {
      const { refunding } = yield* asked()
      yield* TestClock.adjust("1 minute")
      const outcome = yield* Fiber.join(refunding)
      assert.isTrue(Result.isFailure(outcome))
      if (Result.isFailure(outcome))
        assert.include(outcome.failure.message, `${Shop.receipt.transaction} has made the refund`)
    })
  )
})
