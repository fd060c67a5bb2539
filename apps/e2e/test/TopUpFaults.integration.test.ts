/** Top-ups whose buyer is killed, whose bridge stands still, or whose facilitator lies: no money is lost, and none is sent twice. */
import { assert, describe, it } from "@effect/vitest"
import { PaymentDeclined, PaymentJournal, SettlementPending } from "@pontage/core"
import { fileJournal } from "@pontage/fetch/node"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"

import * as TopUpMarket from "./TopUpMarket.ts"

const { pathOf, price, purse, withQuotes } = TopUpMarket

type Fetch = typeof globalThis.fetch

const failureOf = (promise: Promise<unknown>): Effect.Effect<unknown> =>
  Effect.promise(() =>
    promise.then(
      (value: unknown) => assert.fail(`expected a failure, got ${String(value)}`),
      (error: unknown) => error
    )
  )

const ruleOf = (error: unknown): string => (error instanceof PaymentDeclined ? error.rule : String(error))

/** A journal in a file, which a killed buyer leaves behind. */
const openJournal = (path: string) => Effect.promise(() => fileJournal(path))

/** A price of units of the token. */
const dollars = (units: bigint) => `$${units / 1_000_000n}.${`${units % 1_000_000n}`.padStart(6, "0")}`

/** Refuses every top-up. */
const refusing: Fetch = async (input, init) =>
  pathOf(input) === "/settle"
    ? Response.json({
        success: false,
        paymentId: `pay_${"a".repeat(22)}`,
        status: "rejected",
        transaction: "",
        network: "eip155:31337",
        reason: "unsupported_authorization",
        detail: "route_fee",
        message: "no"
      })
    : fetch(input, init)

/** A clock that a machine's sleep, or a slow person, moves on. */
const leaping = Effect.map(Clock.Clock, (clock) => {
  let ahead = 0
  return {
    clock: {
      currentTimeMillisUnsafe: () => clock.currentTimeMillisUnsafe() + ahead,
      currentTimeMillis: Effect.sync(() => clock.currentTimeMillisUnsafe() + ahead),
      monotonicTimeNanosUnsafe: () => clock.monotonicTimeNanosUnsafe(),
      monotonicTimeNanos: clock.monotonicTimeNanos,
      currentTimeNanosUnsafe: () => clock.currentTimeNanosUnsafe(),
      currentTimeNanos: clock.currentTimeNanos,
      sleep: (duration: Parameters<typeof clock.sleep>[0]) => clock.sleep(duration)
    },
    leap: (millis: number) => {
      ahead += millis
      return true
    }
  }
})

describe.each(TopUpMarket.kinds)("a top-up is declined before anything is signed (%s)", (kind) => {
  it.live("where a limit, a quote or the facilitator's terms do not allow it", () =>
    Effect.gen(function* () {
      const { account, buyer, first, isArrived, second, signed, there, url } = yield* TopUpMarket.open(kind)
      const quotation = yield* Effect.promise(() => buyer().quote(url))
      const fee = quotation?.payable[0]?.topUp?.fee ?? 0n
      const refused = Effect.fnUntraced(function* (settings: TopUpMarket.BuyerSettings) {
        return ruleOf(yield* failureOf(buyer(settings)(url)))
      })
      // The fee counts beside the price, and as a payment of its own.
      const perDay = dollars(price + fee / 2n)
      assert.strictEqual(yield* refused({ limits: { perRequest: "$30", perDay } }), "over_day_limit")
      const perAsset = { [first.token.address]: { perRequest: "100000000", perDay: `${fee / 2n}` } }
      assert.strictEqual(yield* refused({ limits: { perRequest: "$30", assets: perAsset } }), "over_day_limit")
      const allow = { topUp: true, networks: [second.network] }
      assert.strictEqual(yield* refused({ allow }), "network_not_allowed")
      const dear = withQuotes({ fee: "30000001" })
      assert.strictEqual(yield* refused({ carrier: dear }), "over_request_limit")
      const dearest = withQuotes({ fee: `${purse}` })
      assert.strictEqual(yield* refused({ carrier: dearest, limits: { perRequest: "$1000" } }), "insufficient_funds")
      // A least amount by which the facilitator would have nearly all of the money moved.
      assert.strictEqual(yield* refused({ carrier: withQuotes({ minimumAmount: "90000000" }) }), "over_request_limit")
      // A quote that has ended, or is about to; a bridge or a place that this client does not know; more than there is.
      const now = Math.floor(Date.now() / 1000)
      assert.strictEqual(yield* refused({ carrier: withQuotes({ quotedUntil: now - 1 }) }), "top_up_unavailable")
      assert.strictEqual(yield* refused({ carrier: withQuotes({ quotedUntil: now + 30 }) }), "top_up_unavailable")
      const { stranger } = first.accounts
      assert.strictEqual(yield* refused({ carrier: withQuotes({ bridge: stranger.address }) }), "top_up_unavailable")
      assert.strictEqual(yield* refused({ carrier: withQuotes({ destination: 1 }) }), "top_up_unavailable")
      assert.strictEqual(yield* refused({ confirm: () => false }), "confirm_refused")
      // A person who reads for longer than the quote holds.
      const asleep = yield* leaping
      const late = buyer({ confirm: () => asleep.leap(700_000) }, asleep.clock)
      assert.strictEqual(ruleOf(yield* failureOf(late(url))), "top_up_unavailable")
      assert.deepStrictEqual(signed, [])
      // A payee in a quote means nothing: the money goes to the buyer's own account.
      const cunning = withQuotes({ payTo: stranger.address, recipient: stranger.address })
      const order = { to: second.network, amount: "$10" }
      const receipt = yield* Effect.promise(() => buyer({ carrier: cunning }).topUp(order))
      assert.isTrue(isArrived(receipt.amount, price))
      assert.strictEqual(yield* there, receipt.amount)
      assert.strictEqual(yield* second.balanceOf(stranger.address), 0n)
      assert.strictEqual(yield* Effect.promise(() => first.client.getBalance(account)), 0n)
    })
  )
})

describe.each(TopUpMarket.kinds)("a top-up whose buyer is killed (%s)", (kind) => {
  it.live("between signature and sending is sent after the restart, and not signed again", () =>
    Effect.gen(function* () {
      const { buyer, here, journalFile, runs, topUps, url } = yield* TopUpMarket.open(kind)
      const before = yield* openJournal(journalFile)
      const death = new AbortController()
      const killed: Fetch = (input, init) => {
        if (pathOf(input) === "/settle") death.abort(new Error("killed"))
        return fetch(input, init)
      }
      const call = buyer({ carrier: killed, journal: before.journal })(url, { signal: death.signal })
      assert.include(String(yield* failureOf(call)), "killed")
      yield* Effect.promise(before.close)
      assert.deepStrictEqual([topUps(), runs(), yield* here], [1, 0, purse])
      const after = yield* openJournal(journalFile)
      const response = yield* Effect.promise(() => buyer({ journal: after.journal })(url))
      assert.deepStrictEqual([response.status, topUps(), runs()], [200, 1, 1])
      yield* Effect.promise(after.close)
    })
  )

  it.live("between departure and delivery waits on, however often it is asked, and pays once it has arrived", () =>
    Effect.gen(function* () {
      const { behave, buyer, facilitator, here, journalFile, runs, topUps, there, url } = yield* TopUpMarket.open(kind)
      yield* behave("ignore")
      const before = yield* openJournal(journalFile)
      const death = new AbortController()
      const call = buyer({ journal: before.journal })(url, { signal: death.signal })
      const failed = failureOf(call)
      yield* Effect.repeat(here, { until: (left) => left < purse, schedule: Schedule.spaced("100 millis") })
      death.abort(new Error("killed"))
      assert.include(String(yield* failed), "killed")
      yield* Effect.promise(before.close)
      const left = yield* here
      const after = yield* openJournal(journalFile)
      const asked: Array<unknown> = []
      const paying = buyer({ journal: after.journal, waitSeconds: 1, confirm: (quote) => asked.push(quote) > 0 })
      const order = { to: "eip155:31338", amount: "$10" }
      for (const again of [() => paying(url), () => paying.topUp(order), () => paying(url)]) {
        const pending = yield* failureOf(again())
        assert.instanceOf(pending, SettlementPending)
        assert.include(pending.message, `${facilitator}/payments/${pending.paymentId}`)
        const { entry } = yield* Effect.promise(() => paying.status(pending.paymentId))
        assert.strictEqual(entry?.state, "pending")
      }
      const quotation = yield* Effect.promise(() => paying.quote(url))
      assert.match(quotation?.payable[0]?.topUp?.paymentId ?? "", /^pay_/)
      assert.deepStrictEqual([topUps(), runs(), yield* here, yield* there, asked.length], [1, 0, left, 0n, 0])
      yield* behave("deliver")
      yield* Effect.repeat(there, { until: (amount) => amount >= price, schedule: Schedule.spaced("100 millis") })
      const patient = buyer({ journal: after.journal })
      const response = yield* Effect.promise(() => patient(url))
      assert.deepStrictEqual([response.status, topUps(), runs(), yield* here], [200, 1, 1, left])
      // It is over, although nothing waited for it any more.
      const { entry } = yield* Effect.promise(() => patient.status(quotation?.payable[0]?.topUp?.paymentId ?? ""))
      assert.strictEqual(entry?.state, "settled")
      yield* Effect.promise(after.close)
    })
  )
})

describe.each(TopUpMarket.kinds)("a top-up that does not arrive (%s)", (kind) => {
  it.live("is waited for as long as the buyer says, however long nodes and the facilitator take", () =>
    Effect.gen(function* () {
      const { behave, buyer, topUps, url } = yield* TopUpMarket.open(kind)
      yield* behave("ignore")
      const slow = yield* leaping
      let looks = 0
      const carrier: Fetch = (input, init) => {
        if (pathOf(input).startsWith("/payments/") && ++looks > 0) slow.leap(400_000)
        return fetch(input, init)
      }
      assert.instanceOf(yield* failureOf(buyer({ carrier }, slow.clock)(url)), SettlementPending)
      assert.deepStrictEqual([looks, topUps()], [3, 1])
    })
  )
})

describe.each(TopUpMarket.kinds)("a facilitator that lies about a top-up (%s)", (kind) => {
  it.live("and says that it was delivered, is not believed, and nothing is signed twice", () =>
    Effect.gen(function* () {
      const { buyer, here, runs, topUps, there, url } = yield* TopUpMarket.open(kind)
      const hash = `0x${"ab".repeat(32)}`
      const lying: Fetch = async (input, init) => {
        const path = pathOf(input)
        if (path === "/supported") return fetch(input, init)
        const body = JSON.parse(typeof init?.body === "string" ? init.body : "{}") as {
          paymentRequirements?: Record<string, unknown>
        }
        const { asset, maxAmountRequired: amount, network, payTo } = body.paymentRequirements ?? {}
        const paymentId = path.startsWith("/payments/") ? path.slice(10) : `pay_${"a".repeat(22)}`
        const settled = { transaction: hash, network, asset, amount, payTo, payer: payTo, paymentId }
        if (path === "/settle") return Response.json({ ...settled, success: true, status: "final" })
        const delivery = { network: "eip155:31338", status: "delivered", transaction: hash, amount: `${price}` }
        const record = { ...settled, network: "eip155:31337", asset: "0x", amount: "1", payTo: "0x", payer: "0x" }
        return Response.json({ ...record, status: "final", execution: "free", runs: 0, delivery, history: [] })
      }
      const journal = PaymentJournal.make(PaymentJournal.memoryLog())
      for (const _ of [1, 2]) {
        const pending = yield* failureOf(buyer({ carrier: lying, journal, waitSeconds: 1 })(url))
        assert.instanceOf(pending, SettlementPending)
      }
      assert.deepStrictEqual([topUps(), runs(), yield* here, yield* there], [1, 0, purse, 0n])
      const response = yield* Effect.promise(() => buyer({ journal })(url))
      assert.deepStrictEqual([response.status, topUps(), runs()], [200, 1, 1])
    })
  )

  it.live("and refuses it, has its authorization until that ends, and then another one is asked for", () =>
    Effect.gen(function* () {
      const { buyer, first, here, topUps, url } = yield* TopUpMarket.open(kind)
      const journal = PaymentJournal.make(PaymentJournal.memoryLog())
      const asked: Array<unknown> = []
      const settings = { carrier: refusing, journal, confirm: (quote: unknown) => asked.push(quote) === 1 }
      for (const _ of [1, 2]) assert.include(String(yield* failureOf(buyer(settings)(url))), "no")
      assert.deepStrictEqual([topUps(), asked.length], [1, 1])
      // Dead by the chain's own clock, and by nothing else.
      const { timestamp } = yield* Effect.promise(() => first.client.getBlock())
      yield* first.setNextBlockTimestamp(timestamp + 240n)
      yield* first.mine(1)
      assert.strictEqual(ruleOf(yield* failureOf(buyer(settings)(url))), "confirm_refused")
      assert.deepStrictEqual([topUps(), asked.length, yield* here], [1, 2, purse])
    })
  )
})

describe.each(TopUpMarket.kinds)("top-ups of one account (%s)", (kind) => {
  it.live("are one at a time, and bring at least what the buyer says", () =>
    Effect.gen(function* () {
      const { buyer, isArrived, runs, there, topUps, url } = yield* TopUpMarket.open(kind)
      const paying = buyer({ atLeast: "$25" })
      const responses = yield* Effect.promise(() => Promise.all([paying(url), paying(`${url}?again`)]))
      assert.deepStrictEqual(
        responses.map(({ status }) => status),
        [200, 200]
      )
      assert.deepStrictEqual([topUps(), runs()], [1, 2])
      assert.isTrue(isArrived(yield* there, 25_000_000n - 2n * price))
      // The rest of it is used, and only the difference would be brought.
      const exact = buyer()
      const quotation = yield* Effect.promise(() => exact.quote(url))
      assert.strictEqual(quotation?.payable[0]?.topUp?.amount, price - (yield* there))
    })
  )
})
