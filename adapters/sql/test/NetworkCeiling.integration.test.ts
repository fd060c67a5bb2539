import { assert, describe, it } from "@effect/vitest"
import {
  FacilitatorSchemeRegistry,
  Binding,
  LaneLeases,
  LocalFacilitator,
  type PaymentFailure,
  PaymentPayload,
  PaymentStore,
  type Settled
} from "@pontage/core"
import { TestLedger, TestScheme } from "@pontage/core/testing"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Queue from "effect/Queue"

import { PostgresServer } from "../src/testing/index.ts"
import * as PostgresServers from "./PostgresServers.ts"

type Store = PaymentStore.PaymentStore["Service"]

const payer = "acct-alice"
const amount = 10_000n
const instances = 4

/** The maximum cost of a transaction for one payment on this ledger. */
const costOfOne = 71n * 22n

const pay = Effect.gen(function* () {
  const now = Math.floor((yield* Clock.currentTimeMillis) / 1000)
  const paymentRequirements = {
    scheme: "exact",
    network: TestScheme.network,
    maxAmountRequired: `${amount}`,
    resource: "https://shop.example/report",
    payTo: "acct-shop",
    asset: TestScheme.asset.address,
    maxTimeoutSeconds: 600
  }
  const { payload } = yield* TestScheme.client(payer).sign({
    requirements: paymentRequirements,
    asset: TestScheme.asset,
    validAfter: 0,
    validBefore: now + 600,
    binding: yield* Binding.make("challenge-of-the-shop")
  })
  return { paymentRequirements, paymentPayload: PaymentPayload.sealPayload("exact", TestScheme.network, payload) }
})

describe("several instances on one PostgreSQL", () => {
  it.live(
    "send one transaction together where the ceiling of the network has room for one",
    () =>
      Effect.gen(function* () {
        const url = yield* PostgresServers.database
        const ledger = TestLedger.make()
        ledger.deposit(payer, 10n ** 9n)
        ledger.faults.holdBlocks = true
        const together = yield* Deferred.make<void>()
        let signed = 0
        /** Every instance has read the books and signed before any of them writes. */
        const meeting =
          ({ plan }: Store): Store["plan"] =>
          (...args) =>
            Effect.suspend(() => {
              if (++signed >= instances) Deferred.doneUnsafe(together, Effect.void)
              return Effect.andThen(Deferred.await(together), plan(...args))
            })
        const facilitatorOf = Effect.fnUntraced(function* (index: number) {
          const { leases, store } = yield* PostgresServers.instance(url)
          const scheme = TestScheme.facilitator(ledger, { lanes: [`signer-${index}`] })
          return yield* LocalFacilitator.make({
            gasCeilings: { total: () => costOfOne },
            settleTimeoutMillis: 600_000
          }).pipe(
            Effect.provide(FacilitatorSchemeRegistry.layer([Effect.succeed(scheme)])),
            Effect.provideService(PaymentStore.PaymentStore, { ...store, plan: meeting(store) }),
            Effect.provideService(LaneLeases.LaneLeases, leases)
          )
        })
        const facilitators = yield* Effect.forEach(Array.from({ length: instances }), (_, index) =>
          facilitatorOf(index)
        )
        const ends = yield* Queue.unbounded<Exit.Exit<Settled, PaymentFailure>>()
        for (const facilitator of facilitators) {
          const settling = facilitator.settle(yield* pay, undefined)
          yield* Effect.forkChild(Effect.flatMap(Effect.exit(settling), (end) => Queue.offer(ends, end)))
        }
        for (let refused = 1; refused < instances; refused++) {
          const end = yield* Queue.take(ends)
          assert.include(
            String(Exit.isFailure(end) && Cause.squash(end.cause)),
            "the ceiling of what settling may cost"
          )
        }
        assert.strictEqual(new Set(ledger.submissions.map(({ id }) => id)).size, 1)
        ledger.faults.holdBlocks = false
        assert.isTrue(Exit.isSuccess(yield* Queue.take(ends)))
        assert.lengthOf(ledger.transfers, 1)
      }).pipe(Effect.scoped, Effect.provide(PostgresServer.layer)),
    900_000
  )
})
