/**
 * How many ends a second one receiver of webhooks is told that answers at once, from each store on this machine's disk:
 * alone, and while another receiver that says nothing has as many ends that it was not told.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { createServer } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"

import { Entropy, type LaneLeases, Network, PaymentStore } from "@pontage/core"
import { WebhookDeliverer } from "@pontage/facilitator"
import { PostgresPaymentStore } from "@pontage/sql/postgres"
import { SqlitePaymentStore } from "@pontage/sql/sqlite"
import type { PostgresServer } from "@pontage/sql/testing"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"

import type { Row } from "../Row.ts"

/** Ends of each receiver. */
const count = 2_000
const concurrency = 64

type Records = Layer.Layer<PaymentStore.PaymentStore | LaneLeases.LaneLeases, unknown>

/** Both stores, without and with the dead receiver. */
export const measure = Effect.fnUntraced(function* (postgres: PostgresServer.PostgresServer["Service"]) {
  const folder = yield* Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "pontage-bench-"))),
    (path) => Effect.sync(() => rmSync(path, { recursive: true }))
  )
  const rows: Array<Row> = []
  for (const dead of [0, count]) {
    const beside = dead === 0 ? "alone" : `beside a dead receiver with ${dead}`
    const stores: ReadonlyArray<readonly [string, Records]> = [
      ["SQLite", SqlitePaymentStore.layer({ filename: join(folder, `${dead}.sqlite`) })],
      ["PostgreSQL", PostgresPaymentStore.layer({ url: yield* postgres.database })]
    ]
    for (const [name, records] of stores) {
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

/** How many seconds it takes until the good receiver was told everything. */
const telling = Effect.fnUntraced(function* (dead: number) {
  const store = yield* PaymentStore.PaymentStore
  const entropy = yield* Entropy.Entropy
  const callers = [...Array.from({ length: dead }, () => "dead"), ...Array.from({ length: count }, () => "good")]
  const payments = callers.map((caller) => newPayment(Entropy.identifier(entropy), caller))
  yield* Effect.forEach(payments, (payment) => store.claim(payment, undefined), { concurrency, discard: true })
  yield* store.expireUnwanted(payments.map(({ paymentId }) => ({ paymentId, at: { number: 1n, hash: "0xfinal" } })))
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

const listening = (taken: (answer: () => void) => void) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.callback<ReturnType<typeof createServer>>((resume) => {
        const server = createServer((request, response) => {
          request.resume().once("end", () => taken(() => response.writeHead(204).end()))
        })
        server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
      }),
      (server) => Effect.sync(() => server.close().closeAllConnections())
    ),
    (server) => {
      const address = server.address()
      if (typeof address !== "object" || address === null) throw new Error("the receiver does not listen")
      return `http://127.0.0.1:${address.port}/`
    }
  )

const network = Network.make("bench:webhooks")

const newPayment = (name: string, caller: string): PaymentStore.NewPayment => ({
  paymentId: `pay_${name}`,
  requirements: {
    scheme: "exact",
    network,
    maxAmountRequired: "10000",
    resource: "https://shop.example/report",
    payTo: "shop"
  },
  authorization: {
    payer: name,
    payTo: "shop",
    asset: "dollar",
    amount: 10_000n,
    nonce: name,
    validAfter: 0,
    validBefore: 4_000_000_000,
    binding: undefined
  },
  payload: { signed: name },
  caller,
  notify: true
})
