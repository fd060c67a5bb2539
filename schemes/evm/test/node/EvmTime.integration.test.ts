/** The chain's time, and a facilitator whose clock is not the chain's. */
import { assert, describe, layer } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

import { EvmTestChain } from "../../src/testing/index.ts"
import * as Payment from "../EvmTestPayment.ts"
import * as RpcProxy from "../RpcProxy.ts"

const chain = EvmTestChain.EvmTestChain

const nothing = Effect.die("the schemeFacilitator tells its chain's time")

/** A chain that has made no block for ten minutes: its newest one is old, and the next one's time is passed on. */
const idle: RpcProxy.Fault = (response, request, pass) => {
  const fault = RpcProxy.changed({ timestamp: `0x${Math.floor(Date.now() / 1000 - 600).toString(16)}` })
  if (request.params[0] === "latest") return fault(response, request, pass)
  return pass().then((text) => void response.end(text))
}

/** A node that shows its newest block for the pending one. */
const stalled: RpcProxy.Fault = (response, request, pass) =>
  RpcProxy.changed({ timestamp: `0x${Math.floor(Date.now() / 1000 - 600).toString(16)}` })(response, request, pass)

const ahead = (millis: number) => (clock: Clock.Clock) => {
  const shifted: Clock.Clock = Object.assign(Object.create(clock), {
    currentTimeMillisUnsafe: () => clock.currentTimeMillisUnsafe() + millis,
    currentTimeMillis: Effect.map(clock.currentTimeMillis, (now) => now + millis)
  })
  return shifted
}

describe("the chain's time", () => {
  layer(EvmTestChain.layer({ payers: 2 }), { excludeTestServices: true })((it) => {
    it.effect(
      "is that of the next block where the newest is old, and the newest one's where the node shows no other",
      () =>
        Effect.gen(function* () {
          const proxy = yield* RpcProxy.make
          const { time = nothing } = yield* Payment.scheme(yield* chain, { rpcUrl: proxy.url })
          const apart = Effect.gen(function* () {
            return Math.abs((yield* time) - Number(yield* Payment.now))
          })
          assert.isAtMost(yield* apart, 30)
          proxy.spoil("eth_getBlockByNumber", idle)
          assert.isAtMost(yield* apart, 30)
          proxy.spoil("eth_getBlockByNumber", stalled)
          assert.isAtLeast(yield* apart, 590)
          proxy.spoil("eth_getBlockByNumber", RpcProxy.httpError)
          assert.strictEqual((yield* Effect.flip(time))._tag, "ChainUnavailable")
          proxy.spoil("eth_getBlockByNumber", RpcProxy.result(null))
          assert.strictEqual((yield* Effect.flip(time))._tag, "ChainUnavailable")
        })
    )

    for (const [name, millis] of [
      ["five minutes ahead of", 300_000],
      ["five minutes behind", -300_000],
      ["a day ahead of", 86_400_000],
      ["a day behind", -86_400_000]
    ] as const) {
      it.effect(
        `judges no payment where the facilitator's clock is ${name} it, and settles when it is right again`,
        () =>
          Effect.gen(function* () {
            const { settle, verify } = yield* Payment.facilitator()
            const request = yield* Payment.payment()
            const late = yield* Payment.payment({ signed: { validBefore: 1n } })
            const wrong = ahead(millis)(yield* Clock.Clock)
            const asked = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.provideService(effect, Clock.Clock, wrong)
            assert.strictEqual(yield* asked(Payment.outcome(verify(request))), "ChainUnavailable")
            assert.strictEqual(yield* asked(Payment.outcome(verify(late))), "ChainUnavailable")
            assert.strictEqual(yield* asked(Payment.outcome(settle(request, Payment.claim("one")))), "ChainUnavailable")
            assert.strictEqual(yield* Payment.outcome(verify(late)), "EXPIRED_PAYMENT expired")
            assert.strictEqual(yield* Payment.outcome(settle(request, Payment.claim("two"))), "ok")
          })
      )
    }
  })
})
