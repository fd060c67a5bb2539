import { createServer, type IncomingHttpHeaders } from "node:http"
import type { AddressInfo } from "node:net"

import { assert, describe, it } from "@effect/vitest"
import { FacilitatorUnavailable, PaymentStore } from "@pontage/core"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Metric from "effect/Metric"
import * as Queue from "effect/Queue"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/testing/TestClock"

import { WebhookBody } from "../src/WebhookBody.ts"
import * as WebhookDeliverer from "../src/WebhookDeliverer.ts"
import { verifyWebhook } from "../src/WebhookSignature.ts"
import * as TestFacilitator from "./TestFacilitator.ts"

const secret = "a-secret-of-the-shop"
const decode = Schema.decodeUnknownEffect(Schema.fromJsonString(WebhookBody))

interface Received {
  readonly path: string | undefined
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** A shop that answers its webhooks as it is told, one status after the other; 0 hangs up. */
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
  yield* Effect.acquireRelease(
    Effect.callback<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void))),
    () => Effect.sync(() => server.close().closeAllConnections())
  )
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/payments`, received }
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
  readonly retryAt: number | undefined
}

/** A store that hands these notices out, one batch each time it is asked, and tells what is closed. */
const outbox = Effect.fnUntraced(function* (...batches: ReadonlyArray<ReadonlyArray<PaymentStore.Notice>>) {
  const closed = yield* Queue.unbounded<Closed>()
  const waiting = [...batches]
  return {
    closed,
    methods: {
      takeNotices: () => Effect.sync(() => waiting.shift() ?? []),
      closeNotice: (id: string, retryAt?: number) => Effect.asVoid(Queue.offer(closed, { id, retryAt }))
    }
  }
})

/** Delivers as long as the test; gives its metrics. */
const deliver = Effect.fnUntraced(function* (
  url: string,
  methods: Partial<PaymentStore.PaymentStore["Service"]>,
  allowPrivate = true
) {
  const webhook = { url: Redacted.make(url), secret: Redacted.make(secret) }
  const logged: Array<string> = []
  const inside = Layer.mergeAll(
    Layer.succeed(PaymentStore.PaymentStore, TestFacilitator.store(methods)),
    Layer.succeed(Metric.MetricRegistry, new Map()),
    Logger.layer([Logger.make(({ message }) => void logged.push(String(message)))])
  )
  const context = yield* Layer.build(
    Layer.provideMerge(
      WebhookDeliverer.layer({
        callers: [
          { name: "shop", keys: [], webhook },
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
  return { counted, logged, context: Context.pick(PaymentStore.PaymentStore)(context) }
})

describe("a payment's end", () => {
  it.effect("is told, signed, with all that is on record, and then closed", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(1_700_000_000_000)
      const { received, url } = yield* shop(204)
      const { closed, methods } = yield* outbox([notice("n1", 1_699_999_999_000)])
      const { counted } = yield* deliver(url, methods)
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
      assert.deepStrictEqual(yield* Queue.take(closed), { id: "n1", retryAt: undefined })
      yield* Effect.repeat(counted("told"), { until: (told) => told === 1 })
    })
  )

  it.live.each([301, 302, 400, 404, 410, 500, 503, 0])("is told again later where the answer is %d", (status) =>
    Effect.gen(function* () {
      const { received, url } = yield* shop(status, 200)
      const { closed, methods } = yield* outbox([notice("n1", Number.MAX_SAFE_INTEGER, 3)])
      const { logged } = yield* deliver(url, methods)
      yield* Queue.take(received)
      const { id, retryAt } = yield* Queue.take(closed)
      assert.strictEqual(id, "n1")
      assert.isAbove(retryAt ?? 0, 0)
      assert.strictEqual(yield* Queue.size(received), 0)
      assert.notInclude(logged.join(), url)
    })
  )

  it("is told again after longer and longer, at least every hour", () => {
    const pauses = [0, 1, 2, 3, 10, 11, 100, 5000].map(WebhookDeliverer.retryAfterMillis)
    assert.deepStrictEqual(pauses, [2000, 4000, 8000, 16_000, 2_048_000, 3_600_000, 3_600_000, 3_600_000])
  })

  it.effect("is told no more after three days", () =>
    Effect.gen(function* () {
      const day = 24 * 3_600_000
      yield* TestClock.setTime(10 * day)
      const { url } = yield* shop(500)
      const { closed, methods } = yield* outbox([notice("old", 7 * day - 1)], [notice("young", 7 * day + 60_000)])
      const { counted, logged } = yield* deliver(url, methods)
      assert.deepStrictEqual(yield* Queue.take(closed), { id: "old", retryAt: undefined })
      yield* TestClock.adjust("1 second")
      const young = yield* Queue.take(closed)
      assert.strictEqual(young.id, "young")
      assert.isDefined(young.retryAt)
      yield* Effect.repeat(counted("failed"), { until: (failed) => failed === 1 })
      assert.strictEqual(yield* counted("given_up"), 1)
      assert.include(logged.join(), "is given up: it answered 500")
    })
  )

  it.effect("is given up by a receiver that says nothing after ten seconds", () =>
    Effect.gen(function* () {
      const asked = yield* Queue.unbounded<void>()
      const server = createServer(() => Queue.offerUnsafe(asked, undefined))
      yield* Effect.acquireRelease(
        Effect.callback<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void))),
        () => Effect.sync(() => server.close().closeAllConnections())
      )
      const { closed, methods } = yield* outbox([notice("n1")])
      const { logged } = yield* deliver(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`, methods)
      yield* Queue.take(asked)
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(yield* Queue.take(closed), { id: "n1", retryAt: 12_000 })
      assert.include(logged.join(), "no answer in time")
    })
  )

  it.effect("is not told in a private network unless that is allowed", () =>
    Effect.gen(function* () {
      for (const change of [
        (url: string) => url,
        (url: string) => url.replace("http:", "https:"),
        (url: string) => url.replace("http://127.0.0.1", "https://localhost")
      ]) {
        const { received, url } = yield* shop(200)
        const { closed, methods } = yield* outbox([notice("n1")])
        yield* deliver(change(url), methods, false)
        assert.isDefined((yield* Queue.take(closed)).retryAt)
        assert.strictEqual(yield* Queue.size(received), 0)
      }
    })
  )

  it.effect("waits where its caller has no webhook any more", () =>
    Effect.gen(function* () {
      const { received, url } = yield* shop(200)
      const { closed, methods } = yield* outbox([notice("n1", 0, 0, "gone"), notice("n2", 0, 0, "silent")])
      yield* deliver(url, methods)
      assert.deepInclude(yield* Queue.take(closed), { retryAt: 2000 })
      assert.deepInclude(yield* Queue.take(closed), { retryAt: 2000 })
      assert.strictEqual(yield* Queue.size(received), 0)
    })
  )

  it.effect("is told when the store answers again", () =>
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
      const { logged } = yield* deliver(url, { ...methods, takeNotices })
      yield* Effect.repeat(Effect.yieldNow, { until: () => logged.length > 0 })
      yield* TestClock.adjust("1 second")
      yield* Queue.take(received)
      assert.deepInclude(yield* Queue.take(closed), { id: "n1", retryAt: undefined })
    })
  )
})

describe("a receiver that fails", () => {
  it.effect("is asked by one request at a time, and the others wait without being tried", () =>
    Effect.gen(function* () {
      const { received, url } = yield* shop(500)
      const { closed, methods } = yield* outbox(
        [notice("first")],
        Array.from({ length: 5 }, (_, index) => notice(`n${index}`))
      )
      const { counted } = yield* deliver(url, methods)
      yield* Queue.take(received)
      assert.deepInclude(yield* Queue.take(closed), { id: "first" })
      yield* Effect.repeat(counted("failed"), { until: (failed) => failed === 1 })
      yield* TestClock.adjust("1 second")
      yield* Effect.repeat(counted("failed"), { until: (failed) => failed === 2 })
      assert.strictEqual(yield* counted("postponed"), 4)
      yield* Queue.take(received)
      assert.strictEqual(yield* Queue.size(received), 0)
    })
  )
})
