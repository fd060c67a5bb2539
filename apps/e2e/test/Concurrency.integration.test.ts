import { assert, describe, it } from "@effect/vitest"
import { buyer } from "@pontage/demo/Buyer"
import * as Effect from "effect/Effect"

import { signOnly } from "./TestBuyer.ts"
import * as TestMarket from "./TestMarket.ts"
import * as TestShops from "./TestShops.ts"

const shops = [
  ["Koa", TestShops.koa],
  ["NestJS", TestShops.nest]
] as const

describe.concurrent.each(shops)("a %s shop under load", (_, open) => {
  it.live("serves one of 200 copies of a payment, and moves the money once", () =>
    TestMarket.within(1, ({ chain, told }) =>
      Effect.gen(function* () {
        const shop = yield* open(told)
        const url = `${shop.origin}/report`
        const header = yield* Effect.promise(() => signOnly(url, chain.accounts.payers[0]))
        const statuses = yield* Effect.promise(() =>
          Promise.all(
            Array.from({ length: 200 }, async () => {
              const response = await fetch(url, { headers: { "x-payment": header } })
              await response.arrayBuffer()
              return response.status
            })
          )
        )
        assert.strictEqual(statuses.filter((status) => status === 200).length, 1)
        assert.strictEqual(statuses.filter((status) => status === 409).length, 199)
        assert.strictEqual(shop.handlers.reports, 1)
        const toPayee = (yield* chain.transfers()).filter(({ to }) => to === chain.accounts.payee.address)
        assert.strictEqual(toPayee.length, 1)
        const sent = yield* Effect.promise(() =>
          chain.client.getTransactionCount({ address: chain.accounts.signers[0].address })
        )
        assert.strictEqual(sent, 1, "the facilitator sent one transaction, so none was reverted")
      })
    )
  )

  it.live("serves 64 payers at once through one signer", () =>
    TestMarket.within(64, ({ chain, told }) =>
      Effect.gen(function* () {
        const shop = yield* open(told)
        const statuses = yield* Effect.promise(() =>
          Promise.all(
            chain.accounts.payers.map(async ({ privateKey }) => {
              const response = await buyer(privateKey)(`${shop.origin}/report`)
              await response.arrayBuffer()
              return response.status
            })
          )
        )
        assert.deepStrictEqual(new Set(statuses), new Set([200]))
        assert.strictEqual(shop.handlers.reports, 64)
        assert.strictEqual(yield* chain.balanceOf(chain.accounts.payee.address), 640_000n)
      })
    )
  )
})
