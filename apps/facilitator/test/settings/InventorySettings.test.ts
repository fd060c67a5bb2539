import { inspect } from "node:util"

import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"

import * as FacilitatorSettings from "../../src/settings/FacilitatorSettings.ts"

const read = FacilitatorSettings.fromEnvironment
const keyOf = (digit: string) => `0x${digit.repeat(64)}`
const pair = { from: "arbitrum", to: "polygon", fee: "50000", perDay: "1000000000" }
const pairs = (change: object = {}) => JSON.stringify([{ ...pair, ...change }])
const node = {
  PONTAGE_EVM: JSON.stringify([
    { network: "arbitrum", rpcUrl: "https://one.example" },
    { network: "eip155:137", rpcUrl: "https://two.example" }
  ]),
  PONTAGE_EVM_SIGNER_KEY: keyOf("1")
}
const served = { ...node, PONTAGE_BRIDGE_INVENTORY: pairs(), PONTAGE_BRIDGE_INVENTORY_KEY: keyOf("3") }

const ton = {
  PONTAGE_TON_RPC_URL: "https://three.example",
  PONTAGE_TON_SIGNER_KEY: `${"5".repeat(64)},${"4".repeat(64)}`
}
const onTon = (from = "arbitrum") => pairs({ from, to: "ton:mainnet" })

describe("settings of an inventory", () => {
  it.effect("are the pairs of networks and a key of their own, which is hidden", () =>
    Effect.gen(function* () {
      const more = {
        asset: "USDT0",
        toAsset: "USDC",
        minimumAmount: "1000000",
        maximumAmount: "20000000",
        lossBudget: "50000000"
      }
      const { inventory } = yield* read({ ...served, PONTAGE_BRIDGE_INVENTORY: pairs(more) })
      const limits = { minimumAmount: 1_000_000n, maximumAmount: 20_000_000n, lossBudget: 50_000_000n }
      const amounts = { fee: 50_000n, perDay: 1_000_000_000n, ...limits }
      assert.deepStrictEqual(inventory?.pairs, [{ ...pair, ...more, ...amounts }])
      assert.strictEqual(inventory && Redacted.value(inventory.key), keyOf("3"))
      assert.notInclude(inspect(inventory, { depth: 8 }), keyOf("3"))
      assert.isUndefined((yield* read(node)).inventory)
    })
  )

  it.effect("have a key of its own for the wallet on TON, which is hidden too", () =>
    Effect.gen(function* () {
      const seed = { PONTAGE_BRIDGE_INVENTORY_TON_KEY: "6".repeat(64) }
      const { inventory } = yield* read({ ...served, ...ton, PONTAGE_BRIDGE_INVENTORY: onTon(), ...seed })
      assert.strictEqual(inventory?.tonKey && Redacted.value(inventory.tonKey), "6".repeat(64))
      assert.notInclude(inspect(inventory, { depth: 8 }), "6".repeat(64))
    })
  )

  it.effect.each([
    ["PONTAGE_BRIDGE_INVENTORY: expected", { ...served, PONTAGE_BRIDGE_INVENTORY: "polygon" }],
    ["PONTAGE_BRIDGE_INVENTORY: expected", { ...served, PONTAGE_BRIDGE_INVENTORY: "[]" }],
    ["PONTAGE_BRIDGE_INVENTORY: expected", { ...served, PONTAGE_BRIDGE_INVENTORY: pairs({ toll: "1" }) }],
    ["PONTAGE_BRIDGE_INVENTORY: expected", { ...served, PONTAGE_BRIDGE_INVENTORY: pairs({ perDay: "0" }) }],
    ["PONTAGE_BRIDGE_INVENTORY: expected", { ...served, PONTAGE_BRIDGE_INVENTORY: pairs({ fee: 50_000 }) }],
    ["PONTAGE_BRIDGE_INVENTORY: expected", { ...served, PONTAGE_BRIDGE_INVENTORY: pairs({ perDay: "1.5" }) }],
    [
      "PONTAGE_BRIDGE_INVENTORY: tron:mainnet is not settled on; set PONTAGE_TRON_RPC_URL",
      { ...served, PONTAGE_BRIDGE_INVENTORY: pairs({ to: "tron:mainnet" }) }
    ],
    [
      "PONTAGE_BRIDGE_INVENTORY: ton:-239 is not settled on; set PONTAGE_TON_RPC_URL",
      { ...served, PONTAGE_BRIDGE_INVENTORY: pairs({ to: "ton:-239" }) }
    ],
    [
      "PONTAGE_BRIDGE_INVENTORY: ton:testnet is not settled on",
      { ...served, ...ton, PONTAGE_BRIDGE_INVENTORY: pairs({ to: "ton:testnet" }) }
    ],
    ["PONTAGE_BRIDGE_INVENTORY: ton is not an EVM", { ...served, ...ton, PONTAGE_BRIDGE_INVENTORY: onTon("ton") }],
    ["PONTAGE_BRIDGE_INVENTORY_TON_KEY: no key", { ...served, ...ton, PONTAGE_BRIDGE_INVENTORY: onTon() }],
    ["PONTAGE_BRIDGE_INVENTORY_TON_KEY: no pair", { ...served, PONTAGE_BRIDGE_INVENTORY_TON_KEY: "4".repeat(64) }],
    [
      "PONTAGE_BRIDGE_INVENTORY_TON_KEY: the key is a relayer's",
      {
        ...served,
        ...ton,
        PONTAGE_BRIDGE_INVENTORY: onTon(),
        PONTAGE_BRIDGE_INVENTORY_TON_KEY: "4".repeat(64)
      }
    ],
    [
      "PONTAGE_BRIDGE_INVENTORY_TON_KEY: expected",
      { ...served, ...ton, PONTAGE_BRIDGE_INVENTORY: onTon(), PONTAGE_BRIDGE_INVENTORY_TON_KEY: "sEcReT" }
    ],
    ["PONTAGE_BRIDGE_INVENTORY: base is not settled", { ...served, PONTAGE_BRIDGE_INVENTORY: pairs({ to: "base" }) }],
    ["PONTAGE_BRIDGE_INVENTORY_KEY: expected", { ...served, PONTAGE_BRIDGE_INVENTORY_KEY: "sEcReT" }],
    ["PONTAGE_BRIDGE_INVENTORY_KEY: no key", { ...served, PONTAGE_BRIDGE_INVENTORY_KEY: undefined }],
    ["PONTAGE_BRIDGE_INVENTORY_KEY: the key is set", { ...served, PONTAGE_BRIDGE_INVENTORY_KEY: keyOf("1") }],
    ["PONTAGE_BRIDGE_INVENTORY_KEY: no inventory", { ...node, PONTAGE_BRIDGE_INVENTORY_KEY: keyOf("3") }],
    ["PONTAGE_BRIDGE_INVENTORIES: no such setting", { ...served, PONTAGE_BRIDGE_INVENTORIES: pairs() }]
  ] as const)("name the mistake, %s, and never the value", ([begin, environment]) =>
    Effect.gen(function* () {
      const { message } = yield* Effect.flip(read(environment))
      assert.isTrue(message.startsWith(begin), message)
      assert.notInclude(message, "sEcReT")
      assert.notMatch(message, /([1-6])\1{63}/)
    })
  )
})
