/**
 * The facilitator's service with routes, set up by environment variables as an operator does, between two real nodes with LayerZero's
 * published contracts or CCTP.
 */
import { createServer } from "node:http"

import { assert, describe, it } from "@effect/vitest"
import { LocalBridge, RoutedSchemes } from "@pontage/devnet/bridge"
import { CutLine } from "@pontage/evm/testing"
import { FacilitatorProcess, FacilitatorSettings } from "@pontage/facilitator"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"

import * as CrossMarket from "./CrossMarket.ts"
import { listen } from "./OpenServer.ts"

const feeTo = "0x00000000000000000000000000000000000000fe"
const coinPrice = `${RoutedSchemes.coinPrice}`

/** The variables of an operator who takes payments on the first chain for shops on the second one, whose node is at `farUrl`. */
const environmentOf = ({ attester, bridges, first, second }: LocalBridge.LocalBridge, farUrl = second.rpcUrl) => {
  const { address, decimals, name, symbol, version } = first.token
  return {
    PORT: "0",
    PONTAGE_STORE: "memory",
    PONTAGE_EVM_RPC_URL: first.rpcUrl,
    PONTAGE_EVM_FINALITY_DEPTH: "2",
    PONTAGE_EVM_SIGNER_KEY: first.accounts.signers[0].privateKey,
    PONTAGE_EVM_ASSETS: JSON.stringify([{ network: first.network, address, decimals, name, symbol, version }]),
    PONTAGE_EVM_ROUTES_TO: JSON.stringify([
      { network: second.network, rpcUrl: farUrl, coinPrice, finalityDepth: 2, maxFeePerGas: "900000000000" }
    ]),
    PONTAGE_EVM_ROUTES_COIN_PRICE: coinPrice,
    PONTAGE_EVM_ROUTES_MINIMUM: "2000000",
    PONTAGE_EVM_ROUTES_FEE_TO: feeTo,
    PONTAGE_EVM_ROUTES_PUSH_AFTER_SECONDS: "0",
    PONTAGE_EVM_DELIVERY_SIGNER_KEY: second.accounts.signers[1].privateKey,
    PONTAGE_EVM_BRIDGES: JSON.stringify(bridges),
    ...(attester && { PONTAGE_EVM_CCTP_ATTESTER_URL: attester.url })
  }
}

const serve = Effect.fnUntraced(function* (environment: Readonly<Record<string, string>>) {
  const settings = yield* FacilitatorSettings.fromEnvironment(environment)
  return (yield* Effect.provide(FacilitatorProcess.start(settings), Logger.layer([]))).url
})

const pageAt = (url: string) =>
  Effect.promise(async () => {
    const response = await fetch(url)
    return { status: response.status, text: await response.text() }
  })

describe.each(LocalBridge.kinds)("the service with routes over %s", (kind) => {
  it.live("settles a purchase across chains and delivers it by its own signer where the bridge leaves it", () =>
    Effect.gen(function* () {
      const { behave, facilitator, first, isArrived, received, report, router, second } = yield* CrossMarket.open({
        kind,
        serve: "delivered",
        pushAfterSeconds: 0,
        facilitator: (chains) => serve(environmentOf(chains))
      })
      yield* behave("attest")
      const signer = { address: second.accounts.signers[1].address }
      const before = yield* Effect.promise(() => second.client.getTransactionCount(signer))
      const { body, status } = yield* report
      assert.strictEqual(status, 200, body)
      assert.isTrue(isArrived(yield* received, CrossMarket.price))
      assert.strictEqual(yield* first.balanceOf(router), 0n)
      assert.strictEqual(yield* Effect.promise(() => second.client.getTransactionCount(signer)), before + 1)
      assert.isAbove(Number(yield* first.balanceOf(feeTo)), 0)
      const supported = (yield* pageAt(`${facilitator}/supported`)).text
      assert.include(supported, '"minimumAmount":"2000000"')
      assert.notInclude(supported, '"delivery"')
      const ready = yield* pageAt(`${facilitator}/ready`)
      assert.strictEqual(ready.status, 200, ready.text)
      assert.include(ready.text, `chain ${second.network} delivery`)
      assert.include(ready.text, signer.address)
      // The check of the deliveries runs by itself, every two seconds.
      const metrics = Effect.map(pageAt(`${facilitator}/metrics`), ({ text }) =>
        text.split("\n").filter((line) => line.startsWith("pontage_delivery_open{"))
      )
      const shown = yield* Effect.repeat(metrics, {
        until: (lines) => lines.length > 0,
        schedule: Schedule.spaced("100 millis")
      })
      for (const line of shown) {
        assert.include(line, `from="${first.network}"`)
        assert.include(line, `to="${second.network}"`)
      }
    })
  )
})

describe("the service with routes", () => {
  it.live("sells on the first network while the other one does not respond, and takes the routes in when it does", () =>
    Effect.gen(function* () {
      const bridge = yield* LocalBridge.make("oft")
      const { first, second } = bridge
      const far = yield* CutLine.make(second.rpcUrl)
      const life = yield* Effect.scope
      const url = yield* far.whileDown(
        Effect.gen(function* () {
          const at = yield* Effect.provideService(serve(environmentOf(bridge, far.url)), Scope.Scope, life)
          const supported = (yield* pageAt(`${at}/supported`)).text
          assert.include(supported, `"network":"${first.network}"`)
          assert.include(supported, '"quotes":[]')
          assert.include(supported, `"unquoted":[{"network":"${second.network}","reason":"node_unavailable"}]`)
          const ready = yield* pageAt(`${at}/ready`)
          assert.strictEqual(ready.status, 503)
          assert.include(ready.text, `${second.network} is missing: its node ${far.url} does not respond`)
          assert.notInclude(ready.text, `${first.network} is missing`)
          return at
        })
      )
      const supported = Effect.promise(() =>
        fetch(`${url}/supported`).then(
          (response) => response.text(),
          () => ""
        )
      )
      const text = yield* Effect.repeat(supported, {
        until: (found) => found.includes('"quotes":[{'),
        schedule: Schedule.spaced("100 millis")
      })
      assert.notInclude(text, '"pending"')
      assert.notInclude(text, '"unquoted"')
    })
  )

  it.live("switches off the routes to one network whose node is silent, with that reason, and no others", () =>
    Effect.gen(function* () {
      const bridge = yield* LocalBridge.make("oft")
      const { first, second } = bridge
      const silent = yield* listen(createServer(() => {}))
      const environment = environmentOf(bridge)
      const to = JSON.parse(environment.PONTAGE_EVM_ROUTES_TO)
      to.unshift({ network: "optimism", rpcUrl: silent, coinPrice })
      const url = yield* serve({ ...environment, PONTAGE_EVM_ROUTES_TO: JSON.stringify(to) })
      const { kinds } = JSON.parse((yield* pageAt(`${url}/supported`)).text)
      const [{ quotes, unquoted }] = kinds
      assert.deepStrictEqual(
        quotes.map(({ network }: { readonly network: string }) => network),
        [second.network]
      )
      assert.deepStrictEqual(
        unquoted.map(({ network }: { readonly network: string }) => network),
        ["eip155:10"]
      )
      assert.strictEqual(unquoted[0].reason, "node_unavailable")
      const ready = (yield* pageAt(`${url}/ready`)).text
      assert.include(ready, `no payments go on from ${first.network} to eip155:10: its node does not answer`)
      assert.notInclude(ready, `no payments go on from ${first.network} to ${second.network}`)
    })
  )
})
