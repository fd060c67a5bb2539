import { assert, describe, it } from "@effect/vitest"
import { Misconfigured } from "@pontage/core"
import * as Effect from "effect/Effect"

import { exactTon, TonRpc } from "../src/index.ts"

const signer = { publicKey: new Uint8Array(32), sign: async () => new Uint8Array(64) }
const rpcUrl = "http://127.0.0.1:1"
const asset = { network: "ton:mainnet", address: `0:${"2".repeat(64)}`, symbol: "X", decimals: 6 }

const thrown = (make: () => unknown) => Effect.try({ try: make, catch: (error) => error })

const refused = (making: Effect.Effect<unknown, unknown>, message: RegExp) =>
  Effect.match(making, {
    onSuccess: () => assert.fail("it was taken"),
    onFailure: (error) => {
      assert.instanceOf(error, Misconfigured)
      assert.match(error instanceof Misconfigured ? error.message : "", message)
    }
  })

describe("exactTon.client refuses", () => {
  const good = { signer, network: "ton:mainnet", rpcUrl }
  it.effect.each([
    [{ ...good, apikey: "k" }, /^exactTon\.client: apikey: unknown key; did you mean apiKey\?$/],
    [{ ...good, kind: "w5" }, /^exactTon\.client: kind: expected "w5-internal" or "external", got "w5"$/],
    [
      { ...good, signer: {} },
      /^exactTon\.client: signer: expected a signer: exactTon\.localSigner\(seed\), a key pair/
    ],
    [{ ...good, subwallet: "1" }, /subwallet: expected a whole number of at least 0, got a text$/],
    [{ ...good, assets: [{ ...asset, dollar: 1 }] }, /assets\[0\]\.dollar: expected true or false, got a number$/],
    [null, /^exactTon\.client: the options: expected a plain object, got null$/]
  ] as const)("%o", ([options, message]) =>
    refused(
      thrown(() => exactTon.client(options as never)),
      message
    )
  )
})

describe("exactTon.server refuses", () => {
  it.effect.each([
    [{ rpcUrl, netwrok: "ton:testnet" }, /^exactTon\.server: netwrok: unknown key; did you mean network\?$/],
    [Object.create({ rpcUrl }), /^exactTon\.server: the options: expected a plain object/]
  ] as const)("%o", ([options, message]) =>
    refused(
      thrown(() => exactTon.server(options as never)),
      message
    )
  )
})

describe("exactTon.facilitator refuses, before it sends a request to a node,", () => {
  const good = { signer, rpcUrl }
  it.effect.each([
    [{ ...good, lossbudget: 1n }, /^exactTon\.facilitator: lossbudget: unknown key; did you mean lossBudget\?$/],
    [{ ...good, lossBudget: 1 }, /lossBudget: expected a bigint of at least 1, such as 1000n, got a number$/],
    [{ ...good, batches: { max: 5 } }, /batches\.max: unknown key; the keys are maximum, windowMillis$/],
    [{ ...good, maximum: 5 }, /maximum: unknown key; did you mean batches\.maximum\?$/],
    [{ ...good, kinds: ["internal"] }, /kinds\[0\]: expected "w5-internal" or "external", got "internal"$/],
    [{ ...good, emulation: true }, /emulation: expected a function, got true or false$/],
    [{ ...good, extendedPayers: "no" }, /extendedPayers: expected true or false, got a text$/],
    [
      { ...good, signer: [signer, {}] },
      /signer\[1\]: expected a signer: exactTon\.localSigner\(seed\), a key pair, or \{ publicKey, sign \}, got an/
    ]
  ] as const)("%o", ([options, message]) => refused(Effect.scoped(exactTon.facilitator(options as never)), message))
})

describe("the connection to a node refuses", () => {
  it.effect("unknown options", () =>
    refused(
      TonRpc.make({ url: rpcUrl, network: "ton:mainnet", apikey: "k" } as never),
      /^the RPC: apikey: unknown key; did you mean apiKey\?$/
    )
  )
})
