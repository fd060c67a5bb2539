/**
 * How many claims a second each store takes to disk, 64 at once, and what one costs this process.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

import { Entropy, type LaneLeases, Network, PaymentStore } from "@pontage/core"
import { PostgresPaymentStore } from "@pontage/sql/postgres"
import { SqlitePaymentStore } from "@pontage/sql/sqlite"
import type { PostgresServer } from "@pontage/sql/testing"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

import type { Row } from "../Row.ts"

const warmUp = 500
const count = 3_000
const concurrency = 64

type Records = Layer.Layer<PaymentStore.PaymentStore | LaneLeases.LaneLeases, unknown>

/** Both stores, on this machine's disk. */
export const measure = Effect.fnUntraced(function* (postgres: PostgresServer.PostgresServer["Service"]) {
  const folder = yield* Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "pontage-bench-"))),
    (path) => Effect.sync(() => rmSync(path, { recursive: true }))
  )
  const stores: ReadonlyArray<readonly [string, Records]> = [
    ["SQLite", SqlitePaymentStore.layer({ filename: join(folder, "claims.sqlite") })],
    ["PostgreSQL", PostgresPaymentStore.layer({ url: yield* postgres.database })]
  ]
  const rows: Array<Row> = []
  for (const [name, records] of stores) rows.push(...(yield* Effect.scoped(claiming(name, records))))
  return rows
})

const claiming = Effect.fnUntraced(function* (name: string, records: Records) {
  const store = Context.get(yield* Layer.build(records), PaymentStore.PaymentStore)
  const entropy = yield* Entropy.Entropy
  const claims = (many: number) =>
    Effect.forEach(
      Array.from({ length: many }, () => newPayment(Entropy.identifier(entropy))),
      (payment) => store.claim(payment, { id: payment.paymentId.slice(4), resource: "report" }),
      { concurrency, discard: true }
    )
  yield* claims(warmUp)
  const start = process.hrtime.bigint()
  const cpu = process.cpuUsage()
  yield* claims(count)
  const { system, user } = process.cpuUsage(cpu)
  const seconds = Number(process.hrtime.bigint() - start) / 1e9
  return [
    { name: `durable claims, ${name}`, value: count / seconds, unit: "per second", note: "64 at once, wall time" },
    { name: `durable claim, ${name}`, value: (user + system) / count, unit: "µs CPU", note: "without the server's" }
  ] satisfies ReadonlyArray<Row>
})

const network = Network.make("bench:claims")

const newPayment = (name: string): PaymentStore.NewPayment => ({
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
  caller: "",
  notify: false
})
