/** On TRON a node takes transactions that fail in their block all the same: such a payment is never served. */
import { assert, describe, it } from "@effect/vitest"
import { wrapFetch } from "@pontage/fetch"
import type { TronTestChain } from "@pontage/tron/testing"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"

import * as TestShops from "./TestShops.ts"
import * as TestTrades from "./TestTrades.ts"

type Chain = TronTestChain.Shape

/** Looks until it is so. */
const until = <A>(look: Effect.Effect<A>, is: (seen: A) => boolean): Effect.Effect<void> =>
  Effect.flatMap(look, (seen) => (is(seen) ? Effect.void : Effect.andThen(Effect.sleep("5 millis"), until(look, is))))

/** A failure counts when its block is solidified, and is seen again after another one. */
const solidified = (chain: Chain) => Effect.andThen(chain.mine(20), chain.setMining("instant"))

interface Failure {
  readonly detail: string
  /** Before anything is paid. */
  readonly prepare: (chain: Chain) => Effect.Effect<void>
  /** While the payment is on its way to a block. */
  readonly spoil: (chain: Chain) => Effect.Effect<void>
}

const failures: ReadonlyArray<Failure> = [
  {
    detail: "reverted",
    prepare: (chain) => chain.plant({ _tag: "Disconnect" }, { path: "broadcasthex" }),
    spoil: Effect.fnUntraced(function* (chain) {
      yield* until(chain.requests, (requests) => requests.has("/wallet/broadcasthex"))
      const parameters = [chain.accounts.payers[0].address]
      yield* chain.call({ signature: "addBlackList(address)", parameters })
      yield* chain.setMining("manual")
      yield* chain.heal
      yield* until(chain.waiting, ({ length }) => length === 1)
      yield* solidified(chain)
    })
  },
  {
    detail: "out_of_energy",
    prepare: (chain) => chain.setMining("manual"),
    spoil: Effect.fnUntraced(function* (chain) {
      yield* until(chain.waiting, ({ length }) => length === 1)
      yield* chain.setEnergyFactor(chain.token.address, 1_000_000n)
      yield* solidified(chain)
    })
  }
]

describe.concurrent.each([
  ["Koa", TestShops.koa],
  ["NestJS", TestShops.nest]
] as const)("a %s shop that is paid on TRON", (_, open) => {
  it.live.each(failures)("never serves a transfer that ends $detail in its block", ({ detail, prepare, spoil }) =>
    Effect.scoped(
      Effect.gen(function* () {
        const { chain, received, told, wallets } = yield* TestTrades.tron()
        const shop = yield* open(told)
        const url = `${shop.origin}/report`
        const headers: Array<string> = []
        const recording: typeof fetch = (input, init) => {
          const header = new Headers(init?.headers).get("x-payment")
          if (header !== null) headers.push(header)
          return fetch(input, init)
        }
        yield* prepare(chain)
        const buying = yield* Effect.forkChild(
          Effect.promise(() =>
            wrapFetch(recording, { schemes: wallets })(url).then(
              ({ status }): unknown => status,
              (error: unknown) => error
            )
          )
        )
        yield* spoil(chain)
        assert.deepInclude(yield* Fiber.join(buying), { _tag: "PaymentError", code: "INSUFFICIENT_BALANCE", detail })
        const again = yield* Effect.promise(() => fetch(url, { headers: { "x-payment": headers[0] ?? "" } }))
        assert.strictEqual(again.status, 402)
        assert.strictEqual(shop.handlers.reports, 0)
        assert.deepStrictEqual(yield* received, [])
        assert.strictEqual(yield* chain.balanceOf(chain.accounts.payers[0].address), 1_000_000_000n)
      })
    )
  )
})
