import { assert, describe, it } from "@effect/vitest"
import { EvmTestChain } from "@pontage/evm/testing"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"

import * as DevBridge from "../../src/bridge/DevBridge.ts"
import type * as LocalBridge from "../../src/bridge/LocalBridge.ts"

/** Starts one, with the quote of its facilitator. */
const opened = Effect.fnUntraced(function* (kind: LocalBridge.Kind) {
  const first = yield* EvmTestChain.make({ payers: 1 })
  const bridge = yield* DevBridge.make(first, { kind })
  const facilitator = yield* bridge.schemes.facilitatorBy(first.accounts.signers[1], first.rpcUrl)
  const quotes = yield* Effect.repeat(facilitator.quotes ?? Effect.succeed([]), {
    until: (found) => found.length > 0,
    schedule: Schedule.spaced("50 millis")
  })
  return { ...bridge, quote: quotes[0] ?? {}, said: DevBridge.describe(bridge).join("\n") }
})

const ask = (url: string, method: string) =>
  Effect.promise(async () => {
    const response = await fetch(url, { method })
    return { status: response.status, text: (await response.text()).trim() }
  })

describe("the bridge of the local chains", () => {
  it.live("is described with what it takes to use it, and its executor can be told to fail", () =>
    Effect.gen(function* () {
      const { control, quote, router, said, schemes, second, token } = yield* opened("oft")
      const [lockbox] = schemes.bridges
      const [, signer] = second.accounts.signers
      for (const word of [second.rpcUrl, second.network, router, lockbox?.bridge, token, control, signer.privateKey]) {
        assert.include(said, word ?? "-")
      }
      assert.deepInclude(quote, { kind: "oft", network: second.network })
      assert.deepStrictEqual(yield* ask(control, "GET"), { status: 200, text: "deliver" })
      assert.deepStrictEqual(yield* ask(`${control}/ignore`, "POST"), { status: 200, text: "ignore" })
      assert.deepStrictEqual(yield* ask(`${control}/`, "GET"), { status: 200, text: "ignore" })
      assert.strictEqual((yield* ask(`${control}/attest`, "GET")).status, 404)
      assert.strictEqual((yield* ask(`${control}/fail`, "POST")).status, 404)
      assert.deepStrictEqual(yield* ask(`${control}/deliver`, "POST"), { status: 200, text: "deliver" })
    })
  )

  it.live("is CCTP where that is wanted, whose attester can be told to fail", () =>
    Effect.gen(function* () {
      const { control, quote, router, said, schemes, second, token } = yield* opened("cctp")
      const [, url = ""] = /attester {2}(http\S+)/.exec(said) ?? []
      for (const word of [second.rpcUrl, router, token, control, ...schemes.bridges.map(({ bridge }) => bridge)]) {
        assert.include(said, word)
      }
      assert.deepInclude(quote, { kind: "cctp", network: second.network })
      const fees = Effect.map(ask(`${url}/v2/burn/USDC/fees/3/7`, "GET"), ({ status }) => status)
      assert.strictEqual(yield* fees, 200)
      assert.deepStrictEqual(yield* ask(control, "GET"), { status: 200, text: "attest" })
      assert.deepStrictEqual(yield* ask(`${control}/fail`, "POST"), { status: 200, text: "fail" })
      assert.strictEqual(yield* fees, 503)
      assert.strictEqual((yield* ask(`${control}/deliver`, "POST")).status, 404)
      assert.deepStrictEqual(yield* ask(`${control}/attest`, "POST"), { status: 200, text: "attest" })
      assert.strictEqual(yield* fees, 200)
    })
  )
})
