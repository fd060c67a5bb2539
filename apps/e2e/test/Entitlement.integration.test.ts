import { assert, describe, it } from "@effect/vitest"
import { buyer } from "@pontage/demo/Buyer"
import { exactEvm } from "@pontage/evm"
import { settlementOf, wrapFetch } from "@pontage/fetch"
import * as Effect from "effect/Effect"

import { signOnly } from "./TestBuyer.ts"
import * as TestMarket from "./TestMarket.ts"
import * as TestShops from "./TestShops.ts"

const shops = [
  ["Koa", TestShops.koa],
  ["NestJS", TestShops.nest]
] as const

/** A buyer whose payment headers are kept, to be sent again by hand. */
const recordingBuyer = (signer: Parameters<typeof exactEvm.client>[0]["signer"]) => {
  const sent: Array<string> = []
  const recording: typeof fetch = (input, init) => {
    const header = new Headers(init?.headers).get("x-payment")
    if (header !== null) sent.push(header)
    return fetch(input, init)
  }
  const paying = wrapFetch(recording, { schemes: [exactEvm.client({ signer, network: "eip155:31337" })] })
  return { paying, sent }
}

describe.concurrent.each(shops)("a %s shop whose handler fails", (_, open) => {
  it.live("serves the same payment again, and takes the money once", () =>
    TestMarket.within(1, ({ chain, told }) =>
      Effect.gen(function* () {
        const shop = yield* open(told)
        shop.handlers.failuresLeft = 2
        const paying = buyer(chain.accounts.payers[0].privateKey)
        const statuses: Array<number> = []
        const transactions = new Set<string | undefined>()
        for (let call = 0; call < 3; call++) {
          const response = yield* Effect.promise(() => paying(`${shop.origin}/flaky`))
          yield* Effect.promise(() => response.arrayBuffer())
          statuses.push(response.status)
          transactions.add(settlementOf(response)?.transaction)
        }
        assert.deepStrictEqual(statuses, [500, 500, 200])
        assert.strictEqual(transactions.size, 1)
        assert.strictEqual(yield* chain.balanceOf(chain.accounts.payee.address), 10_000n)
      })
    )
  )

  it.live("grants a payment five executions and no more", () =>
    TestMarket.within(1, ({ chain, told }) =>
      Effect.gen(function* () {
        const shop = yield* open(told)
        shop.handlers.failuresLeft = 100
        const { paying, sent } = recordingBuyer(chain.accounts.payers[0])
        yield* Effect.promise(() => paying(`${shop.origin}/flaky`))
        const [header = ""] = sent
        const statuses: Array<number> = []
        for (let run = 0; run < 6; run++) {
          const response = yield* Effect.promise(() =>
            fetch(`${shop.origin}/flaky`, { headers: { "x-payment": header } })
          )
          yield* Effect.promise(() => response.arrayBuffer())
          statuses.push(response.status)
        }
        assert.deepStrictEqual(statuses, [500, 500, 500, 500, 409, 409])
        assert.strictEqual(shop.handlers.attempts, 5)
        assert.strictEqual(yield* chain.balanceOf(chain.accounts.payee.address), 10_000n)
      })
    )
  )

  it.live("refuses a payment that was spent, and one of another resource", () =>
    TestMarket.within(1, ({ chain, told }) =>
      Effect.gen(function* () {
        const shop = yield* open(told)
        const { paying, sent } = recordingBuyer(chain.accounts.payers[0])
        const first = yield* Effect.promise(() => paying(`${shop.origin}/report`))
        assert.strictEqual(first.status, 200)
        const [header = ""] = sent
        const again = yield* Effect.promise(() => fetch(`${shop.origin}/report`, { headers: { "x-payment": header } }))
        assert.strictEqual(again.status, 409)
        const elsewhere = yield* Effect.promise(() =>
          fetch(`${shop.origin}/flaky`, { headers: { "x-payment": header } })
        )
        assert.strictEqual(elsewhere.status, 409)
        assert.strictEqual(shop.handlers.reports, 1)
        assert.strictEqual(shop.handlers.attempts, 0)
      })
    )
  )
})

describe.concurrent("two servers of one shop", () => {
  it.live("accept a payment that was signed for the other one's challenge", () =>
    TestMarket.within(1, ({ chain, told }) =>
      Effect.gen(function* () {
        const origin = "http://127.0.0.1:1"
        const one = yield* TestShops.koa({ ...told, origin })
        const two = yield* TestShops.nest({ ...told, origin })
        const toOther: typeof fetch = (input, init) => {
          const url = new URL(input instanceof Request ? input.url : input)
          const paid = new Headers(init?.headers).has("x-payment")
          return fetch(`${paid ? two.origin : one.origin}${url.pathname}`, init)
        }
        const signer = chain.accounts.payers[0]
        const paying = wrapFetch(toOther, { schemes: [exactEvm.client({ signer, network: "eip155:31337" })] })
        const response = yield* Effect.promise(() => paying(`${one.origin}/report`))
        assert.strictEqual(response.status, 200)
        assert.strictEqual(two.handlers.reports, 1)
        assert.strictEqual(one.handlers.reports, 0)
      })
    )
  )

  it.live("serve one of 40 copies that reach them at once", () =>
    TestMarket.within(1, ({ chain, told }) =>
      Effect.gen(function* () {
        const origin = "http://127.0.0.1:1"
        const one = yield* TestShops.koa({ ...told, origin })
        const two = yield* TestShops.nest({ ...told, origin })
        const header = yield* Effect.promise(() => signOnly(`${one.origin}/report`, chain.accounts.payers[0]))
        const send = async ({ origin: reached }: TestShops.TestShop) => {
          const response = await fetch(`${reached}/report`, { headers: { "x-payment": header } })
          await response.arrayBuffer()
          return response.status
        }
        const copies = Array.from({ length: 40 }, (_, index) => send(index % 2 === 0 ? one : two))
        const statuses = yield* Effect.promise(() => Promise.all(copies))
        assert.deepStrictEqual(
          statuses.toSorted((a, b) => a - b),
          [200, ...Array.from({ length: 39 }, () => 409)]
        )
        assert.strictEqual(one.handlers.reports + two.handlers.reports, 1)
        assert.deepStrictEqual(yield* Effect.promise(() => Promise.all([send(one), send(two)])), [409, 409])
        assert.strictEqual(yield* chain.balanceOf(chain.accounts.payee.address), 10_000n)
      })
    )
  )
})
