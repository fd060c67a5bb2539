import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"

import * as FacilitatorSettings from "../src/FacilitatorSettings.ts"

const key = `0x${"5e".repeat(32)}`
const otherKey = `0x${"A1".repeat(32)}`
const enough = { PONTAGE_EVM_RPC_URL: "https://node.example/secret", PONTAGE_EVM_SIGNER_KEY: key }

const euro = {
  network: "eip155:8453",
  address: "0x60a3E35Cc302bFA44Cb288Bc5a4F316Fdb1adb42",
  symbol: "EURC",
  decimals: 6,
  name: "EURC",
  version: "2"
}

const read = FacilitatorSettings.fromEnvironment

describe("settings", () => {
  it.effect("need a node and a signer, and are careful otherwise", () =>
    Effect.gen(function* () {
      const settings = yield* read({ ...enough, PATH: "/bin", UNSET: undefined })
      const { evm, evmSignerKeys, ...rest } = settings
      assert.deepStrictEqual(rest, {
        host: "127.0.0.1",
        port: 4021,
        apiKeys: [],
        settleTimeoutMillis: 25_000,
        evmAssets: [],
        evmMinimumGas: 1n
      })
      assert.deepStrictEqual(
        evm.map((one) => [Redacted.value(one.rpcUrl), one.network]),
        [["https://node.example/secret", undefined]]
      )
      assert.deepStrictEqual(evmSignerKeys.map(Redacted.value), [key])
    })
  )

  it.effect("take everything else too", () =>
    Effect.gen(function* () {
      const settings = yield* read({
        HOST: "0.0.0.0",
        PORT: "0",
        PONTAGE_API_KEYS: '["abcdefghijklmnop",{"key":"ABCDEFGHIJKLMNOP","payees":["0x1"]}]',
        PONTAGE_SETTLE_TIMEOUT_MS: "5000",
        PONTAGE_EVM_MIN_GAS_WEI: "1000000000000000000000",
        PONTAGE_EVM_ASSETS: JSON.stringify([euro]),
        PONTAGE_EVM: '[{"rpcUrl":"http://localhost:8545"},{"network":"eip155:8453","rpcUrl":"https://base.example"}]',
        PONTAGE_EVM_SIGNER_KEY: `${key},${otherKey}`
      })
      assert.strictEqual(settings.host, "0.0.0.0")
      assert.strictEqual(settings.port, 0)
      assert.strictEqual(settings.settleTimeoutMillis, 5000)
      assert.strictEqual(settings.evmMinimumGas, 10n ** 21n)
      assert.deepStrictEqual(settings.evmAssets, [euro])
      assert.deepStrictEqual(
        settings.apiKeys.map((one) => [Redacted.value(one.key), one.payees]),
        [
          ["abcdefghijklmnop", undefined],
          ["ABCDEFGHIJKLMNOP", ["0x1"]]
        ]
      )
      assert.deepStrictEqual(
        settings.evm.map((one) => [Redacted.value(one.rpcUrl), one.network]),
        [
          ["http://localhost:8545", undefined],
          ["https://base.example", "eip155:8453"]
        ]
      )
      assert.deepStrictEqual(settings.evmSignerKeys.map(Redacted.value), [key, otherKey])
    })
  )

  it.effect("take a network for the one node, and strangers without keys where it is said", () =>
    Effect.gen(function* () {
      const settings = yield* read({
        ...enough,
        HOST: "::",
        PONTAGE_ALLOW_ANONYMOUS: "true",
        PONTAGE_EVM_NETWORK: "eip155:1"
      })
      assert.strictEqual(settings.evm[0]?.network, "eip155:1")
    })
  )
})

const secret = "sEcReT-value"

describe("a mistake names the variable, shows an example and never the value", () => {
  it.effect.each([
    ["HOST", ""],
    ["PORT", ""],
    ["PORT", "http"],
    ["PORT", "65536"],
    ["PORT", "-1"],
    ["PORT", "80.5"],
    ["PONTAGE_EVM_RPC_URL", ""],
    ["PONTAGE_EVM_RPC_URL", `ftp://${secret}`],
    ["PONTAGE_EVM_RPC_URL", secret],
    ["PONTAGE_EVM_NETWORK", "base"],
    ["PONTAGE_EVM_NETWORK", "ton:mainnet"],
    ["PONTAGE_EVM", "[]"],
    ["PONTAGE_EVM", secret],
    ["PONTAGE_EVM", `[{"rpcUrl":"${secret}"}]`],
    ["PONTAGE_EVM", '[{"network":"eip155:1"}]'],
    ["PONTAGE_EVM_SIGNER_KEY", ""],
    ["PONTAGE_EVM_SIGNER_KEY", key.slice(0, -1)],
    ["PONTAGE_EVM_SIGNER_KEY", `${key}00`],
    ["PONTAGE_EVM_SIGNER_KEY", key.slice(2)],
    ["PONTAGE_EVM_SIGNER_KEY", `${key},`],
    ["PONTAGE_EVM_ASSETS", "[]"],
    ["PONTAGE_EVM_ASSETS", `[{"symbol":"${secret}"}]`],
    ["PONTAGE_EVM_MIN_GAS_WEI", "0.5"],
    ["PONTAGE_EVM_MIN_GAS_WEI", "-1"],
    ["PONTAGE_API_KEYS", ""],
    ["PONTAGE_API_KEYS", "[]"],
    ["PONTAGE_API_KEYS", secret],
    ["PONTAGE_API_KEYS", `["${secret}"]`],
    ["PONTAGE_API_KEYS", `[{"key":"${secret}${secret}","payees":[]}]`],
    ["PONTAGE_ALLOW_ANONYMOUS", "yes"],
    ["PONTAGE_SETTLE_TIMEOUT_MS", "999"],
    ["PONTAGE_SETTLE_TIMEOUT_MS", "25s"]
  ] as const)("%s=%s", ([name, value]) =>
    Effect.gen(function* () {
      const { message } = yield* Effect.flip(read({ ...enough, [name]: value }))
      assert.match(message, new RegExp(`^${name}: expected .*; for example ${name}=`, "m"))
      if (value.includes(secret)) assert.notInclude(message, secret)
      if (value.length > 40) assert.notInclude(message, value.slice(2, 40))
    })
  )

  it.effect.each([
    [{ PONTAGE_EVM_SIGNER_KEY: key }, /^PONTAGE_EVM_RPC_URL: no chain to settle on; set it/],
    [{ PONTAGE_EVM_RPC_URL: "https://node.example" }, /^PONTAGE_EVM_SIGNER_KEY: no signer; set it/],
    [{ ...enough, PONTAGE_EVM: '[{"rpcUrl":"https://x.example"}]' }, /^PONTAGE_EVM: also PONTAGE_EVM_RPC_URL/],
    [{ ...enough, HOST: "0.0.0.0" }, /^HOST: other machines could settle at your signer's cost; set PONTAGE_API_KEYS/],
    [{ ...enough, HOST: "facilitator", PONTAGE_ALLOW_ANONYMOUS: "false" }, /^HOST: other machines/],
    [{ ...enough, PONTAGE_APIKEYS: secret }, /^PONTAGE_APIKEYS: no such setting; there are .*PONTAGE_API_KEYS/]
  ] as const)("%j", ([environment, expected]) =>
    Effect.gen(function* () {
      const { _tag, message } = yield* Effect.flip(read(environment))
      assert.strictEqual(_tag, "Misconfigured")
      assert.match(message, expected)
      assert.notInclude(message, secret)
    })
  )

  it.effect("all mistakes are told at once", () =>
    Effect.gen(function* () {
      const { message } = yield* Effect.flip(read({ PORT: "x", PONTAGE_EVM_RPC_URL: "y", PONTAGE_TYPO: "z" }))
      assert.deepStrictEqual(
        message.split("\n").map((line) => line.slice(0, line.indexOf(":"))),
        ["PORT", "PONTAGE_EVM_RPC_URL", "PONTAGE_TYPO"]
      )
    })
  )
})
