import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"

import * as FacilitatorSettings from "../../src/settings/FacilitatorSettings.ts"

const read = FacilitatorSettings.fromEnvironment
const keyOf = (digit: string) => `0x${digit.repeat(64)}`
const node = { PONTAGE_EVM_RPC_URL: "https://node.example", PONTAGE_EVM_SIGNER_KEY: keyOf("1") }
const served = { ...node, PONTAGE_EVM_CHANNEL_SIGNER_KEY: keyOf("2") }
const payees = '[{"key":"abcdefghijklmnop","payees":["0x1"]}]'
const entry = (fields: object) => JSON.stringify([{ rpcUrl: "https://node.example", ...fields }])

describe("settings of payment channels", () => {
  it.effect("serve channels on the one network, with signers of their own", () =>
    Effect.gen(function* () {
      const { evm, evmChannels } = yield* read({
        ...served,
        PONTAGE_EVM_CHANNEL_SIGNER_KEY: `${keyOf("2")},${keyOf("3")}`,
        PONTAGE_EVM_CHANNEL_AUTHORIZER_KEY: keyOf("4"),
        PONTAGE_EVM_CHANNEL_MINIMUM_DEPOSIT: "250000",
        PONTAGE_API_KEYS: payees
      })
      assert.deepStrictEqual(evm[0]?.channels, { minimumDeposit: 250_000n })
      assert.deepStrictEqual(evmChannels?.signers.map(Redacted.value), [keyOf("2"), keyOf("3")])
      assert.strictEqual(evmChannels?.authorizer && Redacted.value(evmChannels.authorizer), keyOf("4"))
      assert.deepStrictEqual((yield* read(served)).evm[0]?.channels, {})
      const without = yield* read(node)
      assert.isUndefined(without.evmChannels)
      assert.isUndefined(without.evm[0]?.channels)
    })
  )

  it.effect("serve channels on those of several networks whose entry says it", () =>
    Effect.gen(function* () {
      const { evm } = yield* read({
        PONTAGE_EVM_SIGNER_KEY: keyOf("1"),
        PONTAGE_EVM_CHANNEL_SIGNER_KEY: keyOf("2"),
        PONTAGE_EVM: JSON.stringify([
          { rpcUrl: "https://one.example", channels: { minimumDeposit: "20000" } },
          { rpcUrl: "https://two.example" }
        ])
      })
      assert.deepStrictEqual(
        evm.map(({ channels }) => channels),
        [{ minimumDeposit: 20_000n }, undefined]
      )
    })
  )

  it.effect.each([
    ["PONTAGE_EVM_CHANNEL_SIGNER_KEY", { ...node, PONTAGE_EVM_CHANNEL_SIGNER_KEY: "sEcReT" }],
    ["PONTAGE_EVM_CHANNEL_SIGNER_KEY", { ...node, PONTAGE_EVM_CHANNEL_SIGNER_KEY: keyOf("1") }],
    ["PONTAGE_EVM_CHANNEL_SIGNER_KEY", { ...served, PONTAGE_EVM_RPC_URL: undefined, PONTAGE_EVM: entry({}) }],
    ["PONTAGE_EVM_CHANNEL_AUTHORIZER_KEY", { ...node, PONTAGE_EVM_CHANNEL_AUTHORIZER_KEY: keyOf("4") }],
    ["PONTAGE_EVM_CHANNEL_AUTHORIZER_KEY", { ...served, PONTAGE_EVM_CHANNEL_AUTHORIZER_KEY: keyOf("4") }],
    [
      "PONTAGE_EVM_CHANNEL_AUTHORIZER_KEY",
      { ...served, PONTAGE_EVM_CHANNEL_AUTHORIZER_KEY: keyOf("4"), PONTAGE_API_KEYS: '["abcdefghijklmnop"]' }
    ],
    [
      "PONTAGE_EVM_CHANNEL_AUTHORIZER_KEY",
      { ...served, PONTAGE_EVM_CHANNEL_AUTHORIZER_KEY: keyOf("2"), PONTAGE_API_KEYS: payees }
    ],
    ["PONTAGE_EVM_CHANNEL_MINIMUM_DEPOSIT", { ...served, PONTAGE_EVM_CHANNEL_MINIMUM_DEPOSIT: "0" }],
    ["PONTAGE_EVM_CHANNEL_MINIMUM_DEPOSIT", { ...node, PONTAGE_EVM_CHANNEL_MINIMUM_DEPOSIT: "5" }],
    ["PONTAGE_EVM: channels", { ...node, PONTAGE_EVM_RPC_URL: undefined, PONTAGE_EVM: entry({ channels: {} }) }],
    ["PONTAGE_EVM", { ...served, PONTAGE_EVM_RPC_URL: undefined, PONTAGE_EVM: entry({ channels: { least: "1" } }) }]
  ] as const)("name the mistake of %s and never the value", ([variable, environment]) =>
    Effect.gen(function* () {
      const { message } = yield* Effect.flip(read(environment))
      assert.isTrue(message.startsWith(variable), message)
      assert.notInclude(message, "sEcReT")
      assert.notMatch(message, /([1-4])\1{63}/)
    })
  )
})
