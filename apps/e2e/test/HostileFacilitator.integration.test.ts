import { assert, describe, it } from "@effect/vitest"
import { FacilitatorClient } from "@pontage/core"
import * as Effect from "effect/Effect"

import * as FaultyFront from "./FaultyFront.ts"
import { signOnly } from "./TestBuyer.ts"
import * as TestMarket from "./TestMarket.ts"
import * as TestShops from "./TestShops.ts"

const json = (status: number, body: unknown) =>
  FaultyFront.respondWith(status, JSON.stringify(body), { "content-type": "application/json" })

const faults: ReadonlyArray<readonly [string, FaultyFront.Fault]> = [
  ["HTML", FaultyFront.page(200)],
  ["HTML with 502", FaultyFront.page(502)],
  ["a redirect", FaultyFront.respondWith(307, "", { location: "https://facilitator.example/settle" })],
  ["silence", FaultyFront.silence],
  ["a broken connection", FaultyFront.broken],
  ["half of JSON", FaultyFront.respondWith(200, "{")],
  ["more than is read", json(200, { success: true, more: "x".repeat(100_000) })],
  ["nothing", FaultyFront.respondWith(200, "")],
  ["an empty object", json(200, {})],
  ["success without a payment", json(200, { success: true })],
  ["a grant without a transfer", json(200, { success: true, execution: "granted", status: "final" })],
  ["401", json(401, { error: "unauthenticated", message: "no key" })],
  ["403", json(403, { error: "forbidden", message: "not your payee" })],
  ["404", json(404, { error: "not_found", message: "nothing here" })],
  ["429", json(429, { error: "too_many", message: "slow down" })],
  ["500", json(500, { error: "defect", message: "sorry" })]
]

describe.concurrent.each([
  ["Koa", TestShops.koa],
  ["NestJS", TestShops.nest]
] as const)("a %s shop whose facilitator misbehaves", (_, open) => {
  it.live("responds with 503, runs nothing, calls no payment bad, and serves the same payment afterwards", () =>
    TestMarket.within(1, ({ chain, facilitator, told }) =>
      Effect.gen(function* () {
        const front = yield* FaultyFront.make(facilitator)
        // Only silence is waited for in vain, so no answer is late because the machine is slow.
        const openFor = (timeoutMillis: number) =>
          open({ ...told, facilitator: FacilitatorClient.layer({ url: front.url, timeoutMillis }) })
        const shop = yield* openFor(600_000)
        const impatient = yield* openFor(500)
        const url = `${shop.origin}/report`
        const header = yield* Effect.promise(() => signOnly(url, chain.accounts.payers[0]))
        const sendTo = ({ origin }: { readonly origin: string }) =>
          Effect.promise(() => fetch(`${origin}/report`, { headers: { "x-payment": header } }))
        for (const [name, fault] of faults) {
          front.spoil(fault)
          const response = yield* sendTo(name === "silence" ? impatient : shop)
          const body = yield* Effect.promise(() => response.text())
          assert.strictEqual(response.status, 503, name)
          assert.match(response.headers.get("retry-after") ?? "", /^\d+$/, name)
          assert.strictEqual(response.headers.get("cache-control"), "no-store", name)
          assert.include(body, '"retry":"same_payment"', name)
          assert.notMatch(body, /"(code|reason)":/, name)
          assert.isAbove(front.asked(), 0, name)
        }
        assert.deepStrictEqual([shop.handlers.reports, impatient.handlers.reports], [0, 0])
        front.mend()
        assert.strictEqual((yield* sendTo(shop)).status, 200)
        assert.strictEqual(shop.handlers.reports, 1)
        assert.strictEqual(yield* chain.balanceOf(chain.accounts.payee.address), 10_000n)
      })
    )
  )
})
