/** The service over a facilitator of its own that settles on a ledger in memory, and payments for it. */
import { Binding, LocalFacilitator, PaymentPayload, type PaymentRequest } from "@pontage/core"
import { TestLedger, TestScheme } from "@pontage/core/testing"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Metric from "effect/Metric"

import * as FacilitatorServer from "../src/api/FacilitatorServer.ts"

export const payee = "acct-shop"
export const payer = "acct-alice"

export interface LedgerService extends FacilitatorServer.Running {
  readonly ledger: TestLedger.TestLedger
  readonly get: (path: string, headers?: Record<string, string>) => Effect.Effect<Response>
  readonly post: (path: string, body: unknown, headers?: Record<string, string>) => Effect.Effect<Response>
}

/** Opens the service on a free port; the payer owns plenty. */
export const open = Effect.fnUntraced(function* (options: FacilitatorServer.Options = {}) {
  const ledger = TestLedger.make()
  ledger.deposit(payer, 10n ** 9n)
  const schemes = [Effect.succeed(TestScheme.facilitator(ledger))]
  const inside = Layer.mergeAll(
    LocalFacilitator.layerMemory({ schemes, drainMillis: 0 }),
    Layer.succeed(Metric.MetricRegistry, new Map()),
    Logger.layer([])
  )
  const context = yield* Layer.build(inside)
  const running = yield* Effect.provide(FacilitatorServer.serve({ port: 0, ...options }), context)
  const send = (path: string, init: RequestInit) => Effect.promise(() => fetch(running.url + path, init))
  const service: LedgerService = {
    ...running,
    ledger,
    get: (path, headers = {}) => send(path, { headers }),
    post: (path, body, headers = {}) =>
      send(path, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: JSON.stringify(body)
      })
  }
  return service
})

/** A signed payment for the offer of this shop. */
export const pay = Effect.fnUntraced(function* (amount = 10_000n) {
  const now = Math.floor((yield* Clock.currentTimeMillis) / 1000)
  const paymentRequirements: PaymentRequest["paymentRequirements"] = {
    scheme: "exact",
    network: TestScheme.network,
    maxAmountRequired: `${amount}`,
    resource: "https://shop.example/report",
    payTo: payee,
    asset: TestScheme.asset.address
  }
  const { payload } = yield* TestScheme.client(payer).sign({
    requirements: paymentRequirements,
    asset: TestScheme.asset,
    validAfter: 0,
    validBefore: now + 60,
    binding: yield* Binding.make("challenge-of-the-shop")
  })
  const paymentPayload = PaymentPayload.sealPayload("exact", TestScheme.network, payload)
  return { protocolVersion: 2, paymentPayload, paymentRequirements }
})
