import { assert, describe, it } from "@effect/vitest"
import { Misconfigured } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"

import * as ApiKey from "../src/callers/ApiKey.ts"
import * as FacilitatorProcess from "../src/FacilitatorProcess.ts"
import * as FacilitatorSettings from "../src/settings/FacilitatorSettings.ts"
import * as LedgerService from "./LedgerService.ts"

const shop = { name: "shop", keys: [ApiKey.digestOf("a key of the shop")] }

const messageOf = <R>(making: Effect.Effect<unknown, unknown, R>) =>
  Effect.match(making, {
    onSuccess: () => "taken",
    onFailure: (error) => (error instanceof Misconfigured ? error.message : `no Misconfigured: ${String(error)}`)
  })

describe("a service does not open", () => {
  it.effect.each([
    [{ caller: [shop] }, /^the service: caller: unknown key; did you mean callers\?$/],
    [
      { callers: [] },
      /^the service: callers: the list is empty; give a caller, or leave the option out to let everybody/
    ],
    [{ callers: null }, /^the service: callers: expected a list, got null$/],
    [{ callers: [{ ...shop, keys: [] }] }, /callers\[0\]\.keys: the list is empty/],
    [
      { callers: [{ ...shop, keys: ["a key of the shop"] }] },
      /callers\[0\]\.keys\[0\]: expected a redacted value, got a text$/
    ],
    [
      { callers: [{ ...shop, registration: [] }] },
      /callers\[0\]\.registration: unknown key; did you mean registrations\?$/
    ],
    [
      { callers: [{ ...shop, registrations: [{ payee: [] }] }] },
      /registrations\[0\]\.payee: unknown key; did you mean payees\?$/
    ],
    [
      { callers: [{ ...shop, gasCeilings: { "eip155:1": 1n } }] },
      /gasCeilings: expected a Map of amounts by network, got an object$/
    ],
    [
      { callers: [{ ...shop, webhook: { url: Redacted.make("") } }] },
      /webhook\.secret: expected a redacted value, got nothing$/
    ],
    [{ callers: [{ ...shop, rates: { rate: "1/2" } }] }, /rates\.rate: expected a plain object, got a text$/],
    [{ webhooksToPrivate: "false" }, /^the service: webhooksToPrivate: expected true or false, got a text$/],
    [{ hosts: "0.0.0.0" }, /^the service: hosts: unknown key; did you mean host\?$/]
  ] as const)("with %o", ([options, expected]) =>
    Effect.map(Effect.scoped(messageOf(LedgerService.open(options as never))), (message) =>
      assert.match(message, expected)
    )
  )
})

describe("a process does not start", () => {
  it.effect.each([
    [{ evmNetworks: [] }, /^settings: evmNetworks: unknown key/],
    [{ evmGasCeilling: 1n }, /^settings: evmGasCeilling: unknown key; did you mean evmGasCeiling\?$/],
    [{ evm: [{ rpcUrls: "" }] }, /^settings: evm\[0\]\.rpcUrls: unknown key; did you mean rpcUrl\?$/],
    [{ callers: [{ ...shop, operater: true }] }, /callers\[0\]\.operater: unknown key; did you mean operator\?$/]
  ] as const)("with %o", ([changed, expected]) =>
    Effect.gen(function* () {
      const settings = yield* FacilitatorSettings.fromEnvironment({
        PONTAGE_EVM_SIGNER_KEY: `0x${"1".repeat(64)}`,
        PONTAGE_EVM_RPC_URL: "http://127.0.0.1:1"
      })
      const starting = FacilitatorProcess.start({ ...settings, ...changed } as never)
      assert.match(yield* Effect.scoped(messageOf(starting)), expected)
    })
  )
})
