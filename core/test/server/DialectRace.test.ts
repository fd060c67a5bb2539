import { assert, describe, it } from "@effect/vitest"
import {
  AsciiJson,
  type Decision,
  Facilitator,
  PaymentGate,
  PaymentPayload,
  type PricedRoute,
  PriceResolver,
  type RouteConfig
} from "@pontage/core"
import { TestScheme } from "@pontage/core/testing"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"

import * as ServerSchemeRegistry from "../../src/scheme/ServerSchemeRegistry.ts"
import * as LedgerShop from "../facilitator/LedgerShop.ts"
import * as X402 from "../wire/X402Cases.ts"
import { bodyOf, request } from "./GateTestRequest.ts"

const priced = { scheme: "exact", network: "ledger:test", price: "$0.01", payTo: LedgerShop.payee }

/** A shop on a ledger: two routes of one price. */
const open = Effect.fnUntraced(function* ({ settle }: Pick<RouteConfig, "settle">) {
  const { facilitator, ledger } = yield* LedgerShop.open()
  const gate = yield* PaymentGate.make({
    origin: "https://shop.example",
    secret: "s".repeat(32)
  }).pipe(
    Effect.provide([
      Layer.succeed(Facilitator, facilitator),
      PriceResolver.layerDollar,
      ServerSchemeRegistry.layer([TestScheme.server(ledger)])
    ])
  )
  const sell = (name: string) => gate.route(name, { ...priced, ...(settle !== undefined && { settle }) })
  const report = yield* sell("GET /report")
  const other = yield* sell("GET /other")
  yield* gate.ready
  return { gate, ledger, report, other }
})

type Shop = Effect.Success<ReturnType<typeof open>>

const routeOf = ({ other, report }: Shop, path: string): PricedRoute => (path === "/other" ? other : report)

const Offered = Schema.Struct({ accepts: Schema.NonEmptyArray(Schema.Json) })

/** One authorization, bound to nothing, as each dialect carries it. */
const everyWay = Effect.fnUntraced(function* ({ gate, report }: Shop) {
  const refusal = yield* gate.decide(report, request("/report"))
  assert(refusal._tag === "Refused")
  const [offer] = bodyOf(refusal).accepts
  assert.isDefined(offer)
  const { payload } = yield* TestScheme.client(LedgerShop.payer).sign({
    requirements: offer,
    asset: TestScheme.asset,
    validAfter: 0,
    validBefore: Math.floor((yield* Clock.currentTimeMillis) / 1000) + 60,
    binding: undefined
  })
  const required = Schema.decodeUnknownSync(Offered)(X402.unbase64(refusal.response.headers["PAYMENT-REQUIRED"]))
  return [
    { "x-payment": AsciiJson.encode(PaymentPayload.sealPayload("exact", "ledger:test", payload)) },
    { "payment-signature": X402.base64({ x402Version: 2, payload, accepted: required.accepts[0] }) }
  ] as const
})

const statusOf = (decision: Decision): number | string =>
  decision._tag === "Refused" ? decision.response.status : decision._tag

describe("one authorization, bound to nothing, in two dialects at once", () => {
  for (const settle of ["before-handler", "after-handler"] as const) {
    for (const paths of [["/report"], ["/report", "/other"]]) {
      it.effect(`on ${paths.join(" and ")}, settled ${settle}: moves the money once and runs once`, () =>
        Effect.gen(function* () {
          const shop = yield* open({ settle })
          const ways = yield* everyWay(shop)
          const decisions = yield* Effect.forEach(
            paths.flatMap((path) => ways.flatMap((headers) => Array.from({ length: 4 }, () => ({ headers, path })))),
            ({ headers, path }) => shop.gate.decide(routeOf(shop, path), request(path, headers)),
            { concurrency: "unbounded" }
          )
          const run = decisions.find((one) => one._tag !== "Refused")
          const others = decisions.filter((one) => one !== run)
          assert.deepStrictEqual(new Set(others.map(statusOf)), new Set([409]))
          if (run?._tag === "SettleAfter") assert.strictEqual((yield* run.complete(200))._tag, "Granted")
          if (run?._tag === "Granted") yield* run.finish("served")
          assert.lengthOf(shop.ledger.transfers, 1)
          for (const headers of ways) {
            const again = yield* shop.gate.decide(shop.report, request("/report", headers))
            assert.strictEqual(statusOf(again), 409)
          }
          assert.lengthOf(shop.ledger.transfers, 1)
        })
      )
    }
  }
})
