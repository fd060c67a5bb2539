import { assert, describe, it } from "@effect/vitest"
import { Misconfigured } from "@pontage/core"
import * as Effect from "effect/Effect"

import { exactTron, TronRpc } from "../src/index.ts"

const signer = exactTron.localSigner("1".repeat(64))
const rpcUrl = "http://127.0.0.1:1"

const thrown = (make: () => unknown) => Effect.try({ try: make, catch: (error) => error })

const refused = (making: Effect.Effect<unknown, unknown>, message: RegExp) =>
  Effect.match(making, {
    onSuccess: () => assert.fail("it was taken"),
    onFailure: (error) => {
      assert.instanceOf(error, Misconfigured)
      assert.match(error instanceof Misconfigured ? error.message : "", message)
    }
  })

describe("exactTron.client refuses", () => {
  it.effect.each([
    [{ signer, maxFeelimit: 1n }, /^exactTron\.client: maxFeelimit: unknown key; did you mean maxFeeLimit\?$/],
    [{ signer, maxFeeLimit: 1 }, /maxFeeLimit: expected a bigint of at least 0, such as 1000n, got a number$/],
    [{ signer, rpcHeaders: { a: 1 } }, /rpcHeaders\["a"\]: expected a text, got a number$/],
    [{ signer: "key" }, /signer: expected a signer, such as localSigner\(key\), got a text$/],
    [1n, /^exactTron\.client: the options: expected a plain object, got a bigint$/]
  ] as const)("%o", ([options, message]) =>
    refused(
      thrown(() => exactTron.client(options as never)),
      message
    )
  )
})

describe("exactTron.server refuses", () => {
  it.effect.each([
    [{ rpcUrl, headers: {} }, /^exactTron\.server: headers: unknown key/],
    [Object.create({ rpcUrl }), /^exactTron\.server: the options: expected a plain object/]
  ] as const)("%o", ([options, message]) =>
    refused(
      thrown(() => exactTron.server(options as never)),
      message
    )
  )
})

describe("exactTron.facilitator refuses, before it sends a request,", () => {
  it.effect.each([
    [
      { rpcUrl, finality: "final" },
      /^exactTron\.facilitator: finality: expected "included" or "solidified", got "final"$/
    ],
    [{ rpcUrl, sponsor: null }, /sponsor: expected a plain object, got null$/],
    [
      { rpcUrl, sponsor: { signer, maxEnergyPerday: 1n } },
      /sponsor\.maxEnergyPerday: unknown key; did you mean maxEnergyPerDay\?$/
    ],
    [
      { rpcUrl, sponsor: { signer, maxPaymentsPerPayer: "9" } },
      /sponsor\.maxPaymentsPerPayer: expected a whole number/
    ],
    [{ rpcUrl, maxEnergyPerDay: 1n }, /maxEnergyPerDay: unknown key; did you mean sponsor\.maxEnergyPerDay\?$/],
    [{ rpcUrl, signer }, /signer: unknown key; did you mean sponsor\.signer\?$/]
  ] as const)("%o", ([options, message]) => refused(Effect.scoped(exactTron.facilitator(options as never)), message))
})

describe("TronRpc refuses", () => {
  it.effect("unknown options", () =>
    refused(
      TronRpc.make({ url: rpcUrl, network: "tron:nile", header: {} } as never),
      /^the RPC: header: unknown key; did you mean headers\?$/
    )
  )
})
