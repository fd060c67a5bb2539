/** On TON a payment takes several blocks, one message after the other: what the shop waits for, and who pays for it all. */
import { assert, describe, it } from "@effect/vitest"
import { settlementOf, wrapFetch } from "@pontage/fetch"
import type { TonTestChain } from "@pontage/ton/testing"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"

import { signOnlyBy } from "./TestBuyer.ts"
import * as TestShops from "./TestShops.ts"
import * as TestTrades from "./TestTrades.ts"

const questions = (chain: TonTestChain.Shape) =>
  Effect.map(chain.calls, (calls) => [...calls.values()].reduce((sum, count) => sum + count, 0))

/** Waits until the facilitator has sent enough requests to have seen the chain's present state. */
const untilLooked = Effect.fnUntraced(function* (chain: TonTestChain.Shape) {
  const before = yield* questions(chain)
  yield* Effect.repeat(Effect.andThen(Effect.sleep("5 millis"), questions(chain)), {
    until: (asked) => asked >= before + 8
  })
})

const stateOf = (runs: number, acts: number) => `${runs} runs, the payer's wallet has acted ${acts} times`

describe.concurrent.each([
  ["Koa", TestShops.koa],
  ["NestJS", TestShops.nest]
] as const)("a %s shop that is paid on TON", (_, open) => {
  it.live("costs the payer no nanoton, and names the transaction that credited the seller", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { chain, told, wallets } = yield* TestTrades.ton()
        const shop = yield* open(told)
        const { payee, payers } = chain.accounts
        yield* chain.setCoins(payers[0].address, 123_456_789n)
        const response = yield* Effect.promise(() => wrapFetch(fetch, { schemes: wallets })(`${shop.origin}/report`))
        assert.strictEqual(response.status, 200)
        assert.strictEqual(yield* chain.coins(payers[0].address), 123_456_789n)
        const [credit = assert.fail("there is a credit")] = yield* chain.credits(payee.address)
        assert.deepInclude(settlementOf(response), {
          success: true,
          network: chain.network,
          payer: payers[0].raw,
          amount: `${credit.amount}`,
          transaction: credit.transaction
        })
      })
    )
  )

  it.live("serves only after the credit, after any number of blocks", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { chain, halt, received, told, wallets } = yield* TestTrades.ton()
        const shop = yield* open(told)
        const [wallet = assert.fail("there is a payer")] = wallets
        const url = `${shop.origin}/report`
        const header = yield* Effect.promise(() => signOnlyBy(url, wallet))
        const creditsAtRun: Array<number> = []
        shop.handlers.onReport = () => void creditsAtRun.push(Effect.runSync(received).length)
        yield* halt
        const buying = yield* Effect.forkChild(Effect.promise(() => fetch(url, { headers: { "x-payment": header } })))
        yield* Effect.repeat(Effect.andThen(Effect.sleep("5 millis"), chain.calls), {
          until: (calls) => calls.has("sendBoc")
        })
        const hops: Array<string> = []
        while ((yield* received).length === 0) {
          yield* untilLooked(chain)
          const byPayer = yield* chain.transactions(chain.accounts.payers[0].address)
          hops.push(stateOf(shop.handlers.reports, byPayer.length))
          yield* chain.block
        }
        assert.strictEqual((yield* Fiber.join(buying)).status, 200)
        assert.deepStrictEqual(creditsAtRun, [1])
        assert.deepStrictEqual(hops, [stateOf(0, 0), stateOf(0, 0), stateOf(0, 1), stateOf(0, 1)])
        assert.deepStrictEqual(yield* received, [10_000n])
      })
    )
  )
})
