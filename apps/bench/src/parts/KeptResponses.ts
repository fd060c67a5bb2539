/**
 * The cost of `repeat: "same"` for a request: a paid request through the gate with a response of 1 KiB, kept in memory and
 * in SQLite, over the same request without the option; and a response that comes again. The facilitator grants everything
 * at once, so that only the gate is measured.
 */
import { join } from "node:path"

import {
  ResponseStore,
  AsciiJson,
  Binding,
  type Decision,
  Facilitator,
  type GateRequest,
  MemoryResponseStore,
  PaymentGate,
  PaymentPayload,
  PriceResolver,
  ServerSchemeRegistry,
  type Settled
} from "@pontage/core"
import { TestLedger, TestScheme } from "@pontage/core/testing"
import { SqliteResponseStore } from "@pontage/sql/sqlite"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

import * as BenchFolder from "../BenchFolder.ts"
import * as CpuTime from "../CpuTime.ts"
import type { Row } from "../Row.ts"

/** Requests at once, as a shop under load has them: the writes of SQLite share a commit. */
const atOnce = 16
const rounds = 25
const requests = rounds * atOnce
const body = new TextEncoder().encode(JSON.stringify({ text: "It will rain. ".repeat(72) }))
const headers = [
  ["content-type", "application/json"],
  ["cache-control", "private"],
  ["vary", "X-Payment, PAYMENT-SIGNATURE"],
  ["x-payment-response", "x".repeat(300)]
] as const

const payTo = "acct-shop"

/** Grants every payment. */
const granting = Facilitator.of({
  verify: () => Effect.die("the gate never verifies"),
  payment: () => Effect.undefined,
  supported: Effect.succeed({
    kinds: [{ protocolVersion: 2, scheme: "exact", network: TestScheme.network }],
    signers: {}
  }),
  claim: ({ paymentRequirements }) => Effect.succeed(settledOf(paymentRequirements.maxAmountRequired)),
  settle: ({ paymentRequirements }) => Effect.succeed(settledOf(paymentRequirements.maxAmountRequired)),
  finish: (paymentId) => Effect.succeed({ ...recordOf(paymentId) })
})

const common = { network: TestScheme.network, payer: "acct-alice", payTo, asset: TestScheme.asset.address }

const settledOf = (amount: string): Settled => ({
  ...common,
  paymentId: "pay_0123456789abcdefghijkl",
  status: "final",
  execution: "granted",
  transaction: "tx",
  amount
})

const recordOf = (paymentId: string) => ({
  ...common,
  paymentId,
  status: "final" as const,
  amount: "10000",
  transaction: "tx",
  execution: "served" as const,
  runs: 1,
  history: []
})

const requestOf = (payment: string | undefined): GateRequest => ({
  method: "GET",
  target: "/report",
  header: (name) => (name === "x-payment" ? payment : undefined),
  headers: {},
  params: {},
  query: {},
  body: undefined,
  native: undefined
})

const serve = Effect.fnUntraced(function* (decision: Decision) {
  if (decision._tag !== "Granted") return yield* Effect.die(`expected a grant, got ${decision._tag}`)
  if (decision.sink !== undefined) yield* decision.sink.keep({ status: 200, headers, body })
  yield* decision.finish("served")
})

const run = <A>(effect: Effect.Effect<A>) => Effect.runPromise(effect)

/** Microseconds of a served request, and of one whose response comes again. */
const measured = Effect.fnUntraced(function* (repeat: "none" | "same", store: Layer.Layer<ResponseStore, unknown>) {
  const ledger = TestLedger.make()
  const gate = yield* PaymentGate.make({ origin: "https://shop.example", secret: "s".repeat(32) }).pipe(
    Effect.provide([PriceResolver.layerDollar, ServerSchemeRegistry.layer([TestScheme.server(ledger)])]),
    Effect.provideService(Facilitator, granting),
    Effect.provideService(ResponseStore, Context.get(yield* Layer.build(store), ResponseStore))
  )
  const route = yield* gate.route("GET /report", { network: TestScheme.network, payTo, price: "$0.01", repeat })
  yield* gate.ready
  const payments = yield* paymentsFor(gate, route)
  let next = 0
  const served = yield* Effect.promise(() =>
    CpuTime.microsOf(rounds, () =>
      Promise.all(
        payments
          .slice(next, (next += atOnce))
          .map((payment) => run(Effect.flatMap(gate.decide(route, requestOf(payment)), serve)))
      )
    )
  )
  if (repeat === "none") return { served: served / atOnce, again: 0 }
  const again = yield* Effect.promise(() =>
    CpuTime.microsOf(rounds, (round) =>
      Promise.all(
        payments.slice(round * atOnce, (round + 1) * atOnce).map(async (payment) => {
          const decision = await run(gate.decide(route, requestOf(payment)))
          if (decision._tag !== "Repeated") throw new Error(`expected the response, got ${decision._tag}`)
        })
      )
    )
  )
  return { served: served / atOnce, again: again / atOnce }
})

/** As many different payments as all passes need. */
const paymentsFor = Effect.fnUntraced(function* (
  gate: PaymentGate.PaymentGate["Service"],
  route: Parameters<typeof gate.decide>[0]
) {
  const refused = yield* gate.decide(route, requestOf(undefined))
  if (refused._tag !== "Refused") return yield* Effect.die("expected the offers")
  const [offer] = JSON.parse(refused.response.body).accepts
  return yield* Effect.forEach(Array.from({ length: requests * 12 }), () =>
    Effect.map(
      Effect.flatMap(Binding.make(offer.extra.challenge), (binding) =>
        TestScheme.client("acct-alice").sign({
          requirements: offer,
          asset: TestScheme.asset,
          validAfter: 0,
          validBefore: 4_000_000_000,
          binding
        })
      ),
      ({ payload }) => AsciiJson.encode(PaymentPayload.sealPayload("exact", TestScheme.network, payload))
    )
  )
})

/** One row for each store, and one for each response that comes again. */
export const measure = Effect.gen(function* () {
  const filename = join(yield* BenchFolder.make, "responses.db")
  const none = yield* measured("none", MemoryResponseStore.layer())
  const memory = yield* measured("same", MemoryResponseStore.layer())
  const sqlite = yield* measured("same", SqliteResponseStore.layer({ filename }))
  const unit = "µs CPU"
  const over = (served: number, target: number) =>
    `${(served - none.served).toFixed(1)} over a route without it, target at most ${target}`
  const rows: ReadonlyArray<Row> = [
    { name: "paid request, its response not kept", value: none.served, unit },
    { name: 'paid request, repeat: "same" in memory', value: memory.served, unit, note: over(memory.served, 60) },
    { name: 'paid request, repeat: "same" in SQLite', value: sqlite.served, unit, note: over(sqlite.served, 150) },
    { name: "the same response again, from memory", value: memory.again, unit },
    { name: "the same response again, from SQLite", value: sqlite.again, unit }
  ]
  return rows
})
