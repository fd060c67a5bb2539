/** A node that fails at any request: payments get no verdict and no settlement, and settle once the node works again. */
import { assert, describe } from "@effect/vitest"
import type { PaymentFailure } from "@pontage/core"
import * as Effect from "effect/Effect"

import { layerEach } from "../../../../core/test/LayerEach.ts"
import { type NodeFault, TronTestChain } from "../../src/testing/index.ts"
import * as Payment from "../TronTestPayment.ts"

const faults: Readonly<Record<string, NodeFault.NodeFault>> = {
  silence: { _tag: "Hang" },
  "a broken connection": { _tag: "Disconnect" },
  "HTTP 503": { _tag: "Status", status: 503 },
  "HTTP 429": { _tag: "Status", status: 429 },
  "an error with HTTP 200": { _tag: "Text", body: '{"Error":"class java.lang.NullPointerException : null"}' },
  "a page": { _tag: "Text", body: "<html>Service Unavailable</html>" },
  null: { _tag: "Text", body: "null" },
  "a list": { _tag: "Text", body: "[]" },
  "a refusal": { _tag: "Text", body: '{"result":{"code":"OTHER_ERROR","message":"6e6f"}}' }
}

/** The requests of a verification. */
const requests = [
  "getblock",
  "getaccount",
  "getaccountresource",
  "gettransactionbyid",
  "triggerconstantcontract",
  "getchainparameters"
]

/** Whether a fault's response is valid for this request: a missing account, an unknown transaction. */
const isAnswer = (path: string, name: string) =>
  name === "a refusal" && path !== "triggerconstantcontract" && path !== "getchainparameters"

/** Outcomes of faults that are not the payment's. */
const infrastructure = ["ChainUnavailable", "SettlementPending", "FacilitatorUnavailable"]

/** A healthy node that is slow at the start of a facilitator is asked again. */
const untilHeard = { while: ({ _tag }: { readonly _tag: string }) => _tag === "ChainUnavailable" }

/** Runs with a fault in the node. */
const spoilt = <A, E, R>(path: string, fault: NodeFault.NodeFault, body: Effect.Effect<A, E, R>) =>
  Effect.flatMap(TronTestChain.TronTestChain, (chain) =>
    Effect.acquireUseRelease(
      chain.plant(fault, { path }),
      () => body,
      () => chain.heal
    )
  )

/** Repeats a settlement while its outcome is unknown. */
const insist = <A, R>(settle: Effect.Effect<A, PaymentFailure, R>) =>
  Effect.retry(settle, { while: ({ _tag }) => infrastructure.includes(_tag) })

const started = (options: Payment.FacilitatorOptions) => Payment.outcome(Payment.schemeFacilitator(options))

describe.concurrent("exactTron.facilitator, with a failing node,", () => {
  layerEach(TronTestChain.layer())((it) => {
    it.effect("gives no verdict", () =>
      Effect.gen(function* () {
        const request = yield* Payment.payment()
        for (const path of requests) {
          for (const [name, fault] of Object.entries(faults)) {
            if (isAnswer(path, name)) continue
            // Only a silent node is waited for in vain, so a short wait there is no verdict on the machine's speed.
            const rpcTimeoutMillis = name === "silence" ? 500 : 600_000
            const { verify } = yield* Effect.retry(Payment.facilitator({ rpcTimeoutMillis }), untilHeard)
            const outcome = yield* spoilt(path, fault, Payment.outcome(verify(request)))
            assert.strictEqual(outcome, "ChainUnavailable", `${path}: ${name}`)
          }
        }
        yield* (yield* Payment.facilitator()).verify(request)
      })
    )

    it.effect("settles once when the node works again", () =>
      Effect.gen(function* () {
        const chain = yield* TronTestChain.TronTestChain
        const { payee } = chain.accounts
        for (const path of [...requests, "broadcasthex", "gettransactioninfobyid"]) {
          const options = { rpcTimeoutMillis: 500, settleTimeoutMillis: 300 }
          const { settle } = yield* Effect.retry(Payment.facilitator(options), untilHeard)
          const request = yield* Payment.payment()
          const before = yield* chain.balanceOf(payee.address)
          const outcome = yield* spoilt(
            path,
            { _tag: "Hang" },
            Payment.outcome(settle(request, Payment.claim("first")))
          )
          assert.include(infrastructure, outcome, path)
          const { execution } = yield* insist(settle(request, Payment.claim("second")))
          assert.strictEqual(execution, "granted", path)
          assert.strictEqual((yield* chain.balanceOf(payee.address)) - before, 10_000n, path)
        }
      })
    )

    it.effect("does not start on a node of another network, nor without a response", () =>
      Effect.gen(function* () {
        assert.strictEqual(yield* started({}), "ok")
        assert.strictEqual(yield* started({ network: "tron:mainnet" }), "Misconfigured")
        assert.strictEqual(yield* started({ network: "tron:unknown" }), "Misconfigured")
        assert.strictEqual(yield* started({ rpcUrl: "node" }), "Misconfigured")
        assert.strictEqual(yield* started({ maxFeeLimit: 0n }), "Misconfigured")
        assert.strictEqual(yield* spoilt("getblock", { _tag: "Disconnect" }, started({})), "ChainUnavailable")
      })
    )
  })
})
