/**
 * The notices a second to one receiver of webhooks that answers at once, from each store on this machine's disk:
 * alone, and while another receiver that says nothing has as many ends that it was not told.
 */
import { createServer } from "node:http"

import { Entropy, PaymentStore } from "@pontage/core"
import { listen } from "@pontage/devnet/LoopbackServer"
import { WebhookDeliverer } from "@pontage/facilitator"
import type { PostgresServer } from "@pontage/sql/testing"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"

import * as DurableRecords from "../DurableRecords.ts"
import type { Row } from "../Row.ts"

/** Ends of each receiver. */
const count = 2_000
const concurrency = 64

/** Both stores, without and with the dead receiver. */
export const measure = Effect.fnUntraced(function* (postgres: PostgresServer.PostgresServer["Service"]) {
  const rows: Array<Row> = []
  for (const dead of [0, count]) {
    const beside = dead === 0 ? "alone" : `beside a dead receiver with ${dead}`
    for (const [name, records] of yield* DurableRecords.make(postgres)) {
      const seconds = yield* Effect.scoped(Effect.provide(telling(dead), records))
      rows.push({
        name: `webhooks, ${name}, ${beside}`,
        value: count / seconds,
        unit: "ends per second",
        note: "wall time"
      })
    }
  }
  return rows
})

/** Seconds until the good receiver has every notice. */
const telling = Effect.fnUntraced(function* (dead: number) {
  const store = yield* PaymentStore.PaymentStore
  const entropy = yield* Entropy.Entropy
  const callers = [...Array.from({ length: dead }, () => "dead"), ...Array.from({ length: count }, () => "good")]
  const payments = callers.map((caller) =>
    DurableRecords.newPayment(Entropy.identifier(entropy), { caller, notify: true })
  )
  yield* Effect.forEach(payments, (payment) => store.claim(payment, undefined), { concurrency, discard: true })
  yield* store.endUnwanted(payments.map(({ paymentId }) => ({ paymentId, at: { number: 1n, hash: "0xfinal" } })))
  const all = Deferred.makeUnsafe<void>()
  let told = 0
  const good = yield* listening((answer) => {
    told += 1
    if (told === count) Deferred.doneUnsafe(all, Effect.void)
    answer()
  })
  const silent = yield* listening(() => undefined)
  const start = process.hrtime.bigint()
  yield* Layer.build(
    Layer.provide(
      WebhookDeliverer.layer({
        callers: [
          { name: "dead", keys: [], webhook: webhookAt(silent) },
          { name: "good", keys: [], webhook: webhookAt(good) }
        ],
        allowPrivate: true
      }),
      Layer.succeed(PaymentStore.PaymentStore, store)
    )
  )
  yield* Deferred.await(all)
  return Number(process.hrtime.bigint() - start) / 1e9
})

const webhookAt = (url: string) => ({ url: Redacted.make(url), secret: Redacted.make("a-secret-of-the-bench") })

/** A receiver on this machine, by its URL. */
const listening = (taken: (answer: () => void) => void) =>
  Effect.map(
    listen(
      createServer((request, response) => {
        request.resume().once("end", () => taken(() => response.writeHead(204).end()))
      })
    ),
    (origin) => `${origin}/`
  )
