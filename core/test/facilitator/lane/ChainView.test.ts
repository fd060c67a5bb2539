import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"

import * as LedgerShop from "../LedgerShop.ts"
import { begin } from "../LedgerSteps.ts"

const { claim, pay } = LedgerShop

describe("a third party", () => {
  it.effect("a stranger that submits the authorization settles it for us, when it was claimed before", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open()
      ledger.faults.holdBlocks = true
      const fiber = yield* begin(facilitator.settle(yield* pay(), claim("a")))
      const order = ledger.submissions[0]?.orders[0]
      assert.isDefined(order)
      ledger.settleByStranger(order)
      ledger.faults.holdBlocks = false
      yield* TestClock.adjust("5 seconds")
      const settled = yield* Fiber.join(fiber)
      assert.strictEqual(settled.transaction, `stranger/${order.nonce}`)
      assert.strictEqual(ledger.transfers.length, 1)
    })
  )

  it.effect("a stranger that submits it after it failed settles it late: the record follows the money", () =>
    Effect.gen(function* () {
      const { facilitator, ledger, store } = yield* LedgerShop.open()
      ledger.faults.failEntries = 1
      const request = yield* pay()
      const error = yield* Effect.flip(facilitator.settle(request, claim("a")))
      assert.strictEqual(error._tag, "ValidationError")
      const [stored] = yield* store.page(0n, 10)
      assert.strictEqual(stored?.status, "failed")
      ledger.settleByStranger(ledger.submissions[0]!.orders[0]!)
      yield* TestClock.adjust("90 seconds")
      assert.strictEqual((yield* store.find(stored?.paymentId ?? ""))?.status, "final")
      const again = yield* facilitator.settle(request, claim("b"))
      assert.strictEqual(again.execution, "granted")
    })
  )

  it.effect("an authorization that the payer burns fails with proof, and says what burnt it", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open()
      ledger.faults.holdBlocks = true
      const fiber = yield* begin(facilitator.settle(yield* pay(), claim("a")))
      const order = ledger.submissions[0]?.orders[0]
      assert.isDefined(order)
      ledger.burn(order)
      ledger.faults.holdBlocks = false
      yield* TestClock.adjust("5 seconds")
      const error = yield* Effect.flip(Fiber.join(fiber))
      assert.strictEqual(error._tag === "ValidationError" && error.reason, "already_used")
      assert.strictEqual(error._tag === "ValidationError" && error.detail, `burn/${order.nonce}`)
      assert.strictEqual(ledger.transfers.length, 0)
    })
  )
})
