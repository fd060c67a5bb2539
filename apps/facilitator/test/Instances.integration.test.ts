/**
 * Two instances of the service on one PostgreSQL and one signer: they share the work, take over from each other, and say so
 * when their database is gone.
 */
import { assert, describe, layer } from "@effect/vitest"
import { FacilitatorClient } from "@pontage/core"
import { EvmTestChain } from "@pontage/evm/testing"
import { PostgresServer } from "@pontage/sql/testing"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"

import { FacilitatorProcess } from "../src/index.ts"
import * as TestPayment from "./TestPayment.ts"

const settingsFor = (chain: EvmTestChain.Shape, url: Redacted.Redacted) => ({
  host: "127.0.0.1",
  port: 0,
  callers: [],
  allowedHosts: [],
  maximumConnections: 5000,
  requestTimeoutMillis: 15_000,
  retentionHours: undefined,
  anonymousRates: { rate: { perSecond: 100, burst: 200 }, payerRate: { perSecond: 20, burst: 40 } },
  store: { kind: "postgres" as const, url },
  webhooksToPrivate: false,
  settleTimeoutMillis: 25_000,
  evm: [{ rpcUrl: Redacted.make(chain.rpcUrl), network: undefined }],
  evmSignerKeys: [Redacted.make<string>(chain.accounts.signers[0].privateKey)],
  evmAssets: [],
  evmMinimumGas: 1n,
  evmGasCeiling: undefined
})

/** An instance, its client, and its end. */
const open = Effect.fnUntraced(function* (chain: EvmTestChain.Shape, url: Redacted.Redacted) {
  const life = yield* Scope.make()
  const owner = yield* Effect.scope
  yield* Scope.addFinalizer(owner, Scope.close(life, Exit.void))
  const running = yield* Scope.provide(life)(FacilitatorProcess.start(settingsFor(chain, url)))
  return {
    ...running,
    client: yield* FacilitatorClient.make({ url: running.url }),
    close: Scope.close(life, Exit.void)
  }
})

const statusOf = (url: string) => Effect.promise(async () => (await fetch(url)).status)

describe("two instances", () => {
  layer(Layer.mergeAll(EvmTestChain.layer({ payers: 40 }), PostgresServer.layer), { excludeTestServices: true })(
    (it) => {
      it.effect(
        "settle for each other's callers on one signer, each payment once; one goes on when the other stops",
        () =>
          Effect.gen(function* () {
            const chain = yield* EvmTestChain.EvmTestChain
            const { database } = yield* PostgresServer.PostgresServer
            const url = yield* database
            const instances = [yield* open(chain, url), yield* open(chain, url)] as const
            const before = yield* chain.balanceOf(chain.accounts.payee.address)
            const requests = yield* Effect.forEach(
              Array.from({ length: 20 }, (_, payer) => payer),
              (payer) => TestPayment.sign(chain, payer)
            )
            const both = requests.flatMap((request, index) =>
              instances.map(({ client }, instance) => client.settle(request, TestPayment.claim(index * 2 + instance)))
            )
            const settled = yield* Effect.all(both, { concurrency: "unbounded" })
            const granted = settled.filter(({ execution }) => execution === "granted")
            assert.strictEqual(granted.length, 20)
            assert.strictEqual(new Set(granted.map(({ paymentId }) => paymentId)).size, 20)
            const [first, second] = instances
            yield* first.close
            const late = yield* second.client.settle(yield* TestPayment.sign(chain, 20), TestPayment.claim(100))
            assert.strictEqual(late.status, "included")
            const after = yield* chain.balanceOf(chain.accounts.payee.address)
            assert.strictEqual(after, before + 21n * TestPayment.amount)
            for (const { paymentId } of granted) assert.isDefined(yield* second.client.payment(paymentId))
          }).pipe(Effect.scoped)
      )

      it.effect("are not ready while their database is gone, live on, and go on when it is back", () =>
        Effect.gen(function* () {
          const chain = yield* EvmTestChain.EvmTestChain
          const server = yield* PostgresServer.PostgresServer
          const { client, url } = yield* open(chain, yield* server.database)
          yield* client.settle(yield* TestPayment.sign(chain, 21), TestPayment.claim(21))
          assert.strictEqual(yield* statusOf(`${url}/ready`), 200)
          yield* server.stop("immediate")
          yield* Effect.repeat(statusOf(`${url}/ready`), { until: (status) => status === 503 })
          assert.strictEqual(yield* statusOf(`${url}/live`), 200)
          const request = yield* TestPayment.sign(chain, 22)
          const refused = yield* Effect.flip(client.settle(request, TestPayment.claim(22)))
          assert.strictEqual(refused._tag, "FacilitatorUnavailable")
          yield* server.start
          yield* Effect.repeat(statusOf(`${url}/ready`), { until: (status) => status === 200 })
          assert.strictEqual((yield* client.settle(request, TestPayment.claim(22))).status, "included")
        }).pipe(Effect.scoped)
      )
    }
  )
})
