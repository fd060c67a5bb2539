import { assert, describe, it } from "@effect/vitest"
import { exactEvm } from "@pontage/evm"
import { settlementOf, wrapFetch } from "@pontage/fetch"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"

import * as TestMarket from "./TestMarket.ts"
import * as TestShops from "./TestShops.ts"

describe.concurrent.each([
  ["Koa", TestShops.koa],
  ["NestJS", TestShops.nest]
] as const)("a %s shop whose facilitator goes away", (_, open) => {
  it.live("responds with 503 to a payment and serves the same one when it is back", () =>
    TestMarket.within(1, (market) =>
      Effect.gen(function* () {
        const { chain, told } = market
        const shop = yield* open(told)
        const headers = new Set<string>()
        const statuses: Array<number> = []
        const watching: typeof fetch = async (input, init) => {
          const header = new Headers(init?.headers).get("x-payment")
          if (header === null) {
            const unpaid = await fetch(input, init)
            await Effect.runPromise(market.takeDown)
            return unpaid
          }
          headers.add(header)
          const paid = await fetch(input, init)
          statuses.push(paid.status)
          if (paid.status === 503) await Effect.runPromise(market.putUp)
          return paid
        }
        const schemes = [exactEvm.client({ signer: chain.accounts.payers[0], network: "eip155:31337" })]
        const response = yield* Effect.promise(() => wrapFetch(watching, { schemes })(`${shop.origin}/report`))
        assert.deepStrictEqual(statuses, [503, 200])
        assert.strictEqual(headers.size, 1, "one signature for one request")
        assert.isDefined(settlementOf(response))
        assert.strictEqual(shop.handlers.reports, 1)
        assert.strictEqual(yield* chain.balanceOf(chain.accounts.payee.address), 10_000n)
      })
    )
  )

  it.live("serves a payment that was settled while the shop could not be reached", () =>
    TestMarket.within(1, (market) =>
      Effect.gen(function* () {
        const { chain, told } = market
        const shop = yield* open(told)
        yield* chain.setAutomine(false)
        const schemes = [exactEvm.client({ signer: chain.accounts.payers[0], network: "eip155:31337" })]
        const statuses: Array<number> = []
        const watching: typeof fetch = async (input, init) => {
          const response = await fetch(input, init)
          if (new Headers(init?.headers).has("x-payment")) statuses.push(response.status)
          return response
        }
        const buying = yield* Effect.forkChild(
          Effect.promise(() => wrapFetch(watching, { schemes })(`${shop.origin}/report`))
        )
        yield* untilPooled(chain)
        yield* market.takeDown
        yield* chain.setAutomine(true)
        yield* chain.mine()
        yield* market.putUp
        const response = yield* Fiber.join(buying)
        assert.strictEqual(response.status, 200)
        assert.strictEqual(statuses.at(-1), 200)
        assert.strictEqual(shop.handlers.reports, 1)
        assert.strictEqual(yield* chain.balanceOf(chain.accounts.payee.address), 10_000n)
      })
    )
  )
})

/** Until the facilitator's transaction waits in the node's pool. */
const untilPooled = (chain: TestMarket.TestMarket["chain"]): Effect.Effect<void> =>
  Effect.promise(() =>
    chain.client.getTransactionCount({ address: chain.accounts.signers[0].address, blockTag: "pending" })
  ).pipe(
    Effect.flatMap((count) =>
      count === 0 ? Effect.andThen(Effect.sleep("5 millis"), untilPooled(chain)) : Effect.void
    )
  )
