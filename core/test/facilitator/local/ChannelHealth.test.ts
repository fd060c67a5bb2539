/** Draws and deposits stop while claims could not be sent in time. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"

import * as ChannelHealth from "../../../src/facilitator/local/ChannelHealth.ts"
import * as Network from "../../../src/protocol/Network.ts"
import { ChainUnavailable } from "../../../src/protocol/ProtocolError.ts"
import type { SchemeFacilitator } from "../../../src/scheme/SchemeFacilitator.ts"

const network = Network.make("ledger:health")

/** A scheme whose only signer has this much coin, on a chain with these fees. */
const schemeOf = (balance: () => bigint, maximum = 2n): SchemeFacilitator =>
  ({
    network,
    chainHead: Effect.succeed({
      head: { number: 1n, hash: "0x1", time: 0 },
      final: 0n,
      fees: { maximum, priority: 0n, ceiling: 10n }
    }),
    signers: Effect.sync(() => [{ address: "signer", balance: balance() }])
  }) as Partial<SchemeFacilitator> as SchemeFacilitator

const gas = 100n

describe("the condition of claiming", () => {
  it.effect("grants draws until no look was good for a third of the delay of a withdrawal", () =>
    Effect.gen(function* () {
      const health = yield* ChannelHealth.make
      const scheme = schemeOf(() => 1_000_000n)
      yield* health.looked(scheme, gas)
      yield* TestClock.adjust("300 seconds")
      yield* health.demand(scheme, 900)
      yield* TestClock.adjust("1 second")
      const blind = yield* Effect.flip(health.demand(scheme, 900))
      assert.strictEqual(blind._tag, "FacilitatorUnavailable")
      yield* health.demand(scheme, 86_400)
      yield* health.looked(scheme, gas)
      yield* health.demand(scheme, 900)
    })
  )

  it.effect("grants none before the end of a new process's first look, and none after it while no look was good", () =>
    Effect.gen(function* () {
      const health = yield* ChannelHealth.make
      const scheme = schemeOf(() => 1_000_000n)
      const early = yield* Effect.forkChild(Effect.result(health.demand(scheme, 86_400)))
      yield* TestClock.adjust("1 minute")
      assert.isUndefined(early.pollUnsafe())
      health.missed(network)
      assert.strictEqual((yield* Fiber.join(early))._tag, "Failure")
      assert.include((yield* Effect.flip(health.demand(scheme, 86_400))).message, "looked for")
      yield* health.looked(scheme, gas)
      yield* health.demand(scheme, 86_400)
    })
  )

  it.effect("takes no look for a good one whose read of the signers' coin failed", () =>
    Effect.gen(function* () {
      const health = yield* ChannelHealth.make
      const scheme = schemeOf(() => 1_000_000n)
      const blind = {
        ...scheme,
        signers: Effect.fail(new ChainUnavailable({ network, message: "the node is silent" }))
      }
      yield* health.looked(scheme, gas)
      yield* TestClock.adjust("301 seconds")
      yield* Effect.flip(health.looked(blind, gas))
      assert.include((yield* Effect.flip(health.demand(scheme, 900))).message, "looked for")
      yield* health.looked(scheme, gas)
      yield* health.demand(scheme, 900)
    })
  )

  it.effect("grants none while claims fail, of either kind", () =>
    Effect.gen(function* () {
      const health = yield* ChannelHealth.make
      const scheme = schemeOf(() => 1_000_000n)
      yield* health.looked(scheme, gas)
      health.claimed(network, "urgent", "the ceiling is reached")
      health.claimed(network, "calm", undefined)
      assert.include((yield* Effect.flip(health.demand(scheme, 900))).message, "the ceiling is reached")
      health.claimed(network, "urgent", undefined)
      yield* health.demand(scheme, 900)
    })
  )

  it.effect("grants none while the signers cannot pay for a claim, or gas costs more than the operator allows", () =>
    Effect.gen(function* () {
      const health = yield* ChannelHealth.make
      let balance = 199n
      const scheme = schemeOf(() => balance)
      yield* health.looked(scheme, gas)
      assert.include((yield* Effect.flip(health.demand(scheme, 900))).message, "199")
      balance = 200n
      yield* health.looked(scheme, gas)
      yield* health.demand(scheme, 900)
      const dear = schemeOf(() => balance, 11n)
      yield* health.looked(dear, 0n)
      assert.include((yield* Effect.flip(health.demand(dear, 900))).message, "operator allows")
    })
  )

  it.effect(
    "sends a deposit only while the coin for ten claims is left, and for one more beside each deposit under way",
    () =>
      Effect.gen(function* () {
        const health = yield* ChannelHealth.make
        const scheme = schemeOf(() => 2_199n)
        const nested = health.depositing(scheme, gas, Effect.succeed("second"))
        const first = yield* health.depositing(scheme, gas, Effect.result(nested))
        assert.strictEqual(first._tag, "Failure")
        assert.strictEqual(yield* nested, "second")
        const poor = health.depositing(
          schemeOf(() => 1_999n),
          gas,
          Effect.die("it was sent")
        )
        assert.strictEqual((yield* Effect.flip(poor))._tag, "FacilitatorUnavailable")
      })
  )
})
