/** The caller that a scheme is told with a payment to count its risk, and the end of a payment that it does not risk. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"

import { FacilitatorUnavailable } from "../../../src/protocol/ProtocolError.ts"
import type { Payment, SchemeFacilitator } from "../../../src/scheme/SchemeFacilitator.ts"
import * as LedgerShop from "../LedgerShop.ts"

type Told = Record<"verify" | "prepare" | "observe", Array<string | undefined>>

/** Notes on whose behalf the scheme is asked. */
const noting =
  (told: Told) =>
  (scheme: SchemeFacilitator): SchemeFacilitator => ({
    ...scheme,
    verify: (payment) => {
      told.verify.push(payment.caller)
      return scheme.verify(payment)
    },
    prepare: (payments, slot, chainHead, most) => {
      told.prepare.push(...payments.map(({ caller }) => caller))
      return scheme.prepare(payments, slot, chainHead, most)
    },
    observe: (observedPayments, attempts) => {
      told.observe.push(...observedPayments.map(({ payment: { caller } }) => caller))
      return scheme.observe(observedPayments, attempts)
    }
  })

/** Does not risk the payments of a caller. */
const wary =
  (caller: string) =>
  (scheme: SchemeFacilitator): SchemeFacilitator => ({
    ...scheme,
    prepare: (payments: ReadonlyArray<Payment>, slot, chainHead, most) => {
      const [first] = payments
      if (first?.caller === caller) return Effect.fail(new FacilitatorUnavailable({ message: "it is not risked" }))
      const stop = payments.findIndex((one) => one.caller === caller)
      return scheme.prepare(stop === -1 ? payments : payments.slice(0, stop), slot, chainHead, most)
    }
  })

describe("the scheme", () => {
  it.effect("knows the caller of a payment at every step, also of one whose caller is not told apart", () =>
    Effect.gen(function* () {
      for (const name of ["", "shop"]) {
        const told: Told = { verify: [], prepare: [], observe: [] }
        const { facilitator } = yield* LedgerShop.open({ scheme: noting(told) })
        const request = yield* LedgerShop.pay()
        yield* LedgerShop.as(name, facilitator.verify(request))
        const settling = yield* Effect.forkChild(
          LedgerShop.as(name, facilitator.settle(request, LedgerShop.claim("a")))
        )
        yield* TestClock.adjust("3 seconds")
        yield* Fiber.join(settling)
        for (const step of ["verify", "prepare", "observe"] as const)
          assert.deepStrictEqual([...new Set(told[step])], [name], step)
      }
    })
  )

  it.effect("knows it after the process has begun anew, from the record", () =>
    Effect.gen(function* () {
      const told: Told = { verify: [], prepare: [], observe: [] }
      const { facilitator, scheme, ledger, store } = yield* LedgerShop.open()
      ledger.faults.holdBlocks = true
      const request = yield* LedgerShop.pay()
      yield* Effect.forkDetach(LedgerShop.as("shop", facilitator.settle(request, LedgerShop.claim("a"))))
      yield* TestClock.adjust("1 second")
      yield* LedgerShop.facilitatorOf([noting(told)(scheme)], store)
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual([...new Set(told.observe)], ["shop"])
    })
  )

  it.effect("may refuse to risk one payment: it goes back, and those behind it are settled", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open({
        batches: { maximum: 4, windowMillis: 40 },
        scheme: wary("hostile")
      })
      const callers = ["shop", "hostile", "shop", "hostile", "shop"]
      const fibers = yield* Effect.forEach(callers, (name, index) =>
        Effect.flatMap(LedgerShop.pay(), (request) =>
          Effect.forkDetach(LedgerShop.as(name, facilitator.settle(request, LedgerShop.claim(`${index}`))))
        )
      )
      yield* TestClock.adjust("5 seconds")
      const ends = yield* Effect.forEach(fibers, (fiber) => Effect.result(Fiber.join(fiber)))
      assert.deepStrictEqual(
        ends.map((end) => (end._tag === "Success" ? end.success.status : end.failure._tag)),
        ["included", "FacilitatorUnavailable", "included", "FacilitatorUnavailable", "included"]
      )
      assert.isTrue(ends.every((end) => end._tag === "Success" || end.failure.message.includes("it is not risked")))
      assert.lengthOf(ledger.transfers, 3)
    })
  )
})
