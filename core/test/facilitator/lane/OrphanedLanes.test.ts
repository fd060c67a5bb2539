/** A configuration that changes between restarts: what was begun under the earlier one comes to its end under the later one. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/testing/TestClock"

import * as Network from "../../../src/protocol/Network.ts"
import { isSettled } from "../../../src/protocol/Settlement.ts"
import { invalid } from "../../../src/protocol/ValidationError.ts"
import type { SchemeFacilitator } from "../../../src/scheme/SchemeFacilitator.ts"
import type { TestLedger } from "../../../src/testing/ledger/TestLedger.ts"
import * as TestScheme from "../../../src/testing/ledger/TestScheme.ts"
import * as LedgerShop from "../LedgerShop.ts"

const { claim, pay, settleMany } = LedgerShop
const lane = "ledger:test signer-1"

const statusesIn = Effect.fnUntraced(function* ({ store }: Pick<LedgerShop.Shop, "store">) {
  return (yield* store.page(0n, 100)).map(({ status }) => status)
})

/** Payments on their way in one transaction that no block takes, when their process ends. */
const interrupted = Effect.fnUntraced(function* (count: number, options: LedgerShop.Options) {
  const shop = yield* LedgerShop.open({ settleTimeoutMillis: 600_000, ...options })
  shop.ledger.faults.holdBlocks = true
  const callers = yield* settleMany(shop.facilitator, count)
  yield* TestClock.adjust("1 second")
  for (const caller of callers) yield* Fiber.interrupt(caller)
  return shop
})

const batches = { maximum: 5, windowMillis: 50 }

/** A lane with room for one transaction, which is on its way; the payment of `request` behind it was never sent. */
const withOneUnsent = Effect.gen(function* () {
  const shop = yield* LedgerShop.open({ capacity: 1 })
  shop.ledger.faults.holdBlocks = true
  const request = yield* pay()
  for (const one of [yield* pay(), request]) {
    const caller = yield* Effect.forkDetach(shop.facilitator.settle(one, claim("a")))
    yield* TestClock.adjust("1 second")
    yield* Fiber.interrupt(caller)
  }
  return { ...shop, request }
})

describe("a lower maximum of a batch", () => {
  for (const [name, later] of [
    ["that is lower", { maximum: 2, windowMillis: 50 }],
    ["of none", undefined]
  ] as const) {
    it.effect(`${name} does not keep a batch on its way from being replaced with all of its payments`, () =>
      Effect.gen(function* () {
        const shop = yield* interrupted(5, { batches })
        const { ledger, restartWith } = shop
        yield* restartWith([TestScheme.facilitator(ledger, later === undefined ? {} : { batches: later })])
        ledger.market.base = 60n
        ledger.faults.holdBlocks = false
        yield* TestClock.adjust("40 seconds")
        assert.deepStrictEqual(yield* statusesIn(shop), Array(5).fill("final"))
        assert.deepStrictEqual(new Set(ledger.submissions.map(({ orders }) => orders.length)), new Set([5]))
        assert.strictEqual(ledger.transfers.length, 5)
      })
    )
  }

  it.effect("of what one transaction may cost does not either", () =>
    Effect.gen(function* () {
      const shop = yield* interrupted(5, { batches })
      const { ledger, restartWith } = shop
      yield* restartWith([TestScheme.facilitator(ledger, { batches: { ...batches, maximumCost: 100n } })])
      ledger.market.base = 60n
      ledger.faults.holdBlocks = false
      yield* TestClock.adjust("40 seconds")
      assert.deepStrictEqual(yield* statusesIn(shop), Array(5).fill("final"))
    })
  )
})

describe("an asset that is not configured any more", () => {
  const notSettled = Effect.fail(invalid("asset_mismatch", "asset_not_settled", "the asset is not settled here"))

  /** A scheme facilitator that takes no payment in the asset; by `recall` it can still read those on record. */
  const without = (ledger: TestLedger, reading: "with recall" | "without recall") => {
    const scheme = TestScheme.facilitator(ledger, { batches })
    return { ...scheme, read: () => notSettled, ...(reading === "with recall" && { recall: scheme.read }) }
  }
  it.effect("has its signed bytes sent again, and its payments have their ends", () =>
    Effect.gen(function* () {
      const shop = yield* interrupted(3, { batches, scheme: (scheme) => ({ ...scheme, submit: () => Effect.never }) })
      const { ledger, restartWith } = shop
      assert.strictEqual(ledger.submissions.length, 0)
      yield* restartWith([without(ledger, "with recall")])
      ledger.faults.holdBlocks = false
      yield* TestClock.adjust("30 seconds")
      assert.deepStrictEqual(yield* statusesIn(shop), Array(3).fill("final"))
      assert.strictEqual(ledger.transfers.length, 3)
      assert.deepStrictEqual(yield* shop.store.openTransactions(lane), [])
    })
  )

  it.effect("leaves what was never sent as it is: no verdict, no lane, and it is settled when the asset is back", () =>
    Effect.gen(function* () {
      const { ledger, request, restartWith, store } = yield* withOneUnsent
      const changed = yield* restartWith([without(ledger, "with recall")])
      ledger.faults.holdBlocks = false
      yield* TestClock.adjust("3 seconds")
      const [first, stored] = yield* store.page(0n, 2)
      assert.isTrue(first !== undefined && isSettled(first.status))
      assert.strictEqual(stored?.status, "accepted")
      assert.isUndefined(stored?.lane)
      assert.include(stored?.history.at(-1)?.note, "nothing was sent")
      const error = yield* Effect.flip(changed.settle(request, claim("b")))
      assert.strictEqual(error._tag, "FacilitatorUnavailable")
      assert.strictEqual(ledger.transfers.length, 1)
      const back = yield* restartWith([TestScheme.facilitator(ledger)])
      assert.strictEqual((yield* back.settle(request, claim("c"))).execution, "granted")
    })
  )

  it.effect("serves a buyer that repeats a payment that was settled, and takes no new one", () =>
    Effect.gen(function* () {
      const { facilitator, ledger, restartWith } = yield* LedgerShop.open()
      const request = yield* pay()
      const { paymentId } = yield* facilitator.settle(request, claim("a"))
      yield* facilitator.finish(paymentId, claim("a").id, "failed")
      const changed = yield* restartWith([without(ledger, "with recall")])
      const refused = yield* Effect.flip(changed.settle(yield* pay(), claim("new")))
      assert.strictEqual(refused._tag === "ValidationError" && refused.reason, "asset_mismatch")
      const again = yield* changed.settle(request, claim("b"))
      assert.strictEqual(again.paymentId, paymentId)
      assert.strictEqual(again.execution, "granted")
      assert.strictEqual(ledger.transfers.length, 1)
    })
  )

  it.effect(
    "that cannot even be read is carried along: its lane goes on, and its end is told when it can be read again",
    () =>
      Effect.gen(function* () {
        const shop = yield* interrupted(3, { batches, scheme: (scheme) => ({ ...scheme, submit: () => Effect.never }) })
        const { ledger, restartWith, store } = shop
        const honest = TestScheme.facilitator(ledger, { batches })
        const nonces = new Set((yield* store.page(0n, 2)).map(({ authorization }) => authorization.nonce))
        const isUnread = (payload: unknown) => nonces.has((payload as { readonly nonce: string }).nonce)
        const unread: SchemeFacilitator = {
          ...honest,
          read: (requirements, payload) => (isUnread(payload) ? notSettled : honest.read(requirements, payload))
        }
        const changed = yield* restartWith([unread])
        const next = yield* Effect.forkDetach(changed.settle(yield* pay({ validFor: 60 }), claim("next")))
        ledger.faults.holdBlocks = false
        yield* TestClock.adjust("60 seconds")
        assert.strictEqual(ledger.transfers.length, 4)
        assert.deepStrictEqual(yield* statusesIn(shop), ["sent", "sent", "final", "final"])
        assert.strictEqual((yield* Fiber.join(next)).execution, "granted")
        const [onRecord] = yield* store.openTransactions(lane)
        assert.strictEqual(onRecord?.attempts.length, 1)
        yield* restartWith([honest])
        yield* TestClock.adjust("30 seconds")
        assert.deepStrictEqual(yield* statusesIn(shop), Array(4).fill("final"))
        assert.deepStrictEqual(yield* store.openTransactions(lane), [])
      })
  )

  it.effect("that cannot even be read has its slot given up when its validity is over, and no earlier", () =>
    Effect.gen(function* () {
      const shop = yield* interrupted(2, { batches })
      const { ledger, restartWith } = shop
      const changed = yield* restartWith([without(ledger, "without recall")])
      ledger.emptyPool()
      ledger.market.base = 60n
      ledger.faults.holdBlocks = false
      yield* TestClock.adjust("50 seconds")
      assert.deepStrictEqual(new Set(ledger.submissions.map(({ orders }) => orders.length)), new Set([2]))
      yield* TestClock.adjust("60 seconds")
      assert.isTrue(ledger.submissions.some(({ orders }) => orders.length === 0))
      assert.deepStrictEqual(yield* statusesIn(shop), ["sent", "sent"])
      assert.isDefined(changed)
      assert.strictEqual(ledger.nextSlot("signer-1", "included"), 1n)
    })
  )
})

/** A scheme facilitator of another signer on the same chain, which notes what it is asked to sign. */
const other = (ledger: TestLedger, signed: Array<string | undefined>): SchemeFacilitator => {
  const scheme = TestScheme.facilitator(ledger, { lanes: ["signer-2"] })
  return {
    ...scheme,
    prepare: (payments, slot, ...rest) => {
      signed.push(slot?.lane)
      return scheme.prepare(payments, slot, ...rest)
    },
    noop: (slot, chainHead) => {
      signed.push(slot.lane)
      return scheme.noop(slot, chainHead)
    }
  }
}

describe("a signer that is not configured any more", () => {
  it.effect("leaves its transactions to be sent again as they are, and watched to their ends", () =>
    Effect.gen(function* () {
      const shop = yield* interrupted(2, { batches, scheme: (scheme) => ({ ...scheme, submit: () => Effect.never }) })
      const { ledger, restartWith, store } = shop
      const signed: Array<string | undefined> = []
      yield* restartWith([other(ledger, signed)])
      ledger.faults.holdBlocks = false
      yield* TestClock.adjust("30 seconds")
      assert.deepStrictEqual(yield* statusesIn(shop), ["final", "final"])
      assert.deepStrictEqual(yield* store.openTransactions(lane), [])
      assert.deepStrictEqual(yield* store.lanesInUse, [])
      assert.deepStrictEqual(signed, [])
    })
  )

  it.effect(
    "leaves payments that offer too little to end by proof, without a replacement; and their balance is free again",
    () =>
      Effect.gen(function* () {
        const shop = yield* interrupted(2, { balance: 2n * LedgerShop.amount })
        const { ledger, restartWith, store } = shop
        const signed: Array<string | undefined> = []
        ledger.emptyPool()
        ledger.market.base = 60n
        const facilitator = yield* restartWith([other(ledger, signed)])
        ledger.faults.holdBlocks = false
        yield* TestClock.adjust("90 seconds")
        assert.deepStrictEqual(yield* statusesIn(shop), ["expired", "expired"])
        assert.deepStrictEqual(yield* store.lanesInUse, [])
        assert.deepStrictEqual(signed, [])
        for (const name of ["a", "b"]) {
          assert.strictEqual((yield* facilitator.settle(yield* pay(), claim(name))).execution, "granted")
        }
        assert.deepStrictEqual(new Set(signed), new Set(["signer-2"]))
        ledger.market.base = 10n
        const back = yield* restartWith([TestScheme.facilitator(ledger)])
        ledger.deposit(LedgerShop.payer, LedgerShop.amount)
        const next = yield* Effect.forkDetach(back.settle(yield* pay(), claim("c")))
        yield* TestClock.adjust("50 seconds")
        assert.strictEqual((yield* Fiber.join(next)).execution, "granted")
        assert.strictEqual(ledger.nextSlot("signer-1", "included"), 3n)
      })
  )

  it.effect("releases payments that were never sent: another signer settles them for whoever asks", () =>
    Effect.gen(function* () {
      const { ledger, request, restartWith, store } = yield* withOneUnsent
      const signed: Array<string | undefined> = []
      const changed = yield* restartWith([other(ledger, signed)])
      ledger.faults.holdBlocks = false
      const asking = yield* Effect.forkDetach(changed.settle(request, claim("b")))
      yield* TestClock.adjust("20 seconds")
      assert.strictEqual((yield* Fiber.join(asking)).execution, "granted")
      assert.deepStrictEqual(signed, ["signer-2"])
      assert.strictEqual(ledger.transfers.length, 2)
      yield* TestClock.adjust("20 seconds")
      assert.deepStrictEqual(yield* store.lanesInUse, [])
    })
  )

  it.effect("of a process that has ended for good leaves them to one that began before they were signed", () =>
    Effect.gen(function* () {
      const shop = yield* LedgerShop.open({ lanes: ["signer-2"] })
      const { ledger, store } = shop
      yield* TestClock.adjust("5 seconds")
      const life = yield* Scope.make()
      const silent: SchemeFacilitator = { ...TestScheme.facilitator(ledger), submit: () => Effect.never }
      const facilitator = yield* Scope.provide(LedgerShop.facilitatorOf([silent], store), life)
      const caller = yield* Effect.forkDetach(facilitator.settle(yield* pay(), claim("a")))
      yield* TestClock.adjust("1 second")
      yield* Fiber.interrupt(caller)
      yield* Scope.close(life, Exit.void)
      assert.deepStrictEqual(yield* statusesIn(shop), ["planned"])
      assert.deepStrictEqual(yield* store.lanesInUse, [lane])
      yield* TestClock.adjust("45 seconds")
      assert.deepStrictEqual(yield* statusesIn(shop), ["final"])
      assert.deepStrictEqual(yield* store.lanesInUse, [])
      assert.deepStrictEqual(
        ledger.submissions.map((sent) => sent.lane),
        ["signer-1"]
      )
    })
  )

  /** One whose slot a foreign transaction has used, three blocks from final, and which has lost its signer since. */
  const displaced = Effect.gen(function* () {
    const shop = yield* LedgerShop.open({ settleTimeoutMillis: 600_000 })
    const { facilitator, ledger } = shop
    ledger.faults.holdBlocks = true
    const request = yield* pay({ validFor: 80 })
    const caller = yield* Effect.forkDetach(facilitator.settle(request, claim("a")))
    yield* TestClock.adjust("1 second")
    yield* Fiber.interrupt(caller)
    ledger.useSlot("signer-1")
    ledger.faults.holdBlocks = false
    return { ...shop, request }
  })

  it.effect("leaves a payment whose slot was used for good to another signer, once that is final and no earlier", () =>
    Effect.gen(function* () {
      const { ledger, request, restartWith, store } = yield* displaced
      const signed: Array<string | undefined> = []
      const changed = yield* restartWith([other(ledger, signed)])
      const asking = yield* Effect.forkDetach(changed.settle(request, claim("a")))
      yield* TestClock.adjust("60 seconds")
      assert.strictEqual((yield* Fiber.join(asking)).execution, "granted")
      assert.deepStrictEqual(signed, ["signer-2"])
      assert.strictEqual(ledger.transfers.length, 1)
      const [stored] = yield* store.page(0n, 1)
      assert.strictEqual(stored?.status, "final")
      assert.deepStrictEqual(
        stored?.history.filter(({ exit }) => exit !== undefined).map(({ exit, status }) => [status, exit]),
        [["accepted", "signer_missing"]]
      )
      assert.deepStrictEqual(yield* store.lanesInUse, [])
    })
  )

  it.effect("keeps such a payment while a reorganisation may still let its own transaction in", () =>
    Effect.gen(function* () {
      const { ledger, request, restartWith, store } = yield* displaced
      const signed: Array<string | undefined> = []
      const changed = yield* restartWith([other(ledger, signed)])
      ledger.finality = 1000
      const asking = yield* Effect.forkDetach(changed.settle(request, claim("a")))
      yield* TestClock.adjust("60 seconds")
      assert.deepStrictEqual(
        (yield* store.page(0n, 1)).map(({ lane, status }) => [status, lane]),
        [["accepted", lane]]
      )
      assert.deepStrictEqual(signed, [])
      yield* Fiber.interrupt(asking)
    })
  )

  /** The same, found while the signer was configured: on record the transaction has no payment any more. */
  const foundDisplaced = Effect.fnUntraced(function* (bound: boolean) {
    const shop = yield* LedgerShop.open({
      settleTimeoutMillis: 600_000,
      scheme: (scheme) => ({
        ...scheme,
        prepare: (payments, slot, ...rest) =>
          slot?.number === 0n ? scheme.prepare(payments, slot, ...rest) : Effect.never
      })
    })
    const { facilitator, ledger, store } = shop
    ledger.faults.holdBlocks = true
    const request = yield* pay({ bound, validFor: 80 })
    const caller = yield* Effect.forkDetach(facilitator.settle(request, claim("a")))
    yield* TestClock.adjust("1 second")
    yield* Fiber.interrupt(caller)
    ledger.finality = 1000
    ledger.useSlot("signer-1")
    ledger.faults.holdBlocks = false
    yield* TestClock.adjust("15 seconds")
    const [stored] = yield* store.page(0n, 1)
    assert.deepStrictEqual([stored?.status, stored?.lane], ["accepted", lane])
    assert.deepStrictEqual(
      (yield* store.openTransactions(lane)).map(({ payments }) => payments.length),
      [0]
    )
    return { ...shop, request }
  })

  it.effect("keeps a payment that was displaced before the restart until its slot is used in final blocks", () =>
    Effect.gen(function* () {
      const { ledger, request, restartWith, store } = yield* foundDisplaced(true)
      const signed: Array<string | undefined> = []
      const changed = yield* restartWith([other(ledger, signed)])
      const asking = yield* Effect.forkDetach(changed.settle(request, claim("a")))
      yield* TestClock.adjust("30 seconds")
      assert.deepStrictEqual(signed, [])
      const [stored] = yield* store.page(0n, 1)
      assert.deepStrictEqual([stored?.status, stored?.lane], ["accepted", lane])
      ledger.finality = 8
      yield* TestClock.adjust("30 seconds")
      assert.strictEqual((yield* Fiber.join(asking)).execution, "granted")
      assert.deepStrictEqual(signed, ["signer-2"])
      assert.strictEqual(ledger.transfers.length, 1)
      assert.deepStrictEqual(yield* store.lanesInUse, [])
    })
  )

  it.effect("takes its bytes for the facilitator's own, so an unbound payment is served that they settle late", () =>
    Effect.gen(function* () {
      const { ledger, request, restartWith, store } = yield* foundDisplaced(false)
      const changed = yield* restartWith([other(ledger, [])])
      yield* TestClock.adjust("10 seconds")
      ledger.reorganise(Number(ledger.head().number) - 1)
      yield* TestClock.adjust("10 seconds")
      ledger.finality = 8
      const asking = yield* Effect.forkDetach(changed.settle(request, claim("a")))
      yield* TestClock.adjust("20 seconds")
      const [settled] = yield* store.page(0n, 1)
      assert.deepStrictEqual([settled?.status, settled?.refusal], ["final", undefined])
      assert.strictEqual((yield* Fiber.join(asking)).execution, "granted")
      assert.strictEqual(ledger.transfers.length, 1)
    })
  )

  for (const [when, begin] of [
    ["before the restart", foundDisplaced(true)],
    ["after it", displaced]
  ] as const) {
    it.effect(`sends a payment's own bytes again if its slot was lost ${when} and a reorganisation opens it`, () =>
      Effect.gen(function* () {
        const { ledger, restartWith, store } = yield* begin
        const signed: Array<string | undefined> = []
        ledger.finality = 1000
        yield* restartWith([other(ledger, signed)])
        yield* TestClock.adjust("20 seconds")
        const [waiting] = yield* store.page(0n, 1)
        assert.deepStrictEqual([waiting?.status, waiting?.lane], ["accepted", lane])
        ledger.reorganise(Number(ledger.head().number) - 1)
        yield* TestClock.adjust("20 seconds")
        const [onRecord] = yield* store.openTransactions(lane)
        assert.strictEqual(onRecord?.inclusion?.transaction, waiting?.transaction)
        ledger.finality = 8
        yield* TestClock.adjust("20 seconds")
        const [settled] = yield* store.page(0n, 1)
        assert.deepStrictEqual([settled?.status, settled?.transaction], ["final", waiting?.transaction])
        assert.strictEqual(ledger.transfers.length, 1)
        assert.deepStrictEqual(signed, [])
        assert.deepStrictEqual(yield* store.lanesInUse, [])
      })
    )
  }

  it.effect("keeps a payment while a reorganisation has put the foreign transaction into a later block", () =>
    Effect.gen(function* () {
      const { ledger, request, restartWith } = yield* displaced
      const signed: Array<string | undefined> = []
      ledger.finality = 20
      const changed = yield* restartWith([other(ledger, signed)])
      const asking = yield* Effect.forkDetach(changed.settle(request, claim("a")))
      yield* TestClock.adjust("20 seconds")
      ledger.reorganise(Number(ledger.head().number) - 1)
      ledger.useSlot("signer-1")
      yield* TestClock.adjust("15 seconds")
      assert.deepStrictEqual(signed, [])
      yield* TestClock.adjust("15 seconds")
      assert.strictEqual((yield* Fiber.join(asking)).execution, "granted")
      assert.deepStrictEqual(signed, ["signer-2"])
    })
  )

  it.effect("ends such a payment by proof where nobody asks for it again", () =>
    Effect.gen(function* () {
      const { ledger, restartWith, store } = yield* displaced
      yield* restartWith([other(ledger, [])])
      yield* TestClock.adjust("10 minutes")
      assert.deepStrictEqual(
        (yield* store.page(0n, 1)).map(({ status }) => status),
        ["expired"]
      )
      assert.deepStrictEqual(ledger.transfers, [])
      assert.deepStrictEqual(yield* store.lanesInUse, [])
    })
  )
})

describe("a network that is not configured any more", () => {
  it.effect("leaves what was sent open, releases what was not, and goes on when it is configured again", () =>
    Effect.gen(function* () {
      const shop = yield* LedgerShop.open({ capacity: 1 })
      const { facilitator, ledger, restartWith, store } = shop
      ledger.faults.holdBlocks = true
      for (const name of ["a", "b"]) {
        const caller = yield* Effect.forkDetach(facilitator.settle(yield* pay({ validFor: 80 }), claim(name)))
        yield* TestClock.adjust("1 second")
        yield* Fiber.interrupt(caller)
      }
      const elsewhere: SchemeFacilitator = { ...TestScheme.facilitator(ledger), network: Network.make("ledger:other") }
      yield* restartWith([elsewhere])
      yield* TestClock.adjust("10 seconds")
      const [sent, waiting] = yield* store.page(0n, 2)
      assert.deepStrictEqual([sent?.status, sent?.lane], ["sent", lane])
      assert.deepStrictEqual([waiting?.status, waiting?.lane], ["accepted", undefined])
      ledger.faults.holdBlocks = false
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(yield* statusesIn(shop), ["sent", "accepted"])
      yield* restartWith([TestScheme.facilitator(ledger)])
      yield* TestClock.adjust("20 seconds")
      assert.deepStrictEqual(yield* statusesIn(shop), ["final", "accepted"])
    })
  )
})

const unreadable = Effect.fail(invalid("malformed", "other_scheme", "the payload is of another scheme"))

/** A scheme facilitator of another name on the same chain, which cannot read the first one's payments. */
const stranger = (ledger: TestLedger): SchemeFacilitator => {
  const scheme = TestScheme.facilitator(ledger, { lanes: ["signer-3"] })
  return { ...scheme, scheme: { ...scheme.scheme, name: "stranger" }, read: () => unreadable }
}

describe("a lane without its signer on a network of two schemes", () => {
  it.effect("is watched by the scheme of its payments, whichever is configured first", () =>
    Effect.gen(function* () {
      const shop = yield* interrupted(2, { batches, scheme: (scheme) => ({ ...scheme, submit: () => Effect.never }) })
      const { ledger, restartWith, store } = shop
      yield* restartWith([stranger(ledger), other(ledger, [])])
      ledger.faults.holdBlocks = false
      yield* TestClock.adjust("30 seconds")
      assert.deepStrictEqual(yield* statusesIn(shop), ["final", "final"])
      assert.deepStrictEqual(yield* store.lanesInUse, [])
    })
  )

  it.effect("waits for its scheme where only the other one is configured, and its unsent payments leave it", () =>
    Effect.gen(function* () {
      const { ledger, restartWith, store } = yield* withOneUnsent
      yield* restartWith([stranger(ledger)])
      ledger.faults.holdBlocks = false
      yield* TestClock.adjust("30 seconds")
      const [sent, waiting] = yield* store.page(0n, 2)
      assert.deepStrictEqual([sent?.status, sent?.lane], ["sent", lane])
      assert.deepStrictEqual([waiting?.status, waiting?.lane], ["accepted", undefined])
      yield* restartWith([stranger(ledger), other(ledger, [])])
      yield* TestClock.adjust("30 seconds")
      assert.strictEqual((yield* store.page(0n, 1))[0]?.status, "final")
    })
  )
})

/** The promises above are tested: each fault, brought back, breaks its own. */
describe("without what keeps an earlier configuration's payments alive", () => {
  it.effect("a batch that obeys today's maximum is not replaced, and its payments expire", () =>
    Effect.gen(function* () {
      const shop = yield* interrupted(5, { batches })
      const { ledger, restartWith } = shop
      const scheme = TestScheme.facilitator(ledger, { batches: { maximum: 2, windowMillis: 50 } })
      yield* restartWith([
        { ...scheme, prepare: (payments, slot, chainHead) => scheme.prepare(payments, slot, chainHead) }
      ])
      ledger.market.base = 60n
      ledger.faults.holdBlocks = false
      yield* TestClock.adjust("90 seconds")
      assert.deepStrictEqual(yield* statusesIn(shop), Array(5).fill("expired"))
    })
  )

  it.effect("payments in an asset that nothing recalls have no end, and their buyers are refused", () =>
    Effect.gen(function* () {
      const shop = yield* interrupted(2, { batches })
      const { ledger, restartWith } = shop
      const scheme = TestScheme.facilitator(ledger, { batches })
      const notSettled = Effect.fail(invalid("asset_mismatch", "asset_not_settled", "the asset is not settled here"))
      yield* restartWith([{ ...scheme, read: () => notSettled }])
      ledger.faults.holdBlocks = false
      yield* TestClock.adjust("90 seconds")
      assert.strictEqual(ledger.transfers.length, 2)
      assert.deepStrictEqual(yield* statusesIn(shop), ["sent", "sent"])
    })
  )

  it.effect("a lane that is not looked for stays as it was, and its balances reserved", () =>
    Effect.gen(function* () {
      const shop = yield* interrupted(2, {
        batches,
        scheme: (scheme) => ({ ...scheme, submit: () => Effect.never }),
        store: (store) => ({ ...store, lanesInUse: Effect.succeed([]) })
      })
      const { ledger, restartWith } = shop
      yield* restartWith([other(ledger, [])])
      ledger.faults.holdBlocks = false
      yield* TestClock.adjust("10 minutes")
      assert.deepStrictEqual(yield* statusesIn(shop), ["planned", "planned"])
    })
  )
})
