/** A process that ends at any checkpoint of either leg: its successor moves the money once on each chain, and knows the outcome. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"

import { Checkpoint, type CheckpointName, checkpoints, type Strike } from "../../../src/facilitator/Checkpoint.ts"
import * as TestBridge from "../../../src/testing/ledger/TestBridge.ts"
import * as LedgerShop from "../LedgerShop.ts"
import * as BridgeShop from "./BridgeShop.ts"

/** The passes at which a process ends: the first of a name mostly belongs to the first leg, later ones to the second. */
const passes = [1, 2, 3]

/** Checkpoints that a payment without faults does not pass before its shop reports the execution. */
const unpassed: ReadonlySet<CheckpointName> = new Set([
  "queued",
  "marked-sent",
  "re-signed",
  "replaced",
  "finishing",
  "finished"
])

const crossing = Effect.fnUntraced(function* (place: CheckpointName, pass: number) {
  let left = pass
  const strike: Strike = (name) => (name === place && --left === 0 ? Effect.never : Effect.void)
  const shop = yield* BridgeShop.open({ settleTimeoutMillis: 10_000, strike })
  const request = yield* BridgeShop.pay()
  const claim = LedgerShop.claim("a")
  yield* Effect.forkDetach(Effect.provideService(shop.facilitator.settle(request, claim), Checkpoint, strike))
  yield* TestClock.adjust("20 seconds")
  const facilitator = yield* shop.restart
  const settling = yield* Effect.forkDetach(
    facilitator.settle(request, { ...LedgerShop.claim("b"), resumes: [claim.id] })
  )
  yield* TestClock.adjust("120 seconds")
  const settled = settling.pollUnsafe()
  assert.strictEqual(settled?._tag, "Success", `${place} ${pass}`)
  const [stored] = yield* shop.store.page(-1n, 1)
  const record = yield* facilitator.payment(stored?.paymentId ?? "")
  assert.strictEqual(record?.status, "final", `${place} ${pass}`)
  assert.strictEqual(record?.delivery?.status, "delivered", `${place} ${pass}`)
  assert.strictEqual(shop.near.transfers.length, 1, `${place} ${pass}`)
  assert.strictEqual(BridgeShop.arrivals(shop).length, 1, `${place} ${pass}`)
  assert.strictEqual(shop.far.balanceOf(LedgerShop.payee), LedgerShop.amount - TestBridge.fee)
  assert.strictEqual(shop.bridge.undelivered(), 0n)
  assert.deepStrictEqual(yield* shop.store.openDeliveries, [])
  return left <= 0
})

describe("a process that ends during a crossing", () => {
  for (const place of checkpoints) {
    it.effect(`at ${place} leaves both legs to its successor`, () =>
      Effect.gen(function* () {
        const struck = yield* Effect.forEach(passes, (pass) => Effect.scoped(crossing(place, pass)))
        assert.strictEqual(struck[0], !unpassed.has(place), "the checkpoint is passed")
      })
    )
  }
})
