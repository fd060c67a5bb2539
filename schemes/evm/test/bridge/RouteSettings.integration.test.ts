import { assert, describe, layer } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"

import { deployBridgeRouter, exactEvm } from "../../src/index.ts"
import { EvmTestChain } from "../../src/testing/index.ts"
import * as HostileNode from "../HostileNode.ts"

describe("the settings of routes", () => {
  layer(EvmTestChain.layer({ payers: 1 }), { excludeTestServices: true })((it) => {
    it.effect("hold the other network's node to the facilitator's own timeout of a request", () =>
      Effect.gen(function* () {
        const { accounts, rpcUrl } = yield* EvmTestChain.EvmTestChain
        yield* deployBridgeRouter({ signer: accounts.deployer, rpcUrl })
        const asked = yield* Deferred.make<void>()
        const silent = yield* HostileNode.make(() => void Deferred.doneUnsafe(asked, Effect.void))
        const started = exactEvm.facilitator({
          signer: accounts.signers[0],
          rpcUrl,
          rpcTimeoutMillis: 70,
          routes: { coinPrice: 1n, to: [{ rpcUrl: silent.url, coinPrice: 1n }] }
        })
        const failure = yield* Effect.gen(function* () {
          const starting = yield* Effect.forkChild(Effect.flip(started))
          yield* Deferred.await(asked)
          yield* TestClock.adjust(70)
          return yield* Fiber.join(starting)
        }).pipe(Effect.provide(TestClock.layer()))
        assert.strictEqual(failure._tag, "ChainUnavailable")
        assert.match(failure.message, /did not respond within 70ms/)
      })
    )
  })
})
