/**
 * The durable stores on this machine's disk, empty, and the payments that are recorded in them.
 */
import { join } from "node:path"

import { type LaneLeases, Network, type PaymentStore } from "@pontage/core"
import { PostgresPaymentStore } from "@pontage/sql/postgres"
import { SqlitePaymentStore } from "@pontage/sql/sqlite"
import type { PostgresServer } from "@pontage/sql/testing"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"

import * as BenchFolder from "./BenchFolder.ts"

/** A store of payments, opened when the layer is built. */
export type Records = Layer.Layer<PaymentStore.PaymentStore | LaneLeases.LaneLeases, unknown>

/** Both stores by their names. SQLite's file goes with the scope; PostgreSQL's database stays with its server. */
export const make = Effect.fnUntraced(function* (postgres: PostgresServer.PostgresServer["Service"]) {
  const folder = yield* BenchFolder.make
  const stores: ReadonlyArray<readonly [name: string, records: Records]> = [
    ["SQLite", SqlitePaymentStore.layer({ filename: join(folder, "records.sqlite") })],
    ["PostgreSQL", PostgresPaymentStore.layer({ url: yield* postgres.database })]
  ]
  return stores
})

const network = Network.make("bench:records")

/** A payment of a payer of its own, as a caller presents it; its end is notified only if `notify` is set. */
export const newPayment = (
  name: string,
  { caller = "", notify = false }: { readonly caller?: string; readonly notify?: boolean } = {}
): PaymentStore.NewPayment => ({
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
  notify
})
