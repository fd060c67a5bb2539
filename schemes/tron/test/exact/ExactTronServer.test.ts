import { assert, describe, it } from "@effect/vitest"
import { Misconfigured } from "@pontage/core"
import * as Network from "@pontage/core/Network"
import * as Effect from "effect/Effect"

import { exactTron } from "../../src/index.ts"
import * as ScriptedNode from "../ScriptedNode.ts"

const mainnet = Network.make("tron:mainnet")
const word = (value: bigint) => value.toString(16).padStart(64, "0")
const genesis = (end: string) => ({
  ...ScriptedNode.block(0, undefined, 0),
  blockID: `${"0".repeat(16)}${"1e".repeat(20)}${end}`
})
const decimals = (value: bigint) => ({
  result: { result: true },
  constant_result: [word(value)],
  transaction: { ret: [{}] }
})
const answers = { "wallet/getblock": genesis("2b6653dc"), "wallet/triggerconstantcontract": decimals(6n) }

/** How proving ends on a node with these answers. */
const proving = Effect.fnUntraced(function* (changes: Readonly<Record<string, unknown>> = {}) {
  const { url } = yield* ScriptedNode.table({ ...answers, ...changes })
  const half = exactTron.server({ rpcUrl: url })
  const asset = half.asset(mainnet, undefined)
  return yield* Effect.match(half.prove(mainnet, asset === undefined ? [] : [asset]), {
    onSuccess: () => "proven",
    onFailure: ({ _tag, message }) => `${_tag}: ${message}`
  })
})

describe("exactTron.server", () => {
  it.effect("proves the network and the token", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* proving(), "proven")
    })
  )

  it.effect("names the network that a node serves instead", () =>
    Effect.gen(function* () {
      assert.match(yield* proving({ "wallet/getblock": genesis("cd8690dc") }), /^Misconfigured: .*serves tron:nile/)
      assert.match(yield* proving({ "wallet/getblock": genesis("00000000") }), /^Misconfigured: .*serves tron:local/)
      assert.match(yield* proving({ "wallet/getblock": {} }), /^Misconfigured/)
    })
  )

  it.effect("names a token that is not what the table says", () =>
    Effect.gen(function* () {
      const path = "wallet/triggerconstantcontract"
      assert.match(
        yield* proving({ [path]: decimals(18n) }),
        /^Misconfigured: decimals\(\) of the token USDT .* returned 18, expected 6/
      )
      const absent = { result: { code: "CONTRACT_VALIDATE_ERROR", message: "Smart contract is not exist." } }
      assert.match(yield* proving({ [path]: absent }), /^Misconfigured: .*not exist/)
      const empty = { ...decimals(6n), constant_result: [""] }
      assert.match(yield* proving({ [path]: empty }), /^Misconfigured: .*returned no number/)
    })
  )

  it.effect("takes a node that does not answer for no proof and no mistake", () =>
    Effect.gen(function* () {
      for (const path of Object.keys(answers)) {
        assert.match(yield* proving({ [path]: { Error: "down" } }), /^ChainUnavailable/, path)
        assert.match(
          yield* proving({ [path]: { result: { code: "OTHER_ERROR" } } }),
          /^(ChainUnavailable|Misconf)/,
          path
        )
      }
      const busy = { result: { code: "SERVER_BUSY" } }
      assert.match(yield* proving({ "wallet/triggerconstantcontract": busy }), /^ChainUnavailable/)
    })
  )

  it("serves mainnet unless told otherwise, and says in offers how the token moves", () => {
    const half = exactTron.server({ rpcUrl: "http://127.0.0.1:1" })
    assert.strictEqual(half.network, "tron:mainnet")
    assert.deepStrictEqual(half.asset(mainnet, "USDT")?.extra, {
      assetTransferMethod: "transfer",
      minFeeLimit: "30000000"
    })
    assert.deepStrictEqual(half.assetNames(mainnet), ["USDT (TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t)"])
    assert.strictEqual(exactTron.server({ rpcUrl: "http://127.0.0.1:1", network: "nile" }).network, "tron:nile")
    assert.throws(() => exactTron.server({ rpcUrl: "http://127.0.0.1:1", network: "eip155:1" }), Misconfigured)
  })
})
