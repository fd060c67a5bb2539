/**
 * Two tabs that ask for the same thing: neither waits for the other's answer, and what one of them was served is never
 * hidden by what the other was refused.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"

import { isChannel, type JournalLine } from "../../src/client/ChannelEntry.ts"
import { buy, buyText, failure } from "./Payer.ts"
import * as Payer from "./Payer.ts"
import * as Shop from "./Shop.ts"
import * as Tabs from "./Tabs.ts"
import * as Wallet from "./Wallet.ts"

const wait = Shop.refuse(409, { retry: "wait", paymentState: "sent" }, { "Retry-After": "5" })
const used = Shop.refuse(409, { reason: "already_used", detail: "spent", retry: "never" })

/** Two tabs of one wallet. */
const two = Effect.fnUntraced(function* (browser: ReturnType<typeof Tabs.make> = Tabs.make()) {
  const wallet = Wallet.make()
  const tabs = [browser.open(), browser.open()] as const
  const one = yield* Payer.make({}, wallet, tabs[0].journal)
  const other = yield* Payer.make({}, wallet, tabs[1].journal)
  return { wallet, tabs, one, other }
})

/** Ends a payment as its mark is taken. */
const endOnTake = (id: string, lines: Array<JournalLine>) => {
  const pending = lines.findLast((line) => line.id === id && "state" in line && line.state === "pending")
  if (pending !== undefined && !isChannel(pending)) lines.push({ ...pending, state: "settled" })
}

describe("a payment that one tab waits for", () => {
  it.effect("is not sent by another, which buys for itself", () =>
    Effect.gen(function* () {
      const { one, other, wallet } = yield* two()
      const slow = Shop.make(wait, Shop.paid("one's"))
      const waiting = yield* Effect.forkChild(buyText(one, slow.request()))
      yield* TestClock.adjust(0)
      const shop = Shop.make(Shop.paid("other's"))
      assert.strictEqual(yield* buyText(other, shop.request()), "other's")
      assert.notStrictEqual(shop.payments[0], slow.payments[0])
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual(yield* Fiber.join(waiting), "one's")
      assert.strictEqual(wallet.signed.length, 2)
    })
  )

  it.effect("is sent by another once that tab has gone", () =>
    Effect.gen(function* () {
      const { one, other, tabs, wallet } = yield* two()
      const gone = Shop.make(Shop.never)
      yield* Effect.forkChild(buy(one, gone.request()))
      yield* TestClock.adjust(0)
      tabs[0].close()
      const shop = Shop.make(Shop.paid())
      assert.strictEqual(yield* buyText(other, shop.request()), "the report")
      assert.deepStrictEqual(shop.payments, gone.payments)
      assert.strictEqual(wallet.signed.length, 1)
    })
  )

  it.effect("is left alone where it has ended while its mark was asked for", () =>
    Effect.gen(function* () {
      const { one, other, tabs, wallet } = yield* two(Tabs.make({ onTake: endOnTake }))
      yield* Effect.forkChild(buy(one, Shop.make(Shop.never).request()))
      yield* TestClock.adjust(0)
      tabs[0].close()
      const shop = Shop.make(Shop.paid("new"))
      assert.strictEqual(yield* buyText(other, shop.request()), "new")
      assert.strictEqual(shop.payments.length, 1)
      assert.strictEqual(wallet.signed.length, 2)
    })
  )
})

describe("where the marks fail", () => {
  it.effect("a refusal does not hide that the other tab was served: both buy anew", () =>
    Effect.gen(function* () {
      const { one, other, wallet } = yield* two(Tabs.make({ marksFail: true }))
      const slow = Shop.make(wait, Shop.paid("one's"))
      const waiting = yield* Effect.forkChild(buyText(one, slow.request()))
      yield* TestClock.adjust(0)
      const late = Shop.make(wait, used, Shop.paid("other's"))
      const resuming = yield* Effect.forkChild(buyText(other, late.request()))
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual(yield* Fiber.join(waiting), "one's")
      assert.strictEqual(yield* Fiber.join(resuming), "other's", "what was asked for is bought, not refused")
      assert.strictEqual(new Set([...slow.payments, ...late.payments.slice(0, 2)]).size, 1)
      assert.strictEqual(wallet.signed.length, 2)
      for (const payer of [one, other]) {
        assert.strictEqual(yield* buyText(payer, Shop.make(Shop.paid("next")).request()), "next")
      }
    })
  )

  it.effect("the buyer whose payment was served to the other tab is told, and its next call buys anew", () =>
    Effect.gen(function* () {
      const { one, other, wallet } = yield* two(Tabs.make({ marksFail: true }))
      const shop = Shop.make(wait, used)
      const waiting = yield* Effect.forkChild(failure(buy(one, shop.request())))
      yield* TestClock.adjust(0)
      assert.strictEqual(yield* buyText(other, Shop.make(Shop.paid()).request()), "the report")
      yield* TestClock.adjust("5 seconds")
      assert.include(yield* Fiber.join(waiting), { _tag: "ValidationError", reason: "already_used" })
      assert.strictEqual(wallet.signed.length, 1)
      assert.strictEqual(yield* buyText(one, Shop.make(Shop.paid("next")).request()), "next")
    })
  )
})

describe("an owed answer", () => {
  const owed = Effect.fnUntraced(function* (reply: Shop.Reply) {
    const world = yield* Payer.make()
    const shop = Shop.make(Shop.paid("oops", 500), reply, Shop.paid("served"))
    assert.strictEqual((yield* buy(world, shop.request())).status, 500)
    const error = yield* failure(buy(world, shop.request()))
    assert.strictEqual(yield* buyText(world, shop.request()), "served")
    return { error, payments: shop.payments, signed: world.wallet.signed.length }
  })

  it.effect("is asked for again though the server said no in between", () =>
    Effect.gen(function* () {
      const { payments, signed } = yield* owed(Shop.refuse(402, { code: "INVALID_SIGNATURE" }))
      assert.strictEqual(signed, 1)
      assert.strictEqual(new Set(payments).size, 1)
    })
  )

  it.effect("is over once the server says that its payment was used; the caller is told, the next call buys anew", () =>
    Effect.gen(function* () {
      const { error, payments, signed } = yield* owed(used)
      assert.include(error, { _tag: "ValidationError", reason: "already_used" })
      assert.strictEqual(signed, 2)
      assert.strictEqual(new Set(payments).size, 2)
    })
  )
})
