import { createServer, type IncomingHttpHeaders, type Server } from "node:http"
import type { AddressInfo } from "node:net"

import { assert, describe, it } from "@effect/vitest"
import { Delivery, FacilitatorUnavailable, MemoryPaymentStore, PaymentStore } from "@pontage/core"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Metric from "effect/Metric"
import * as Queue from "effect/Queue"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/testing/TestClock"

import { WebhookBody } from "../../src/webhooks/WebhookBody.ts"
import * as WebhookDeliverer from "../../src/webhooks/WebhookDeliverer.ts"
import { verifyWebhook } from "../../src/webhooks/WebhookSignature.ts"
import * as TestFacilitator from "../TestFacilitator.ts"

const secret = "a-secret-of-the-shop"
const decode = Schema.decodeUnknownEffect(Schema.fromJsonString(WebhookBody))

interface Received {
  readonly path: string | undefined
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

const listening = (server: Server) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.callback<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void))),
      () => Effect.sync(() => server.close().closeAllConnections())
    ),
    () => `http://127.0.0.1:${(server.address() as AddressInfo).port}/payments`
  )

type Store = PaymentStore.PaymentStore["Service"]

/** A shop that responds with these statuses, one after the other; 0 closes the connection. */
const shop = Effect.fnUntraced(function* (...statuses: ReadonlyArray<number>) {
  const received = yield* Queue.unbounded<Received>()
  let asked = 0
  const server = createServer((request, response) => {
    const chunks: Array<Buffer> = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => {
      const status = statuses[Math.min(asked++, statuses.length - 1)] ?? 200
      Queue.offerUnsafe(received, {
        path: request.url,
        headers: request.headers,
        body: Buffer.concat(chunks).toString()
      })
      if (status === 0) return void request.socket.destroy()
      response.writeHead(status, status === 302 ? { location: "/elsewhere" } : {}).end("ignored")
    })
  })
  return { url: yield* listening(server), received }
})

/** A shop that accepts every webhook and never responds. */
const silentShop = Effect.gen(function* () {
  const received = yield* Queue.unbounded<void>()
  return { url: yield* listening(createServer(() => Queue.offerUnsafe(received, undefined))), received }
})

/** Block that proves the ends. */
const final = { number: 1n, hash: "0xfinal" }

/** Stores the end of an unwanted payment. */
const end = Effect.fnUntraced(function* (store: Store, caller: string, name: string) {
  yield* store.claim({ ...TestFacilitator.stored, paymentId: name, caller, notify: true }, undefined, {
    available: 10n ** 30n
  })
  yield* store.endUnwanted([{ paymentId: name, at: final }])
})

/** Stores the ends of this number of unwanted payments. */
const ends = Effect.fnUntraced(function* (store: Store, caller: string, count: number) {
  const names = Array.from({ length: count }, (_, index) => `${caller}${index}`)
  for (const paymentId of names) {
    const payment = { ...TestFacilitator.stored, paymentId, caller, notify: true }
    yield* store.claim(payment, undefined, { available: 10n ** 30n })
  }
  yield* store.endUnwanted(names.map((paymentId) => ({ paymentId, at: final })))
})

/** Stores a payment that became final. */
const settled = Effect.fnUntraced(function* (
  store: Store,
  caller: string,
  name: string,
  more: Partial<PaymentStore.NewPayment> = {}
) {
  const lane = PaymentStore.LaneName("test:net", "signer")
  const lease = { lane, epoch: 0, isValid: () => true }
  yield* store.claim({ ...TestFacilitator.stored, paymentId: name, caller, notify: true, ...more }, undefined, { lane })
  yield* store.openLane(lease, 0n)
  yield* store.plan(lease, [{ number: 0n, prepared: prepared(0n), paymentIds: [name] }])
  for (const [from, to] of [
    ["planned", "included"],
    ["included", "final"]
  ] as const) {
    yield* store.record(lease, { changes: [{ paymentId: name, from: [from], to }] })
  }
})

const notice = (id: string, at = 0, attempts = 0, caller = "shop"): PaymentStore.Notice => ({
  id,
  attempts,
  at,
  status: "included",
  payment: { ...TestFacilitator.stored, caller, notify: true, status: "final" }
})

interface Closed {
  readonly id: string
  readonly retryInMillis: number | undefined
}

/** A store that hands out these batches of notices, one at each call, and queues the notices that are closed. */
const outbox = Effect.fnUntraced(function* (...batches: ReadonlyArray<ReadonlyArray<PaymentStore.Notice>>) {
  const closed = yield* Queue.unbounded<Closed>()
  const waiting = [...batches]
  return {
    closed,
    methods: {
      takeNotices: () => Effect.sync(() => waiting.shift() ?? []),
      closeNotice: (id: string, retryInMillis?: number) => Effect.asVoid(Queue.offer(closed, { id, retryInMillis }))
    }
  }
})

/** A change of the records by a deliverer. */
type Event = "delivered" | "failed" | "given_up" | "counted"

/** The turns of the scheduler in which a metric follows its event. They bound a wait for a metric that does not exist. */
const turns = 1_000

/** Delivers as long as the test; gives its metrics. */
const deliver = Effect.fnUntraced(function* (
  urls: Readonly<Record<string, string>>,
  methods: Partial<PaymentStore.PaymentStore["Service"]>,
  allowPrivate = true
) {
  const logged: Array<string> = []
  const lines = yield* Queue.unbounded<string>()
  const events = yield* Queue.unbounded<Event>()
  const store = TestFacilitator.store(methods)
  const watched: Store = {
    ...store,
    closeNotice: (id, retryInMillis) =>
      Effect.tap(store.closeNotice(id, retryInMillis), () =>
        Queue.offer(events, retryInMillis === undefined ? "delivered" : "failed")
      ),
    giveUpNotices: (...asked) =>
      Effect.tap(store.giveUpNotices(...asked), (given) =>
        Effect.forEach(given, ([, count]) => Queue.offerAll(events, Array<Event>(count).fill("given_up")))
      ),
    noticeBacklog: Effect.tap(store.noticeBacklog, () => Queue.offer(events, "counted"))
  }
  const inside = Layer.mergeAll(
    Layer.succeed(PaymentStore.PaymentStore, watched),
    Layer.succeed(Metric.MetricRegistry, new Map()),
    Logger.layer([
      Logger.make(({ message }) => {
        logged.push(String(message))
        Queue.offerUnsafe(lines, String(message))
      })
    ])
  )
  const context = yield* Layer.build(
    Layer.provideMerge(
      WebhookDeliverer.layer({
        callers: [
          ...Object.entries(urls).map(([name, url]) => ({
            name,
            keys: [],
            webhook: { url: Redacted.make(url), secret: Redacted.make(secret) }
          })),
          { name: "silent", keys: [] }
        ],
        allowPrivate
      }),
      inside
    )
  )
  const counted = (outcome: string) =>
    Effect.map(Effect.provide(Metric.snapshot, context), (metrics) => {
      const found = metrics.find(
        ({ attributes, id }) => id === "pontage_webhook_deliveries_total" && attributes?.["outcome"] === outcome
      )
      return found?.type === "Counter" ? Number(found.state.count) : 0
    })
  const gauge = (name: string) =>
    Effect.map(Effect.provide(Metric.snapshot, context), (metrics) => {
      const found = metrics.find(({ id }) => id === name)
      return found?.type === "Gauge" ? Number(found.state.value) : -1
    })
  const backlog = Effect.all({
    count: gauge("pontage_webhook_backlog"),
    oldest: gauge("pontage_webhook_oldest_seconds")
  })
  const seen: Record<Event, number> = { delivered: 0, failed: 0, given_up: 0, counted: 0 }
  const next = Effect.map(Queue.take(events), (event) => ++seen[event])
  /** Waits for this number of events in all, and then for the metric that follows them. */
  const reached = Effect.fnUntraced(function* (event: Exclude<Event, "counted">, count: number) {
    while (seen[event] < count) yield* next
    yield* Effect.repeat(Effect.andThen(Effect.yieldNow, counted(event)), {
      until: (shown) => shown >= count,
      times: turns
    })
    const shown = yield* counted(event)
    assert.isTrue(shown >= count && shown <= seen[event] + (yield* Queue.size(events)), `${event}: ${shown}`)
  })
  /** Waits until the records have been counted this number of times in all, and gives the metrics that follow that. */
  const backlogAfter = Effect.fnUntraced(function* (count: number, expected: number) {
    while (seen.counted < count) yield* next
    yield* Effect.repeat(Effect.andThen(Effect.yieldNow, backlog), {
      until: (untold) => untold.count === expected,
      times: turns
    })
    return yield* backlog
  })
  const line = Queue.take(lines)
  return { backlogAfter, counted, line, logged, reached, context: Context.pick(PaymentStore.PaymentStore)(context) }
})

describe("a payment's end", () => {
  it.effect("is delivered with a signature and the whole record, and then closed", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(1_700_000_000_000)
      const { received, url } = yield* shop(204)
      const { closed, methods } = yield* outbox([notice("n1", 1_699_999_999_000)])
      const { reached } = yield* deliver({ shop: url }, methods)
      const { body, headers, path } = yield* Queue.take(received)
      assert.strictEqual(path, "/payments")
      assert.strictEqual(headers["content-type"], "application/json")
      assert.isTrue(verifyWebhook(secret, String(headers["pontage-signature"]), body, 1_700_000_000))
      assert.isFalse(verifyWebhook("another-secret-0001", String(headers["pontage-signature"]), body, 1_700_000_000))
      assert.deepInclude(yield* decode(body), {
        id: "n1",
        at: 1_699_999_999_000,
        paymentId: TestFacilitator.paymentId,
        status: "included",
        serial: "7",
        nonce: "0xnonce",
        validBefore: 1_700_000_060,
        block: { number: "12", hash: "0xb10c" },
        transaction: "0xabc"
      })
      assert.deepStrictEqual(yield* Queue.take(closed), { id: "n1", retryInMillis: undefined })
      yield* reached("delivered", 1)
    })
  )

  it.live.each([301, 302, 400, 404, 410, 500, 503, 0])("is sent again later after a response of %d", (status) =>
    Effect.gen(function* () {
      const { received, url } = yield* shop(status, 200)
      const { closed, methods } = yield* outbox([notice("n1", 0, 3)])
      const { logged } = yield* deliver({ shop: url }, methods)
      yield* Queue.take(received)
      assert.deepStrictEqual(yield* Queue.take(closed), { id: "n1", retryInMillis: 16_000 })
      assert.strictEqual(yield* Queue.size(received), 0)
      assert.notInclude(logged.join(), url)
    })
  )

  it("is sent again after growing pauses, at least every hour", () => {
    const pauses = [0, 1, 2, 3, 10, 11, 100, 5000].map(WebhookDeliverer.retryAfterMillis)
    assert.deepStrictEqual(pauses, [2000, 4000, 8000, 16_000, 2_048_000, 3_600_000, 3_600_000, 3_600_000])
  })

  it.effect("is given up after three days, even when its caller has no webhook any more", () =>
    Effect.gen(function* () {
      const day = 24 * 3_600_000
      const store = yield* MemoryPaymentStore.make
      const { url } = yield* shop(500)
      yield* end(store, "shop", "old")
      yield* end(store, "gone", "theirs")
      yield* TestClock.adjust(3 * day)
      yield* end(store, "shop", "young")
      const { backlogAfter, counted, logged, reached } = yield* deliver({ shop: url }, store)
      yield* reached("failed", 1)
      assert.strictEqual(yield* counted("given_up"), 0)
      assert.deepStrictEqual(yield* backlogAfter(1, 3), { count: 3, oldest: 3 * 86_400 })
      yield* TestClock.adjust("15 seconds")
      yield* reached("given_up", 2)
      assert.strictEqual((yield* backlogAfter(2, 1)).count, 1)
      assert.include(
        logged.join(),
        "1 webhooks of gone are given up: they are older than 3 days, and it has no webhook"
      )
    })
  )

  it.effect("is delivered after an outage of four days, or a clock that went four days ahead", () =>
    Effect.gen(function* () {
      const store = yield* MemoryPaymentStore.make
      const { url } = yield* shop(200)
      yield* ends(store, "shop", 300)
      yield* TestClock.adjust("4 days")
      const { counted, reached } = yield* deliver({ shop: url }, store)
      yield* reached("delivered", 300)
      assert.strictEqual(yield* counted("given_up"), 0)
    })
  )

  it.effect("is tried after an outage of four days, and then given up", () =>
    Effect.gen(function* () {
      const store = yield* MemoryPaymentStore.make
      const { url } = yield* shop(500)
      yield* end(store, "shop", "old")
      yield* TestClock.adjust("4 days")
      const { logged, reached } = yield* deliver({ shop: url }, store)
      yield* reached("failed", 1)
      yield* TestClock.adjust("15 seconds")
      yield* reached("given_up", 1)
      assert.include(logged.join(), "they are older than 3 days, and the receiver has accepted none of them")
    })
  )

  it.effect("is given up untried after three days, once its receiver has failed for an hour", () =>
    Effect.gen(function* () {
      const store = yield* MemoryPaymentStore.make
      const { received, url } = yield* shop(500)
      yield* ends(store, "shop", 180)
      yield* TestClock.adjust("4 days")
      const { counted, reached } = yield* deliver({ shop: url }, store)
      // Sixteen at once, and then one at a time.
      for (let failed = 16; failed < 16 + 119; failed++) {
        yield* reached("failed", failed)
        yield* TestClock.adjust("30 seconds")
      }
      yield* reached("failed", 16 + 119)
      yield* TestClock.adjust("15 seconds")
      yield* reached("given_up", 180)
      assert.strictEqual(yield* Queue.size(received), 16 + 119)
      assert.strictEqual(yield* counted("failed"), 16 + 119)
    })
  )

  it.effect("is not waited for longer than ten seconds", () =>
    Effect.gen(function* () {
      const { received, url } = yield* silentShop
      const { closed, methods } = yield* outbox([notice("n1")])
      const { logged } = yield* deliver({ shop: url }, methods)
      yield* Queue.take(received)
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(yield* Queue.take(closed), { id: "n1", retryInMillis: 2000 })
      assert.include(logged.join(), "no response in time")
    })
  )

  it.effect("is not sent to a private network unless that is allowed", () =>
    Effect.gen(function* () {
      for (const change of [
        (url: string) => url,
        (url: string) => url.replace("http:", "https:"),
        (url: string) => url.replace("http://127.0.0.1", "https://localhost")
      ]) {
        const { received, url } = yield* shop(200)
        const { closed, methods } = yield* outbox([notice("n1")])
        yield* deliver({ shop: change(url) }, methods, false)
        assert.isDefined((yield* Queue.take(closed)).retryInMillis)
        assert.strictEqual(yield* Queue.size(received), 0)
      }
    })
  )

  it.effect("is delivered when the store works again", () =>
    Effect.gen(function* () {
      const { received, url } = yield* shop(200)
      const { closed, methods } = yield* outbox([notice("n1")])
      let down = true
      const takeNotices = () =>
        Effect.suspend(() => {
          if (!down) return methods.takeNotices()
          down = false
          return Effect.fail(new FacilitatorUnavailable({ message: "the store is closed" }))
        })
      const { line } = yield* deliver({ shop: url }, { ...methods, takeNotices })
      assert.include(yield* line, "the store is closed")
      yield* TestClock.adjust("1 second")
      yield* Queue.take(received)
      assert.deepInclude(yield* Queue.take(closed), { id: "n1", retryInMillis: undefined })
    })
  )
})

/** Ends of a caller whose receiver fails, and of a caller whose receiver works. */
const dead = 2000
const good = 400

const prepared = (number: bigint) => ({
  slot: { lane: "signer", number },
  transaction: `0x${number}`,
  bytes: "0x",
  head: 1n,
  cost: 1n
})

describe("a receiver's queue", () => {
  it.effect.each(["responds with 500", "never answers", "hangs up", "is not there"])(
    "does not delay another: one receiver gets its webhooks at once while another one %s",
    (trouble) =>
      Effect.gen(function* () {
        const store = yield* MemoryPaymentStore.make
        const bad = yield* trouble === "never answers" ? silentShop : shop(trouble === "responds with 500" ? 500 : 0)
        const other = yield* shop(200)
        yield* ends(store, "bad", dead)
        yield* ends(store, "shop", good)
        const badUrl = trouble === "is not there" ? "http://127.0.0.1:1/" : bad.url
        const { reached } = yield* deliver({ bad: badUrl, shop: other.url }, store)
        // The test's clock stands still: no delivery waits for it.
        yield* reached("delivered", good)
        assert.strictEqual((yield* store.noticeBacklog).count, dead)
        assert.isAtMost(yield* Queue.size(bad.received), 16)
      })
  )

  it.effect(
    "is asked by one request at a time where it fails, after longer and longer pauses, and at once when it answers",
    () =>
      Effect.gen(function* () {
        const store = yield* MemoryPaymentStore.make
        const { received, url } = yield* shop(...Array.from({ length: 19 }, () => 500), 200)
        yield* ends(store, "shop", 60)
        const { reached } = yield* deliver({ shop: url }, store)
        yield* reached("failed", 16)
        for (const [index, seconds] of [1, 2, 4].entries()) {
          yield* TestClock.adjust(seconds * 1000 - 1)
          assert.strictEqual(yield* Queue.size(received), 16 + index)
          yield* TestClock.adjust("1 second")
          yield* reached("failed", 17 + index)
        }
        yield* TestClock.adjust("8 seconds")
        yield* reached("delivered", 41)
      })
  )

  it.effect("tells the ends of one payment in their order, whatever becomes of the first", () =>
    Effect.gen(function* () {
      const store = yield* MemoryPaymentStore.make
      const { received, url } = yield* shop(500, 200)
      yield* settled(store, "shop", "n1")
      const { reached } = yield* deliver({ shop: url }, store)
      yield* reached("failed", 1)
      yield* TestClock.adjust("1900 millis")
      assert.strictEqual(yield* Queue.size(received), 1)
      yield* TestClock.adjust("1 second")
      yield* reached("delivered", 2)
      const bodies = yield* Effect.forEach(yield* Queue.takeAll(received), ({ body }) => decode(body))
      assert.deepStrictEqual(
        bodies.map(({ status }) => status),
        ["included", "included", "final"]
      )
    })
  )

  it.effect("tells the delivery to another network, with both transactions, after the ends before it", () =>
    Effect.gen(function* () {
      const store = yield* MemoryPaymentStore.make
      const { received, url } = yield* shop(200)
      yield* settled(store, "shop", "n1", { delivery: Delivery.begin("eip155:10") })
      const arrival = { transaction: "0xfar", block: { number: 1n, hash: "0xb" }, amount: 9_900n }
      yield* store.deliver("n1", { _tag: "Delivered", arrival, final: true })
      const { reached } = yield* deliver({ shop: url }, store)
      yield* reached("delivered", 3)
      const bodies = yield* Effect.forEach(yield* Queue.takeAll(received), ({ body }) => decode(body))
      assert.deepStrictEqual(
        bodies.map(({ status }) => status),
        ["included", "final", "delivered"]
      )
      assert.strictEqual(bodies[2]?.transaction, prepared(0n).transaction)
      assert.deepStrictEqual(bodies[2]?.delivery, {
        network: "eip155:10",
        status: "delivered",
        transaction: "0xfar",
        amount: "9900"
      })
    })
  )

  it.effect("keeps its connection, and comes again at once where it was just closed", () =>
    Effect.gen(function* () {
      const store = yield* MemoryPaymentStore.make
      const ports = new Set<number | undefined>()
      const server = createServer((request, response) => {
        ports.add(request.socket.remotePort)
        request.resume().on("end", () => response.end("a word"))
      })
      const url = yield* listening(server)
      const { counted, reached } = yield* deliver({ shop: url }, store)
      for (let index = 0; index < 5; index++) {
        yield* end(store, "shop", `n${index}`)
        yield* reached("delivered", index + 1)
      }
      assert.strictEqual(ports.size, 1)
      server.closeIdleConnections()
      yield* end(store, "shop", "n5")
      yield* reached("delivered", 6)
      assert.strictEqual(yield* counted("failed"), 0)
    })
  )

  it.effect("comes to its turn among hundreds, of which most are dead", () =>
    Effect.gen(function* () {
      const store = yield* MemoryPaymentStore.make
      const dead = Object.fromEntries(
        Array.from({ length: 300 }, (_, index) => [`dead${index}`, "http://127.0.0.1:1/"])
      )
      for (const name of Object.keys(dead)) yield* ends(store, name, 3)
      const { url } = yield* shop(200)
      yield* ends(store, "shop", 60)
      const { reached } = yield* deliver({ ...dead, shop: url }, store)
      yield* reached("delivered", 60)
    })
  )

  it.effect("is not delayed by a response that never ends", () =>
    Effect.gen(function* () {
      const store = yield* MemoryPaymentStore.make
      const server = createServer((_, response) => {
        const more = () => response.write("x".repeat(65_536), () => setImmediate(more))
        response.on("error", () => undefined)
        more()
      })
      const url = yield* listening(server)
      yield* ends(store, "shop", 40)
      const { reached } = yield* deliver({ shop: url }, store)
      yield* reached("delivered", 40)
    })
  )
})
