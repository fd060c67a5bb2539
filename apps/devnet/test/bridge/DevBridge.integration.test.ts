import { assert, describe, it } from "@effect/vitest"
import { EvmTestChain } from "@pontage/evm/testing"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"

import * as DevBridge from "../../src/bridge/DevBridge.ts"

const ask = (url: string, method: string) =>
  Effect.promise(async () => {
    const response = await fetch(url, { method })
    return { status: response.status, text: (await response.text()).trim() }
  })

describe("the bridge of the local chains", () => {
  it.live("is described with what it takes to use it, and its executor can be told to fail", () =>
    Effect.gen(function* () {
      const first = yield* EvmTestChain.make({ payers: 1 })
      const bridge = yield* DevBridge.make(first)
      const { control, lockbox, router, second, token } = bridge
      const said = DevBridge.describe(bridge).join("\n")
      const [, signer] = second.accounts.signers
      for (const word of [second.rpcUrl, second.network, router, lockbox, token, control, signer.privateKey]) {
        assert.include(said, word)
      }
      const facilitator = yield* bridge.schemes.facilitatorBy(first.accounts.signers[1], first.rpcUrl)
      const quotes = yield* Effect.repeat(facilitator.quotes ?? Effect.succeed([]), {
        until: (found) => found.length > 0,
        schedule: Schedule.spaced("50 millis")
      })
      assert.strictEqual(quotes[0]?.["network"], second.network)
      assert.deepStrictEqual(yield* ask(control, "GET"), { status: 200, text: "deliver" })
      assert.deepStrictEqual(yield* ask(`${control}/ignore`, "POST"), { status: 200, text: "ignore" })
      assert.deepStrictEqual(yield* ask(`${control}/`, "GET"), { status: 200, text: "ignore" })
      assert.strictEqual((yield* ask(`${control}/attest`, "GET")).status, 404)
      assert.strictEqual((yield* ask(`${control}/fail`, "POST")).status, 404)
      assert.deepStrictEqual(yield* ask(`${control}/deliver`, "POST"), { status: 200, text: "deliver" })
    })
  )
})
