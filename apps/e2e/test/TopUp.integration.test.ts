/**
 * A buyer brings its own dollars to the network of the shop: by one signature, without coin on either chain, over real HTTP, with
 * LayerZero's published contracts or CCTP between two real nodes.
 */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { text } from "node:stream/consumers"
import { fileURLToPath } from "node:url"

import { assert, describe, it } from "@effect/vitest"
import { PaymentDeclined, type Quote } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"

import * as TopUpMarket from "./TopUpMarket.ts"

const { price, purse } = TopUpMarket

const program = fileURLToPath(new URL("../../docs/examples/top-up.mjs", import.meta.url))

/** The reason why a promise was rejected. */
const failureOf = (promise: Promise<unknown>): Effect.Effect<unknown> =>
  Effect.promise(() =>
    promise.then(
      (value: unknown) => assert.fail(`expected a failure, got ${String(value)}`),
      (error: unknown) => error
    )
  )

const ruleOf = (error: unknown): string => (error instanceof PaymentDeclined ? error.rule : String(error))

describe.each(TopUpMarket.kinds)("a top-up over %s", (kind) => {
  it.live("brings what is missing to the shop's network, and the purchase follows", () =>
    Effect.gen(function* () {
      const market = yield* TopUpMarket.open(kind)
      const { account, buyer, first, here, isArrived, second, signed, there, url } = market
      const asked: Array<Quote> = []
      const confirm = (quote: Quote) => asked.push(quote) > 0
      // Without a word of permission it is named, and nothing is signed.
      const careful = buyer({ allow: {}, confirm })
      const named = yield* Effect.promise(() => careful.quote(url))
      assert.deepStrictEqual(
        named?.declined.map(({ rule }) => rule),
        ["top_up_not_allowed"]
      )
      assert.strictEqual(ruleOf(yield* failureOf(careful(url))), "top_up_not_allowed")
      assert.deepStrictEqual([asked, signed], [[], []])
      const paying = buyer({ confirm })
      const quotation = yield* Effect.promise(() => paying.quote(url))
      const topUp = quotation?.payable[0]?.topUp
      assert.isDefined(topUp)
      assert.deepInclude(topUp.from, { network: first.network, account: account.address })
      assert.strictEqual(topUp.amount, price)
      assert.isAbove(Number(topUp.fee), 0)
      assert.strictEqual(topUp.total, topUp.amount + topUp.fee)
      assert.isAbove(topUp.quotedUntil * 1000, Date.now())
      assert.deepStrictEqual(signed, [])
      const response = yield* Effect.promise(() => paying(url))
      assert.strictEqual(response.status, 200, yield* Effect.promise(() => response.text()))
      // One question, one signature on each chain, no coin; what is gone is the price and the fee that was agreed on.
      assert.strictEqual(asked.length, 1)
      assert.deepStrictEqual(signed, ["ReceiveWithAuthorization", "TransferWithAuthorization"])
      assert.isTrue(isArrived(yield* there, 0n))
      assert.strictEqual(yield* here, purse - price - (asked[0]?.topUp?.fee ?? 0n))
      assert.strictEqual(yield* second.balanceOf(second.accounts.payee.address), price)
      for (const { client } of [first, second]) {
        assert.strictEqual(yield* Effect.promise(() => client.getBalance(account)), 0n)
      }
    })
  )

  it.live("is not made where another offer can be paid with what is there", () =>
    Effect.gen(function* () {
      const { buyer, either, first, here, signed } = yield* TopUpMarket.open(kind)
      const paying = buyer()
      const { declined = [], payable = [] } = (yield* Effect.promise(() => paying.quote(either))) ?? {}
      assert.deepStrictEqual(
        declined.map(({ rule }) => rule),
        ["insufficient_funds"]
      )
      assert.deepStrictEqual(
        payable.map(({ asset, topUp }) => `${asset.network} ${String(topUp?.amount)}`),
        [`${first.network} undefined`]
      )
      const { status } = yield* Effect.promise(() => paying(either))
      assert.strictEqual(status, 200)
      assert.deepStrictEqual(signed, ["TransferWithAuthorization"])
      assert.strictEqual(yield* here, purse - price)
    })
  )

  it.live("by the documentation's program is not signed again after the program was killed", () =>
    Effect.gen(function* () {
      const market = yield* TopUpMarket.open(kind)
      const { behave, environment, here, isArrived, runs, there, url } = market
      yield* behave("ignore")
      const run = Effect.sync(() =>
        spawn(process.execPath, ["--conditions=@pontage/source", program, url], {
          env: { ...environment, PATH: process.env["PATH"] },
          stdio: ["ignore", "pipe", "inherit"]
        })
      )
      const first = yield* run
      const died = Effect.promise(() => once(first, "exit"))
      yield* Effect.repeat(here, { until: (left) => left < purse, schedule: Schedule.spaced("100 millis") })
      first.kill("SIGKILL")
      yield* died
      const left = yield* here
      yield* behave("deliver")
      const second = yield* run
      const said = yield* Effect.promise(() => text(second.stdout))
      assert.match(said, /^\$10.00 for the resource\n200 .*\n0x[0-9a-f]{64}\n$/)
      assert.deepStrictEqual([yield* here, runs()], [left, 1])
      assert.isTrue(isArrived(yield* there, 15_000_000n))
    })
  )
})
