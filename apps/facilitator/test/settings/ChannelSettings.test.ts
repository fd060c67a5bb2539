import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"

import * as FacilitatorSettings from "../../src/settings/FacilitatorSettings.ts"

const read = FacilitatorSettings.fromEnvironment
const keyOf = (digit: string) => `0x${digit.repeat(64)}`
const node = { PONTAGE_EVM_RPC_URL: "https://node.example", PONTAGE_EVM_SIGNER_KEY: keyOf("1") }
const served = { ...node, PONTAGE_EVM_CHANNEL_SIGNER_KEY: keyOf("2") }
const payees = '[{"key":"abcdefghijklmnop","payees":["0x1"]}]'
const lent = { ...served, PONTAGE_EVM_CHANNEL_AUTHORIZER_KEY: keyOf("4"), PONTAGE_API_KEYS: payees }
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

  it.effect("say when the channels of a ledger are claimed", () =>
    Effect.gen(function* () {
      const { evm } = yield* read({
        ...served,
        PONTAGE_EVM_CHANNEL_AUTHORIZER_KEY: keyOf("4"),
        PONTAGE_API_KEYS: payees,
        PONTAGE_EVM_CHANNEL_POLL_MS: "1000",
        PONTAGE_EVM_CHANNEL_LEAST_CLAIM: "1000000",
        PONTAGE_EVM_CHANNEL_MAXIMUM_UNCLAIMED: "20000000",
        PONTAGE_EVM_CHANNEL_WORTHWHILE: "5000000",
        PONTAGE_EVM_CHANNEL_WORTHWHILE_AGE_MS: "7200000",
        PONTAGE_EVM_CHANNEL_MAXIMUM_AGE_MS: "2592000000",
        PONTAGE_EVM_CHANNEL_LEAST_PAYOUT: "2000000"
      })
      const terms = {
        pollMillis: 1_000,
        leastClaim: 1_000_000n,
        maximumUnclaimed: 20_000_000n,
        worthwhile: 5_000_000n,
        worthwhileAgeMillis: 7_200_000,
        maximumAgeMillis: 2_592_000_000,
        leastPayout: 2_000_000n
      }
      assert.deepStrictEqual(evm[0]?.channels, terms)
      const several = yield* read({
        PONTAGE_EVM_SIGNER_KEY: keyOf("1"),
        PONTAGE_EVM_CHANNEL_SIGNER_KEY: keyOf("2"),
        PONTAGE_EVM_CHANNEL_AUTHORIZER_KEY: keyOf("4"),
        PONTAGE_API_KEYS: payees,
        PONTAGE_EVM: JSON.stringify([
          { rpcUrl: "https://one.example", channels: { leastClaim: "1000000", pollMillis: 500 } },
          { rpcUrl: "https://two.example", channels: {} }
        ])
      })
      assert.deepStrictEqual(
        several.evm.map(({ channels }) => channels),
        [{ leastClaim: 1_000_000n, pollMillis: 500 }, {}]
      )
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
    ...[
      ["POLL_MS", "99"],
      ["POLL_MS", "30001"],
      ["LEAST_CLAIM", "0"],
      ["LEAST_CLAIM", "-1"],
      ["LEAST_CLAIM", "1.5"],
      ["LEAST_CLAIM", ""],
      ["LEAST_CLAIM", `1${"0".repeat(30)}`],
      ["MAXIMUM_UNCLAIMED", "0x10"],
      ["WORTHWHILE", "1e6"],
      ["WORTHWHILE_AGE_MS", "1.5"],
      ["MAXIMUM_AGE_MS", "2592000001"],
      ["LEAST_PAYOUT", "$1"]
    ].map(([name = "", value = ""]) => {
      const variable = `PONTAGE_EVM_CHANNEL_${name}`
      return [variable, { ...lent, [variable]: value }] as const
    }),
    ["PONTAGE_EVM_CHANNEL_LEAST_CLAIM: no ledger", { ...served, PONTAGE_EVM_CHANNEL_LEAST_CLAIM: "5" }],
    ["PONTAGE_EVM_CHANNEL_LEAST_CLAIM: no payment channels", { ...node, PONTAGE_EVM_CHANNEL_LEAST_CLAIM: "5" }],
    [
      "PONTAGE_EVM: channels.leastClaim: no ledger",
      { ...served, PONTAGE_EVM_RPC_URL: undefined, PONTAGE_EVM: entry({ channels: { leastClaim: "5" } }) }
    ],
    [
      "PONTAGE_EVM: also PONTAGE_EVM_CHANNEL_LEAST_PAYOUT",
      {
        ...lent,
        PONTAGE_EVM_RPC_URL: undefined,
        PONTAGE_EVM: entry({ channels: {} }),
        PONTAGE_EVM_CHANNEL_LEAST_PAYOUT: "5"
      }
    ],
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
