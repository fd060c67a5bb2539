/**
 * The durable claims a second of each store, 64 at once, and the CPU time of one in this process.
 */
import { Entropy, PaymentStore } from "@pontage/core"
import type { PostgresServer } from "@pontage/sql/testing"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

import * as DurableRecords from "../DurableRecords.ts"
import type { Row } from "../Row.ts"

const warmUp = 500
const count = 3_000
const concurrency = 64

/** Both stores, on this machine's disk. */
export const measure = Effect.fnUntraced(function* (postgres: PostgresServer.PostgresServer["Service"]) {
  const rows: Array<Row> = []
  for (const [name, records] of yield* DurableRecords.make(postgres))
    rows.push(...(yield* Effect.scoped(claiming(name, records))))
  return rows
})

const claiming = Effect.fnUntraced(function* (name: string, records: DurableRecords.Records) {
  const store = Context.get(yield* Layer.build(records), PaymentStore.PaymentStore)
  const entropy = yield* Entropy.Entropy
  const claims = (many: number) =>
    Effect.forEach(
      Array.from({ length: many }, () => DurableRecords.newPayment(Entropy.identifier(entropy))),
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
