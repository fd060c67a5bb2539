import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"

import type { Settled } from "../../src/facilitator/Facilitator.ts"
import type { PaymentFailure } from "../../src/protocol/PaymentFailure.ts"
import type { Submission } from "../../src/scheme/SchemeFacilitator.ts"
import type { LedgerTransaction } from "../../src/testing/TestLedger.ts"
import * as TestScheme from "../../src/testing/TestScheme.ts"
import * as LedgerShop from "./LedgerShop.ts"

const { claim } = LedgerShop

/** Starts a settlement; `seconds` later it is where it is. */
const begin = Effect.fnUntraced(function* (
  settle: Effect.Effect<Settled, PaymentFailure>,
  seconds = 1
): Effect.fn.Return<Fiber.Fiber<Settled, PaymentFailure>> {
  const fiber = yield* Effect.forkDetach(settle)
  yield* TestClock.adjust(`${seconds} seconds`)
  return fiber
})

const fills = (submissions: ReadonlyArray<LedgerTransaction>) =>
  submissions.filter(({ order }) => order === undefined).length

describe("sending", () => {
  it.effect("writes the exact bytes down before it sends them", () =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      const { facilitator, half, store } = yield* LedgerShop.open()
      const watched = {
        ...half,
        submit: (prepared: Parameters<typeof half.submit>[0]) =>
          Effect.andThen(
            Effect.map(store.find(paymentId), (stored) => {
              assert.strictEqual(stored?.status, "planned")
              assert.strictEqual(stored?.prepared?.bytes, prepared.bytes)
              assert.strictEqual(stored?.transaction, prepared.transaction)
              seen.push(prepared.bytes)
            }),
            half.submit(prepared)
          )
      }
      const request = yield* LedgerShop.pay()
      const { paymentId } = yield* facilitator.claim(request, claim("a"))
      const other = yield* LedgerShop.facilitatorOf([watched], store)
      yield* other.settle(request, claim("a"))
      assert.strictEqual(seen.length, 1)
    })
  )

  it.effect("no answer is no failure: the bytes may be on their way", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open()
      ledger.faults.loseAnswers = true
      const settled = yield* facilitator.settle(yield* LedgerShop.pay(), claim("a"))
      assert.strictEqual(settled.status, "included")
      assert.strictEqual(ledger.transfers.length, 1)
    })
  )

  it.effect("sends the same bytes again when they got lost", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open()
      ledger.faults.dropNext = 2
      const fiber = yield* begin(facilitator.settle(yield* LedgerShop.pay(), claim("a")), 20)
      const settled = yield* Fiber.join(fiber)
      assert.strictEqual(settled.status, "included")
      assert.strictEqual(ledger.submissions.length, 1)
      assert.strictEqual(ledger.transfers[0]?.transaction, settled.transaction)
    })
  )

  it.effect("sends the same bytes again when the pool forgot them", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open()
      ledger.faults.holdBlocks = true
      const fiber = yield* begin(facilitator.settle(yield* LedgerShop.pay(), claim("a")))
      ledger.emptyPool()
      ledger.faults.holdBlocks = false
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual((yield* Fiber.join(fiber)).status, "included")
      assert.strictEqual(new Set(ledger.submissions.map(({ id }) => id)).size, 1)
    })
  )

  it.effect("an outage of the chain while it watches is no failure", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open()
      ledger.faults.holdBlocks = true
      const fiber = yield* begin(facilitator.settle(yield* LedgerShop.pay(), claim("a")))
      ledger.faults.down = true
      yield* TestClock.adjust("10 seconds")
      ledger.faults.down = false
      ledger.mine()
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* Fiber.join(fiber)).status, "included")
    })
  )

  it.effect("a receipt that shows late is waited for", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open()
      ledger.faults.hiddenLooks = 5
      const fiber = yield* begin(facilitator.settle(yield* LedgerShop.pay(), claim("a")), 5)
      assert.strictEqual((yield* Fiber.join(fiber)).status, "included")
      assert.strictEqual(ledger.submissions.length, 1)
    })
  )

  it.effect(
    "a receipt that shows so late that the payment is signed anew is still its own: one transfer, no failure",
    () =>
      Effect.gen(function* () {
        const { facilitator, ledger } = yield* LedgerShop.open()
        ledger.faults.hiddenLooks = 17
        const fiber = yield* begin(facilitator.settle(yield* LedgerShop.pay(), claim("a")), 20)
        const settled = yield* Fiber.join(fiber)
        assert.strictEqual(settled.status, "included")
        assert.strictEqual(settled.transaction, ledger.transfers[0]?.transaction)
        assert.strictEqual(ledger.transfers.length, 1)
        assert.isAbove(new Set(ledger.submissions.map(({ id }) => id)).size, 1)
      })
  )
})

describe("one settlement for all who ask", () => {
  it.effect("a store that fails between signing and sending leaves no hole", () =>
    Effect.gen(function* () {
      let broken = true
      const { facilitator, ledger } = yield* LedgerShop.open({
        store: (store) => ({
          ...store,
          advance: (paymentId, change) =>
            broken && change.to === "planned" ? Effect.die("the disk is full") : store.advance(paymentId, change)
        })
      })
      const request = yield* LedgerShop.pay()
      assert.strictEqual((yield* Effect.exit(facilitator.settle(request, claim("a"))))._tag, "Failure")
      assert.strictEqual(ledger.submissions.length, 0)
      broken = false
      assert.strictEqual((yield* facilitator.settle(yield* LedgerShop.pay(), claim("b"))).status, "included")
      assert.strictEqual((yield* facilitator.settle(request, claim("c"))).status, "included")
      assert.strictEqual(fills(ledger.submissions), 0)
    })
  )

  it.effect("100 payments at once on one signer all settle, each in a slot of its own", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open({ balance: 10n ** 9n })
      const requests = yield* Effect.forEach(Array.from({ length: 100 }), () => LedgerShop.pay())
      const answers = yield* Effect.forEach(
        requests,
        (request, index) => facilitator.settle(request, claim(`n${index}`)),
        { concurrency: "unbounded" }
      )
      assert.isTrue(answers.every(({ status }) => status === "included"))
      assert.strictEqual(ledger.transfers.length, 100)
      assert.strictEqual(new Set(ledger.submissions.map(({ slot }) => slot)).size, 100)
    })
  )

  it.effect("several signers share the load", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open({ lanes: ["signer-1", "signer-2"] })
      ledger.faults.holdBlocks = true
      const requests = yield* Effect.forEach(Array.from({ length: 10 }), () => LedgerShop.pay())
      const all = yield* Effect.forkChild(
        Effect.forEach(requests, (request, index) => facilitator.settle(request, claim(`n${index}`)), {
          concurrency: "unbounded"
        })
      )
      yield* TestClock.adjust("1 second")
      assert.strictEqual(ledger.submissions.filter(({ lane }) => lane === "signer-1").length, 5)
      assert.strictEqual(ledger.submissions.filter(({ lane }) => lane === "signer-2").length, 5)
      ledger.mine()
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* Fiber.join(all)).length, 10)
    })
  )
})

describe("a node that does not take a transaction", () => {
  it.effect("ends the call, gives the slot back, and the payment can be settled later", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open()
      ledger.faults.refusal = "insufficient funds for gas"
      const request = yield* LedgerShop.pay()
      const error = yield* Effect.flip(facilitator.settle(request, claim("a")))
      assert.strictEqual(error._tag, "FacilitatorUnavailable")
      assert.include(error.message, "insufficient funds for gas")
      ledger.faults.refusal = undefined
      const settled = yield* facilitator.settle(request, claim("b"))
      assert.strictEqual(settled.execution, "granted")
      assert.deepStrictEqual(
        ledger.submissions.map(({ slot }) => slot),
        [0n, 0n]
      )
      const record = yield* facilitator.payment(settled.paymentId)
      assert.deepStrictEqual(
        record?.history.map(({ status }) => status),
        ["accepted", "planned", "accepted", "planned", "sent", "included"]
      )
      assert.strictEqual(record?.history[2]?.note, "insufficient funds for gas")
    })
  )

  /**
   * One payment in slot 0 while slots 1 and 2 are in the pool behind it: the node takes it, forgets it, takes it for too
   * cheap, and refuses it when it is signed anew, five and a half seconds later.
   */
  const withHole = Effect.fnUntraced(function* () {
    const shop = yield* LedgerShop.open({ balance: 10n ** 9n })
    const { half, ledger, store } = shop
    const delays = { survey: 0 }
    const says = [
      { _tag: "Accepted" },
      { _tag: "SlotUsed" },
      { _tag: "Refused", message: "not now" }
    ] satisfies Array<Submission>
    let evicted: string | undefined
    const refusesFirst = {
      ...half,
      survey: Effect.suspend(() => Effect.delay(half.survey, delays.survey)),
      submit: (prepared: Parameters<typeof half.submit>[0]) => {
        evicted ??= prepared.transaction
        const answer = prepared.transaction === evicted ? says.shift() : undefined
        return answer === undefined ? half.submit(prepared) : Effect.succeed(answer)
      }
    }
    ledger.faults.holdBlocks = true
    const facilitator = yield* LedgerShop.facilitatorOf([refusesFirst], store)
    const refused = yield* Effect.forkChild(Effect.flip(facilitator.settle(yield* LedgerShop.pay(), claim("a"))))
    yield* TestClock.adjust("10 millis")
    const behind = yield* Effect.forEach(["b", "c"], (name) =>
      Effect.flatMap(LedgerShop.pay(), (request) => begin(facilitator.settle(request, claim(name))))
    )
    return { ...shop, facilitator, refused, behind, delays }
  })

  it.effect("a hole below other transactions is closed by one that does nothing", () =>
    Effect.gen(function* () {
      const { behind, ledger, refused } = yield* withHole()
      yield* TestClock.adjust("6 seconds")
      assert.strictEqual((yield* Fiber.join(refused))._tag, "FacilitatorUnavailable")
      assert.strictEqual(fills(ledger.submissions), 1)
      ledger.mine()
      yield* TestClock.adjust("2 seconds")
      for (const fiber of behind) assert.strictEqual((yield* Fiber.join(fiber)).status, "included")
      assert.strictEqual(ledger.transfers.length, 2)
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(fills(ledger.submissions), 1)
    })
  )

  it.effect("a hole stays no hole when its filler is refused, lost or not answered at first", () =>
    Effect.gen(function* () {
      const { behind, ledger } = yield* withHole()
      ledger.faults.refusal = "insufficient funds for gas"
      yield* TestClock.adjust("6 seconds")
      ledger.faults.refusal = undefined
      ledger.faults.down = true
      yield* TestClock.adjust("3 seconds")
      ledger.faults.down = false
      ledger.faults.dropNext = 2
      yield* TestClock.adjust("10 seconds")
      ledger.mine()
      yield* TestClock.adjust("10 seconds")
      for (const fiber of behind) assert.strictEqual((yield* Fiber.join(fiber)).status, "included")
      assert.strictEqual(ledger.transfers.length, 2)
    })
  )

  it.effect("a payment that comes first takes the hole, and nothing else is sent for it", () =>
    Effect.gen(function* () {
      const { behind, facilitator, ledger } = yield* withHole()
      ledger.faults.refusal = "insufficient funds for gas"
      yield* TestClock.adjust("6 seconds")
      ledger.faults.refusal = undefined
      const before = ledger.submissions.length
      const next = yield* Effect.forkChild(facilitator.settle(yield* LedgerShop.pay(), claim("d")))
      yield* TestClock.adjust("100 millis")
      assert.strictEqual(ledger.submissions[before]?.slot, 0n)
      ledger.mine()
      yield* TestClock.adjust("10 seconds")
      for (const fiber of [...behind, next]) assert.strictEqual((yield* Fiber.join(fiber)).status, "included")
      assert.strictEqual(ledger.submissions.slice(before).filter(({ order }) => order === undefined).length, 0)
    })
  )

  it.effect("a payment that takes the hole while its filler is being made leaves nothing to fill", () =>
    Effect.gen(function* () {
      const { behind, delays, facilitator, ledger } = yield* withHole()
      yield* TestClock.adjust("3390 millis")
      delays.survey = 900
      yield* TestClock.adjust("200 millis")
      const next = yield* Effect.forkChild(facilitator.settle(yield* LedgerShop.pay(), claim("d")))
      yield* TestClock.adjust("2 seconds")
      assert.isTrue(ledger.submissions.some(({ order, slot }) => slot === 0n && order !== undefined))
      ledger.mine()
      yield* TestClock.adjust("10 seconds")
      for (const fiber of [...behind, next]) assert.strictEqual((yield* Fiber.join(fiber)).status, "included")
      assert.strictEqual(fills(ledger.submissions), 0)
    })
  )

  it.effect("a signer that is refused is passed over while another one works", () =>
    Effect.gen(function* () {
      const { half, ledger, store } = yield* LedgerShop.open({ lanes: ["broke", "rich"] })
      const oneBroke = {
        ...half,
        submit: (prepared: Parameters<typeof half.submit>[0]) =>
          prepared.slot?.lane === "broke"
            ? Effect.succeed({ _tag: "Refused" as const, message: "no gas money" })
            : half.submit(prepared)
      }
      const facilitator = yield* LedgerShop.facilitatorOf([oneBroke], store)
      const request = yield* LedgerShop.pay()
      yield* Effect.flip(facilitator.settle(request, claim("a")))
      assert.strictEqual((yield* facilitator.settle(request, claim("b"))).status, "included")
      assert.strictEqual((yield* facilitator.settle(yield* LedgerShop.pay(), claim("c"))).status, "included")
      assert.strictEqual(ledger.transfers.length, 2)
    })
  )

  it.effect("a fee that has become too low is signed anew in the same slot: the lane does not jam", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open()
      ledger.faults.feeTooLow = true
      const first = yield* begin(facilitator.settle(yield* LedgerShop.pay(), claim("a")), 3)
      ledger.faults.feeTooLow = false
      ledger.faults.dropNext = 1
      yield* TestClock.adjust("20 seconds")
      assert.strictEqual((yield* Fiber.join(first)).status, "included")
      assert.strictEqual((yield* facilitator.settle(yield* LedgerShop.pay(), claim("b"))).status, "included")
      assert.strictEqual(ledger.nextSlot("signer-1"), 2n)
    })
  )

  it.effect("a fee that stays too low for long, with the chain down in between, jams nothing either", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open({ settleTimeoutMillis: 200_000 })
      ledger.faults.feeTooLow = true
      const first = yield* begin(facilitator.settle(yield* LedgerShop.pay(), claim("a")), 20)
      ledger.faults.down = true
      yield* TestClock.adjust("20 seconds")
      ledger.faults.down = false
      ledger.faults.feeTooLow = false
      yield* TestClock.adjust("20 seconds")
      assert.strictEqual((yield* Fiber.join(first)).status, "included")
      assert.strictEqual((yield* facilitator.settle(yield* LedgerShop.pay(), claim("b"))).status, "included")
      assert.strictEqual(ledger.transfers.length, 2)
    })
  )
})

describe("strangers", () => {
  it.effect("a slot that somebody else used is replaced by another, once", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open()
      yield* facilitator.settle(yield* LedgerShop.pay(), claim("a"))
      ledger.useSlot("signer-1")
      const fiber = yield* begin(facilitator.settle(yield* LedgerShop.pay(), claim("b")), 20)
      const settled = yield* Fiber.join(fiber)
      assert.strictEqual(settled.status, "included")
      const record = yield* facilitator.payment(settled.paymentId)
      assert.strictEqual(record?.history.filter(({ status }) => status === "planned").length, 2)
      assert.strictEqual(ledger.transfers.length, 2)
      assert.strictEqual((yield* facilitator.settle(yield* LedgerShop.pay(), claim("c"))).status, "included")
    })
  )

  it.effect("an authorization that somebody else submits after the claim settles the payment", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open()
      ledger.faults.holdBlocks = true
      const fiber = yield* begin(facilitator.settle(yield* LedgerShop.pay(), claim("a")))
      const order = ledger.submissions[0]?.order
      assert.isDefined(order)
      if (order !== undefined) ledger.settleByStranger(order)
      ledger.mine()
      yield* TestClock.adjust("1 second")
      const settled = yield* Fiber.join(fiber)
      assert.strictEqual(settled.status, "included")
      assert.strictEqual(settled.transaction, `stranger:${order?.nonce}`)
      const record = yield* facilitator.payment(settled.paymentId)
      assert.include(record?.history.at(-1)?.note ?? "", "sent by another")
      assert.strictEqual(ledger.transfers.length, 1)
    })
  )

  it.effect("counts as this payment's own also after it was signed anew in another slot", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open()
      yield* facilitator.settle(yield* LedgerShop.pay(), claim("a"))
      ledger.useSlot("signer-1")
      ledger.faults.holdBlocks = true
      const fiber = yield* begin(facilitator.settle(yield* LedgerShop.pay(), claim("b")), 3)
      const order = ledger.submissions.at(-1)?.order
      if (order !== undefined) ledger.settleByStranger(order)
      ledger.mine()
      yield* TestClock.adjust("20 seconds")
      const settled = yield* Fiber.join(fiber)
      assert.strictEqual(settled.transaction, `stranger:${order?.nonce}`)
      assert.strictEqual(ledger.transfers.length, 2)
    })
  )

  it.effect("an authorization that was used before the claim is used", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open()
      const request = yield* LedgerShop.pay()
      const settled = yield* facilitator.settle(request, claim("a"))
      assert.strictEqual(settled.status, "included")
      const forgetful = yield* LedgerShop.open()
      const half = TestScheme.facilitator(ledger)
      const other = yield* LedgerShop.facilitatorOf([half], forgetful.store)
      const error = yield* Effect.flip(other.settle(request, claim("b")))
      assert.strictEqual(error._tag === "ValidationError" && error.reason, "already_used")
    })
  )

  it.effect("an authorization that the payer burns fails with proof, and says what burnt it", () =>
    Effect.gen(function* () {
      const { facilitator, ledger } = yield* LedgerShop.open()
      ledger.faults.holdBlocks = true
      const fiber = yield* begin(facilitator.settle(yield* LedgerShop.pay(), claim("a")))
      const order = ledger.submissions[0]?.order
      if (order !== undefined) ledger.burn(order)
      ledger.mine()
      yield* TestClock.adjust("1 second")
      const error = yield* Effect.flip(Fiber.join(fiber))
      assert.strictEqual(error._tag === "ValidationError" && error.reason, "already_used")
      assert.strictEqual(error._tag === "ValidationError" && error.detail, `burn:${order?.nonce}`)
      assert.strictEqual(ledger.transfers.length, 0)
    })
  )
})

describe("after a restart", () => {
  /** A payment whose bytes were written down and perhaps sent, when its process ended. */
  const interrupted = Effect.fnUntraced(function* (arrived: boolean) {
    const shop = yield* LedgerShop.open({ balance: 10n ** 9n })
    const { half, ledger, store } = shop
    const request = yield* LedgerShop.pay()
    const dies = {
      ...half,
      submit: (prepared: Parameters<typeof half.submit>[0]) =>
        Effect.andThen(arrived ? Effect.ignore(half.submit(prepared)) : Effect.void, Effect.die("killed"))
    }
    const before = yield* LedgerShop.facilitatorOf([dies], store)
    ledger.faults.holdBlocks = true
    yield* Effect.exit(before.settle(request, claim("a")))
    ledger.faults.holdBlocks = false
    return { ...shop, request, facilitator: yield* LedgerShop.facilitatorOf([half], store) }
  })

  it.effect("the stored bytes are sent, not new ones", () =>
    Effect.gen(function* () {
      const { facilitator, ledger, request } = yield* interrupted(false)
      const settled = yield* facilitator.settle(request, claim("b"))
      const record = yield* facilitator.payment(settled.paymentId)
      assert.strictEqual(settled.status, "included")
      assert.strictEqual(record?.history.filter(({ status }) => status === "planned").length, 1)
      assert.strictEqual(ledger.submissions.length, 1)
    })
  )

  it.effect("bytes that are in the pool are not joined by others", () =>
    Effect.gen(function* () {
      const { facilitator, ledger, request } = yield* interrupted(true)
      const settled = yield* facilitator.settle(request, claim("b"))
      assert.strictEqual(settled.status, "included")
      assert.strictEqual(new Set(ledger.submissions.map(({ id }) => id)).size, 1)
      assert.strictEqual(ledger.transfers.length, 1)
    })
  )

  it.effect("a transfer that happened meanwhile is found", () =>
    Effect.gen(function* () {
      const { facilitator, ledger, request } = yield* interrupted(true)
      ledger.mine()
      yield* TestClock.adjust("5 minutes")
      const settled = yield* facilitator.settle(request, claim("b"))
      assert.strictEqual(settled.status, "included")
      assert.strictEqual(settled.execution, "granted")
      assert.strictEqual(ledger.submissions.length, 1)
    })
  )

  it.effect("bytes whose slot another payment has taken since move to another slot", () =>
    Effect.gen(function* () {
      const { facilitator, ledger, request } = yield* interrupted(false)
      yield* facilitator.settle(yield* LedgerShop.pay(), claim("c"))
      const fiber = yield* begin(facilitator.settle(request, claim("b")), 20)
      assert.strictEqual((yield* Fiber.join(fiber)).status, "included")
      assert.strictEqual(ledger.transfers.length, 2)
    })
  )
})

describe("closing", () => {
  it.effect("lets a settlement under way end first", () =>
    Effect.gen(function* () {
      const { half, ledger, store } = yield* LedgerShop.open()
      ledger.faults.holdBlocks = true
      const request = yield* LedgerShop.pay()
      const service = Effect.scoped(
        Effect.gen(function* () {
          const facilitator = yield* LedgerShop.facilitatorOf([half], store)
          const caller = yield* Effect.forkChild(facilitator.settle(request, claim("a")))
          yield* TestClock.adjust("1 second")
          yield* Fiber.interrupt(caller)
          return yield* facilitator.claim(request, claim("b"))
        })
      )
      const closing = yield* Effect.forkChild(service)
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual(ledger.transfers.length, 0)
      ledger.mine()
      yield* TestClock.adjust("2 seconds")
      const { paymentId } = yield* Fiber.join(closing)
      assert.strictEqual((yield* store.find(paymentId))?.status, "included")
    })
  )
})
