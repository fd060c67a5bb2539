/** Payments on TON and on TRON through both shops: one payment, one transfer, one execution. */
import { assert, describe, it } from "@effect/vitest"
import { wrapFetch } from "@pontage/fetch"
import * as Effect from "effect/Effect"

import { signOnlyBy } from "./TestBuyer.ts"
import * as TestShops from "./TestShops.ts"
import * as TestTrades from "./TestTrades.ts"

const shops = [
  ["Koa", TestShops.koa],
  ["NestJS", TestShops.nest]
] as const

const trades = [
  ["TON", TestTrades.ton],
  ["TRON", TestTrades.tron]
] as const

const rows = trades.flatMap(([family, open]) => shops.map(([host, shop]) => [host, family, shop, open] as const))

/** Payers at once. */
const crowd = 20

const statusOf = async (response: Response) => {
  await response.arrayBuffer()
  return response.status
}

describe.each(rows)("a %s shop that is paid on %s", (_, family, openShop, openTrade) => {
  it.live("serves one of 20 copies of a payment, and moves the money once", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { received, sent, told, wallets } = yield* openTrade()
        const shop = yield* openShop(told)
        const url = `${shop.origin}/report`
        const [wallet = assert.fail("there is a payer")] = wallets
        const header = yield* Effect.promise(() => signOnlyBy(url, wallet))
        const copies = Array.from({ length: 20 }, async () =>
          statusOf(await fetch(url, { headers: { "x-payment": header } }))
        )
        const statuses = yield* Effect.promise(() => Promise.all(copies))
        assert.deepStrictEqual(
          statuses.toSorted((a, b) => a - b),
          [200, ...Array.from({ length: 19 }, () => 409)]
        )
        assert.strictEqual(shop.handlers.reports, 1)
        assert.deepStrictEqual(yield* received, [10_000n])
        assert.strictEqual(yield* sent, 1)
      })
    )
  )

  it.live(`serves ${crowd} payers at once through one facilitator`, () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { received, sent, told, wallets } = yield* openTrade({ payers: crowd })
        const shop = yield* openShop(told)
        const buying = wallets.map(async (wallet) =>
          statusOf(await wrapFetch(fetch, { schemes: [wallet] })(`${shop.origin}/report`))
        )
        const statuses = yield* Effect.promise(() => Promise.all(buying))
        assert.deepStrictEqual(
          statuses,
          Array.from({ length: crowd }, () => 200)
        )
        assert.strictEqual(shop.handlers.reports, crowd)
        assert.deepStrictEqual(
          yield* received,
          Array.from({ length: crowd }, () => 10_000n)
        )
        // A relayer's message carries several payments, as many as have come by then; on TRON each is its payer's own.
        if (family === "TON") assert.isBelow(yield* sent, crowd)
        else assert.strictEqual(yield* sent, crowd)
      })
    )
  )

  it.live("responds with 503 while the chain shows nothing; the client repeats, and is served once", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { halt, proceed, received, told, wallets } = yield* openTrade({ settleTimeoutMillis: 300 })
        const shop = yield* openShop(told)
        const headers = new Set<string>()
        const answers: Array<readonly [status: number, body: string, paid: number]> = []
        const watching: typeof fetch = async (input, init) => {
          const header = new Headers(init?.headers).get("x-payment")
          if (header === null) {
            const unpaid = await fetch(input, init)
            await Effect.runPromise(halt)
            return unpaid
          }
          headers.add(header)
          const paid = await fetch(input, init)
          answers.push([paid.status, await paid.clone().text(), (await Effect.runPromise(received)).length])
          if (answers.length === 1) await Effect.runPromise(proceed)
          return paid
        }
        const response = yield* Effect.promise(() => wrapFetch(watching, { schemes: wallets })(`${shop.origin}/report`))
        assert.strictEqual(response.status, 200)
        const [[status, body, before] = assert.fail("there is a response"), ...later] = answers
        assert.deepStrictEqual([status, before], [503, 0])
        assert.include(body, '"retry":"same_payment"')
        // A slow machine may answer 503 more than once.
        const others = later.map(([next]) => next)
        assert.strictEqual(others.at(-1), 200)
        assert.deepStrictEqual(others.slice(0, -1), Array(others.length - 1).fill(503))
        assert.strictEqual(headers.size, 1, "one signature for one request")
        assert.strictEqual(shop.handlers.reports, 1)
        assert.deepStrictEqual(yield* received, [10_000n])
      })
    )
  )
})
