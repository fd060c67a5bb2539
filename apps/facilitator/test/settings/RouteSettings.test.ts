import { inspect } from "node:util"

import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"

import * as FacilitatorSettings from "../../src/settings/FacilitatorSettings.ts"

const read = FacilitatorSettings.fromEnvironment
const keyOf = (digit: string) => `0x${digit.repeat(64)}`
const node = { PONTAGE_EVM_RPC_URL: "https://node.example", PONTAGE_EVM_SIGNER_KEY: keyOf("1") }
const polygon = { network: "polygon", rpcUrl: "https://polygon.example/sEcReT", coinPrice: "300000" }
const address = "0x9151434b16b9763660705744891fA906F660EcC5"
const routed = {
  ...node,
  PONTAGE_EVM_ROUTES_TO: JSON.stringify([polygon]),
  PONTAGE_EVM_ROUTES_COIN_PRICE: "3000000000",
  PONTAGE_EVM_DELIVERY_SIGNER_KEY: keyOf("2")
}
const withoutNode = { ...routed, PONTAGE_EVM_RPC_URL: undefined }
const shared = { PONTAGE_EVM_SIGNER_KEY: keyOf("1"), PONTAGE_EVM_DELIVERY_SIGNER_KEY: keyOf("2") }
const entries = (...routes: ReadonlyArray<object>) =>
  JSON.stringify(routes.map((one, index) => ({ rpcUrl: `https://node-${index}.example`, routes: one })))

describe("settings of routes", () => {
  it.effect("take the addresses of price feeds for prices", () =>
    Effect.gen(function* () {
      const { evm } = yield* read({
        ...routed,
        PONTAGE_EVM_ROUTES_TO: JSON.stringify([{ ...polygon, coinPrice: address }]),
        PONTAGE_EVM_ROUTES_COIN_PRICE: address,
        PONTAGE_EVM_ROUTES_FEED_MAX_AGE_SECONDS: "3600",
        PONTAGE_EVM_ROUTES_FEED_MAX_JUMP_PERCENT: "5"
      })
      const { coinPrice, feedMaximumAgeSeconds, feedMaximumJumpPercent, to = [] } = evm[0]?.routes ?? {}
      assert.deepStrictEqual([coinPrice, to[0]?.coinPrice], [address, address])
      assert.deepStrictEqual([feedMaximumAgeSeconds, feedMaximumJumpPercent], [3600, 5])
    })
  )

  it.effect("lead from the one network, and hide the addresses of nodes", () =>
    Effect.gen(function* () {
      const bridge = { network: "unichain", asset: address, bridge: address, endpointId: 30_320 }
      const { evm, evmRoutes } = yield* read({
        ...routed,
        PONTAGE_EVM_ROUTES_TO: JSON.stringify([{ ...polygon, finalityDepth: 128, maxFeePerGas: "900000000000" }]),
        PONTAGE_EVM_ROUTES_MINIMUM: "5000000",
        PONTAGE_EVM_ROUTES_FEE_TO: address,
        PONTAGE_EVM_ROUTES_PUSH_AFTER_SECONDS: "60",
        PONTAGE_EVM_DELIVERY_SIGNER_KEY: `${keyOf("2")},${keyOf("3")}`,
        PONTAGE_EVM_BRIDGES: JSON.stringify([bridge])
      })
      const { to, ...terms } = evm[0]?.routes ?? { to: [] }
      assert.deepStrictEqual(terms, {
        coinPrice: 3_000_000_000n,
        minimumAmount: 5_000_000n,
        feeTo: address,
        pushAfterSeconds: 60
      })
      assert.deepStrictEqual(
        to.map(({ rpcUrl, ...far }) => [Redacted.value(rpcUrl), far]),
        [
          [
            polygon.rpcUrl,
            { network: "eip155:137", coinPrice: 300_000n, finalityDepth: 128, maxFeePerGas: 900_000_000_000n }
          ]
        ]
      )
      assert.deepStrictEqual(evmRoutes?.signers.map(Redacted.value), [keyOf("2"), keyOf("3")])
      assert.deepStrictEqual(evmRoutes?.bridges, [{ ...bridge, network: "eip155:130" }])
      const without = yield* read(node)
      assert.isUndefined(without.evmRoutes)
      assert.isUndefined(without.evm[0]?.routes)
    })
  )

  it.effect("lead from those of several networks whose entry says it", () =>
    Effect.gen(function* () {
      const routes = { to: [polygon], coinPrice: "3000000000", pushAfterSeconds: 0 }
      const { evm } = yield* read({
        ...shared,
        PONTAGE_EVM: JSON.stringify([{ rpcUrl: "https://one.example", routes }, { rpcUrl: "https://two.example" }])
      })
      assert.deepStrictEqual(
        evm.map(({ routes }) => routes?.pushAfterSeconds),
        [0, undefined]
      )
      assert.notInclude(inspect(evm, { depth: 8 }), "sEcReT")
    })
  )

  const other = { ...polygon, rpcUrl: "https://other.example" }
  const terms = { to: [polygon], coinPrice: "3000000000" }
  it.effect.each([
    ["PONTAGE_EVM_ROUTES_TO: expected", { ...routed, PONTAGE_EVM_ROUTES_TO: "polygon" }],
    ["PONTAGE_EVM_ROUTES_TO: expected", { ...routed, PONTAGE_EVM_ROUTES_TO: "[]" }],
    ["PONTAGE_EVM_ROUTES_TO: expected", { ...routed, PONTAGE_EVM_ROUTES_TO: '[{"rpcUrl":"https://polygon.example"}]' }],
    [
      "PONTAGE_EVM_ROUTES_TO: expected",
      { ...routed, PONTAGE_EVM_ROUTES_TO: JSON.stringify([{ ...polygon, coinPrice: "0" }]) }
    ],
    ["PONTAGE_EVM_ROUTES_TO: fees need", { ...routed, PONTAGE_EVM_ROUTES_COIN_PRICE: undefined }],
    ["PONTAGE_EVM_ROUTES_COIN_PRICE: expected", { ...routed, PONTAGE_EVM_ROUTES_COIN_PRICE: "3000.5" }],
    ["PONTAGE_EVM_ROUTES_COIN_PRICE: no payments", { ...node, PONTAGE_EVM_ROUTES_COIN_PRICE: "3000000000" }],
    ["PONTAGE_EVM_ROUTES_FEED_MAX_AGE_SECONDS: ", { ...routed, PONTAGE_EVM_ROUTES_FEED_MAX_AGE_SECONDS: "0" }],
    ["PONTAGE_EVM_ROUTES_FEED_MAX_JUMP_PERCENT: ", { ...routed, PONTAGE_EVM_ROUTES_FEED_MAX_JUMP_PERCENT: "0" }],
    ["PONTAGE_EVM_ROUTES_MINIMUM: expected", { ...routed, PONTAGE_EVM_ROUTES_MINIMUM: "0" }],
    ["PONTAGE_EVM_ROUTES_FEE_TO: expected", { ...routed, PONTAGE_EVM_ROUTES_FEE_TO: "sEcReT" }],
    ["PONTAGE_EVM_ROUTES_PUSH_AFTER_SECONDS: expected", { ...routed, PONTAGE_EVM_ROUTES_PUSH_AFTER_SECONDS: "-1" }],
    ["PONTAGE_EVM_DELIVERY_SIGNER_KEY: expected", { ...routed, PONTAGE_EVM_DELIVERY_SIGNER_KEY: "sEcReT" }],
    ["PONTAGE_EVM_DELIVERY_SIGNER_KEY: no signer", { ...routed, PONTAGE_EVM_DELIVERY_SIGNER_KEY: undefined }],
    ["PONTAGE_EVM_DELIVERY_SIGNER_KEY: one of the keys", { ...routed, PONTAGE_EVM_DELIVERY_SIGNER_KEY: keyOf("1") }],
    ["PONTAGE_EVM_DELIVERY_SIGNER_KEY: no payments", { ...node, PONTAGE_EVM_DELIVERY_SIGNER_KEY: keyOf("2") }],
    ["PONTAGE_EVM_BRIDGES: expected", { ...routed, PONTAGE_EVM_BRIDGES: '[{"network":"polygon"}]' }],
    ["PONTAGE_EVM: expected", { ...shared, PONTAGE_EVM: entries({ to: [polygon] }) }],
    ["PONTAGE_EVM: expected", { ...shared, PONTAGE_EVM: entries({ ...terms, toll: "1" }) }],
    ["PONTAGE_EVM: also PONTAGE_EVM_ROUTES_TO", { ...withoutNode, PONTAGE_EVM: entries(terms) }],
    ["PONTAGE_EVM: routes to eip155:137", { ...shared, PONTAGE_EVM: entries(terms, { ...terms, to: [other] }) }]
  ] as const)("name the mistake, %s, and never the value", ([begin, environment]) =>
    Effect.gen(function* () {
      const { message } = yield* Effect.flip(read(environment))
      assert.isTrue(message.startsWith(begin), message)
      assert.notInclude(message, "sEcReT")
      assert.notMatch(message, /([1-4])\1{63}/)
    })
  )
})
