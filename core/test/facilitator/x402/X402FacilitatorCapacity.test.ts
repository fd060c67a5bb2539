/** Payments that cost nothing to bring leave nothing behind, and take no place from those that are paid for. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as TestClock from "effect/testing/TestClock"

import type { PaymentRequest } from "../../../src/facilitator/Facilitator.ts"
import * as X402FacilitatorLedger from "../../../src/facilitator/x402/X402FacilitatorLedger.ts"
import { openPayload, sealPayload } from "../../../src/protocol/PaymentPayload.ts"
import * as TestScheme from "../../../src/testing/ledger/TestScheme.ts"
import { claim, pay, start } from "../LedgerShop.ts"
import { failureOf, open } from "../X402FacilitatorShop.ts"
import * as X402FacilitatorStub from "../X402FacilitatorStub.ts"

const broken = X402FacilitatorStub.says({ error: "TypeError: undefined is not a signature" }, 500)

/** The same payment with more in its payload than the scheme reads. */
const swollen = (request: PaymentRequest, more: object): PaymentRequest => ({
  ...request,
  paymentPayload: sealPayload("exact", TestScheme.network, {
    ...more,
    ...(Result.getOrThrow(openPayload(request.paymentPayload)) as Record<string, string>)
  })
})

describe("a payment that the facilitator does not call good", () => {
  const cases = {
    "because it is not signed": X402FacilitatorStub.says({
      isValid: false,
      invalidReason: "invalid_exact_evm_signature"
    }),
    "because it stumbles at it": broken,
    "because the connection breaks": X402FacilitatorStub.dropsUndone
  }
  it.effect.each(Object.entries(cases))("%s, is not settled and not remembered", ([, deed]) =>
    Effect.gen(function* () {
      const { facilitator, stub } = yield* open({ capacity: 1 })
      for (let index = 0; index < 5; index++) {
        stub.verifies.push(deed)
        const failure = yield* failureOf(facilitator.settle(yield* pay(), claim(`${index}`)))
        assert.notInclude(failure.message, "capacity")
      }
      assert.strictEqual(X402FacilitatorStub.count(stub, "/settle"), 0)
      assert.strictEqual((yield* facilitator.settle(yield* pay(), claim("honest"))).execution, "granted")
    })
  )

  it.effect("is called so once, and later copies of it may be good", () =>
    Effect.gen(function* () {
      const { facilitator, stub } = yield* open()
      stub.verifies.push(broken)
      const request = yield* pay()
      assert.strictEqual((yield* failureOf(facilitator.settle(request, claim("one"))))._tag, "FacilitatorUnavailable")
      assert.strictEqual((yield* facilitator.settle(request, claim("two"))).execution, "granted")
    })
  )
})

describe("payments that are left in doubt", () => {
  it.effect("take a tenth of the places, and the oldest of them goes first", () =>
    Effect.gen(function* () {
      const { facilitator, stub } = yield* open({ capacity: 2_000 })
      const paid = yield* facilitator.settle(yield* pay(), claim("paid"))
      for (let index = 0; index < 220; index++) {
        stub.settles.push(broken)
        const request = yield* pay()
        const failure = yield* failureOf(facilitator.settle(request, claim(`${index}`)))
        assert.include(failure.message, "responded with 500")
      }
      const honest = yield* facilitator.settle(yield* pay(), claim("honest"))
      assert.strictEqual(honest.execution, "granted")
      assert.deepInclude(yield* facilitator.payment(paid.paymentId), { status: "included", execution: "running" })
    })
  )

  it.effect("make room for a payment when all places are taken, and it is known what became of them all the same", () =>
    Effect.gen(function* () {
      const { facilitator, stub } = yield* open({ capacity: 2 })
      yield* facilitator.settle(yield* pay(), claim("paid"))
      stub.settles.push(X402FacilitatorStub.drops)
      const lost = yield* pay()
      yield* failureOf(facilitator.settle(lost, claim("lost")))
      assert.strictEqual((yield* facilitator.settle(yield* pay(), claim("next"))).execution, "granted")
      // Its money had moved; the facilitator knows that, and no execution uses it.
      assert.deepInclude(yield* failureOf(facilitator.settle(lost, claim("again"))), { reason: "already_used" })
    })
  )

  it.effect("are settled when they come again before that", () =>
    Effect.gen(function* () {
      const { facilitator, stub } = yield* open({ capacity: 3 })
      stub.settles.push(X402FacilitatorStub.drops)
      const lost = yield* pay()
      yield* failureOf(facilitator.settle(lost, claim("lost")))
      yield* facilitator.settle(yield* pay(), claim("paid"))
      assert.strictEqual((yield* facilitator.settle(lost, claim("again"))).execution, "granted")
    })
  )
})

describe("a payment whose resource is being run", () => {
  it.effect("gives way to nobody until its claim lapses", () =>
    Effect.gen(function* () {
      const { facilitator } = yield* open({ capacity: 1 })
      const running = yield* pay()
      const { paymentId } = yield* facilitator.claim(running, claim("runs"))
      assert.include((yield* failureOf(facilitator.settle(yield* pay(), claim("next")))).message, "capacity")
      assert.deepInclude(yield* facilitator.payment(paymentId), { execution: "running" })
      yield* TestClock.adjust("61 seconds")
      assert.strictEqual((yield* facilitator.settle(yield* pay(), claim("next"))).execution, "granted")
      assert.isUndefined(yield* facilitator.payment(paymentId))
    })
  )
})

const admitted = (ledger: X402FacilitatorLedger.X402FacilitatorLedger, name: string, now = 0) =>
  ledger.admit(
    {
      paymentId: name,
      requirements: {},
      authorization: { validBefore: 60 },
      payload: "{}",
      caller: "",
      notify: false
    } as never,
    undefined,
    now
  )

describe("a ledger", () => {
  it("forgets the oldest whose money has not moved, and none whose money has, or that is busy", () => {
    const busy = new Set(["0"])
    const ledger = X402FacilitatorLedger.make(2_000, (paymentId) => busy.has(paymentId))
    for (let index = 0; index < 200; index++) assert.isDefined(admitted(ledger, `${index}`))
    ledger.change("1", (record) => X402FacilitatorLedger.settled(record, "tx", 1))
    ledger.change("2", (record) => X402FacilitatorLedger.unanswered(record, 1, "no response"))
    assert.isDefined(admitted(ledger, "in the place of 1"))
    for (const gone of ["2", "3"]) {
      assert.isDefined(ledger.find(gone))
      assert.isDefined(admitted(ledger, `in the place of ${gone}`))
      assert.isUndefined(ledger.find(gone))
    }
    for (const kept of ["0", "1", "4"]) assert.isDefined(ledger.find(kept))
  })

  it("has no place where all are busy", () => {
    const ledger = X402FacilitatorLedger.make(1, () => true)
    assert.isDefined(admitted(ledger, "one"))
    assert.isUndefined(admitted(ledger, "two"))
  })

  it("keeps a hundred places for such payments, or as many as there are", () => {
    for (const [capacity, expected] of [
      [50, 50],
      [500, 100],
      [5_000, 500]
    ] as const) {
      const ledger = X402FacilitatorLedger.make(capacity, () => true)
      let count = 0
      while (admitted(ledger, `${count}`) !== undefined) count++
      assert.strictEqual(count, expected)
    }
  })
})

describe("the kept facts of a payment", () => {
  it.effect("is the text of its payload, until its money has moved", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(start)
      const { facilitator, stub } = yield* open()
      const request = swollen(yield* pay(), { lists: Array.from({ length: 500 }, () => []) })
      stub.settles.push(X402FacilitatorStub.dropsUndone)
      yield* failureOf(facilitator.settle(request, claim("one")))
      assert.strictEqual((yield* facilitator.settle(request, claim("two"))).execution, "granted")
      const settles = stub.seen.filter(({ url }) => url === "/settle")
      assert.strictEqual(settles.length, 2)
      assert.strictEqual(settles[0]?.body, settles[1]?.body)
    })
  )

  it("is no tree of values", () => {
    const ledger = X402FacilitatorLedger.make(10)
    const payment = {
      paymentId: "pay_0123456789abcdefghijkl",
      requirements: { scheme: "exact", network: "ledger:test" },
      authorization: { validBefore: 60, binding: { challenge: "c", salt: "s" } },
      payload: JSON.stringify({ lists: [[], []] }),
      caller: "",
      notify: false
    } as never
    const record = ledger.admit(payment, undefined, 0)
    assert.isString(record?.payload)
    const after = ledger.change("pay_0123456789abcdefghijkl", (one) => X402FacilitatorLedger.settled(one, "tx", 1))
    assert.isNull(after?.payload)
  })
})
