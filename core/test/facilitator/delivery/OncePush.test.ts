/** Pushes that are another payment each time they are signed: whatever ends between two steps, the recipient is paid once. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"

import { Checkpoint, type CheckpointName, checkpoints, type Strike } from "../../../src/facilitator/Checkpoint.ts"
import * as PaymentId from "../../../src/protocol/PaymentId.ts"
import { type ChainUnavailable, FacilitatorUnavailable } from "../../../src/protocol/ProtocolError.ts"
import type { DeliveryObservation, Departure, Onward, PushSigning } from "../../../src/scheme/Onward.ts"
import {
  arriving,
  asked,
  asset,
  farNetwork,
  type Payload,
  scheme,
  signatureOf
} from "../../../src/testing/ledger/LedgerScheme.ts"
import { type LedgerOrder, type TestLedger, toOrder } from "../../../src/testing/ledger/TestLedger.ts"
import * as LedgerShop from "../LedgerShop.ts"
import * as BridgeShop from "./BridgeShop.ts"

const operator = "acct-operator"
const stock = 1_000_000n
/** Seconds for which a payment of the operator can be made. */
const validity = 60

interface Signing {
  /** The payments that were signed. */
  signed: number
  /** Whether one that was not made is shown as never sent. */
  isUnsent: boolean
}

/** The push on record as an order of the far ledger. */
const orderIn = (payload: unknown): LedgerOrder => {
  const { amount, ...order } = payload as typeof Payload.Encoded
  return toOrder({ ...order, amount: BigInt(amount) })
}

/** The state of the order on record; `undefined` once no block can execute it any more. */
const endOf = (far: TestLedger, payload: unknown): DeliveryObservation | "open" | undefined => {
  const order = orderIn(payload)
  const use = far.useOf(order)
  if (use?.paid === true) {
    const { hash, number } = use.block
    const final = number <= far.final().number
    return { _tag: "Delivered", transaction: use.transaction, block: { number, hash }, amount: order.amount, final }
  }
  return far.final().time < order.validBefore ? "open" : undefined
}

/** A payment of the operator that is signed now: by an order with a new nonce each time. */
const signed = Effect.fnUntraced(function* (
  signing: Signing,
  far: TestLedger,
  { attempt, payment }: Departure<Payload>
): Effect.fn.Return<PushSigning, ChainUnavailable> {
  const { time } = yield* asked(far, far.head)
  const payTo = LedgerShop.payee
  const terms = {
    payer: operator,
    payTo,
    asset: asset.address,
    amount: `${arriving(payment.payload.amount)}`,
    nonce: `signed-${attempt}-${signing.signed++}`.padEnd(22, "_"),
    validAfter: 0,
    validBefore: time + validity
  }
  const requirements = {
    scheme: scheme.name,
    network: farNetwork,
    maxAmountRequired: terms.amount,
    resource: "urn:pontage:delivery",
    payTo,
    asset: asset.address
  }
  return {
    _tag: "Ready",
    push: { requirements, payload: { ...terms, signature: yield* signatureOf(terms) }, once: true }
  }
})

/** An operator that pays from its own account. */
const payingFrom =
  (signing: Signing) =>
  (bridge: Onward<Payload>, far: TestLedger): Onward<Payload> => ({
    destination: (payment) => bridge.destination(payment),
    observe: Effect.fnUntraced(function* (departure: Departure<Payload>) {
      const { pushed } = departure
      const end = pushed && (yield* asked(far, () => endOf(far, pushed.payload)))
      if (pushed !== undefined && end === "open") return { _tag: "Ready", push: { ...pushed, once: true } } as const
      if (typeof end === "object") return end
      const isLastUnsent = pushed !== undefined && signing.isUnsent
      return {
        _tag: "Unsigned",
        sign: signed(signing, far, departure),
        ...(isLastUnsent && { isLastUnsent })
      } as const
    })
  })

const opened = Effect.fnUntraced(function* (options: BridgeShop.Options = {}) {
  const signing: Signing = { signed: 0, isUnsent: true }
  const shop = yield* BridgeShop.open({ ...options, pushes: "orders", onward: payingFrom(signing) })
  shop.far.deposit(operator, stock)
  return { ...shop, signing }
})

const paid = LedgerShop.amount - 100n

const crossing = Effect.fnUntraced(function* (place: CheckpointName, pass: number) {
  let left = pass
  const strike: Strike = (name) => (name === place && --left === 0 ? Effect.never : Effect.void)
  const shop = yield* opened({ settleTimeoutMillis: 10_000, strike })
  const request = yield* BridgeShop.pay()
  const claim = LedgerShop.claim("a")
  yield* Effect.forkDetach(Effect.provideService(shop.facilitator.settle(request, claim), Checkpoint, strike))
  yield* TestClock.adjust("20 seconds")
  const facilitator = yield* shop.restart
  yield* Effect.forkDetach(facilitator.settle(request, { ...LedgerShop.claim("b"), resumes: [claim.id] }))
  yield* TestClock.adjust("300 seconds")
  const [stored] = yield* shop.store.page(-1n, 1)
  const record = yield* facilitator.payment(stored?.paymentId ?? "")
  assert.strictEqual(record?.delivery?.status, "delivered", `${place} ${pass}`)
  assert.strictEqual(shop.near.transfers.length, 1, `${place} ${pass}`)
  assert.strictEqual(BridgeShop.arrivals(shop).length, 1, `${place} ${pass}`)
  assert.strictEqual(shop.far.balanceOf(operator), stock - paid, `${place} ${pass}`)
  assert.deepStrictEqual(yield* shop.store.openDeliveries, [])
})

/** A payment whose push is on record. */
const departed = Effect.fnUntraced(function* (shop: Effect.Success<ReturnType<typeof opened>>) {
  yield* Effect.forkDetach(shop.facilitator.settle(yield* BridgeShop.pay(), LedgerShop.claim("a")))
  yield* TestClock.adjust("5 seconds")
  const [stored] = yield* shop.store.page(-1n, 1)
  return stored?.paymentId ?? ""
})

/** A ceiling on the far network that no transaction keeps. */
const least = (network: string) => (network === farNetwork ? 1n : undefined)

describe("a push that is another payment each time it is signed", () => {
  for (const place of checkpoints) {
    it.effect(`is made once by the successor of a process that ends at ${place}`, () =>
      Effect.forEach([1, 2, 3, 4], (pass) => Effect.scoped(crossing(place, pass)), { discard: true })
    )
  }

  // One that waited for its caller would hold up the deliveries of others, where an account makes one payment at a time.
  it.effect.each(["caller", "total"] as const)("waits for no ceiling but the network's: %s", (limit) =>
    Effect.gen(function* () {
      const gasCeilings =
        limit === "total" ? { total: least } : { caller: (_: string, network: string) => least(network) }
      const shop = yield* opened({ gasCeilings })
      yield* departed(shop)
      yield* TestClock.adjust("60 seconds")
      assert.strictEqual(BridgeShop.arrivals(shop).length, limit === "caller" ? 1 : 0)
    })
  )

  it.effect("is the one on record, of two processes that sign at once", () =>
    Effect.gen(function* () {
      // Another process, whose lease is over, has recorded its push between this one's observation and its record.
      let isFirst = true
      const shop = yield* opened({
        store: (store) => ({
          ...store,
          deliver: Effect.fnUntraced(function* (id, report) {
            const push = report._tag === "Undelivered" ? report.push : undefined
            if (isFirst && push?.kept !== undefined) {
              isFirst = false
              const terms = { ...(push.kept.payload as typeof Payload.Encoded), nonce: "of-the-other-process__" }
              const payload = { ...terms, signature: yield* signatureOf(terms) }
              const paymentId = yield* PaymentId.make(farNetwork, terms)
              yield* store.deliver(id, {
                _tag: "Undelivered",
                status: "pending",
                detail: "by another process",
                push: { paymentId, attempt: 1, kept: { requirements: push.kept.requirements, payload } }
              })
            }
            return yield* store.deliver(id, report)
          })
        })
      })
      yield* departed(shop)
      yield* TestClock.adjust("120 seconds")
      assert.isFalse(isFirst)
      assert.deepStrictEqual(
        BridgeShop.arrivals(shop).map(({ nonce }) => nonce),
        ["of-the-other-process__"]
      )
      assert.strictEqual(shop.far.balanceOf(operator), stock - paid)
    })
  )

  it.effect("is signed again only once a final block is past the validity of the last one", () =>
    Effect.gen(function* () {
      const shop = yield* opened()
      shop.far.finality = 30
      shop.far.market.base = 500n
      shop.far.faults.holdBlocks = true
      const paymentId = yield* departed(shop)
      yield* TestClock.adjust("50 seconds")
      assert.strictEqual(shop.signing.signed, 1)
      yield* TestClock.adjust("600 seconds")
      // Without blocks no validity is over.
      assert.strictEqual(shop.signing.signed, 1)
      assert.strictEqual((yield* shop.store.find(paymentId))?.delivery?.push?.attempt, 1)
      shop.far.market.base = 10n
      shop.far.faults.holdBlocks = false
      yield* TestClock.adjust("900 seconds")
      assert.strictEqual((yield* BridgeShop.deliveryOf(shop, paymentId))?.status, "delivered")
      assert.strictEqual(BridgeShop.arrivals(shop).length, 1)
      assert.strictEqual(shop.far.balanceOf(operator), stock - paid)
    })
  )

  it.effect("is signed again as often as it was never sent, until it can be", () =>
    Effect.gen(function* () {
      const shop = yield* opened()
      shop.far.market.base = 10_000n
      const paymentId = yield* departed(shop)
      yield* TestClock.adjust("1200 seconds")
      const before = (yield* shop.store.find(paymentId))?.delivery
      assert.isAbove(before?.push?.attempt ?? 0, 7)
      assert.strictEqual(before?.push?.unsent, (before?.push?.attempt ?? 0) - 1)
      // While the record of the last one lives, another one would be signed for nothing, and hold its account up.
      assert.strictEqual(shop.signing.signed, before?.push?.attempt)
      assert.strictEqual(before?.status, "pending")
      shop.far.market.base = 10n
      yield* TestClock.adjust("600 seconds")
      assert.strictEqual((yield* BridgeShop.deliveryOf(shop, paymentId))?.status, "delivered")
      assert.strictEqual(BridgeShop.arrivals(shop).length, 1)
      assert.strictEqual(shop.far.balanceOf(operator), stock - paid)
    })
  )

  it.effect("is signed no more once five of them have failed", () =>
    Effect.gen(function* () {
      const shop = yield* opened()
      shop.signing.isUnsent = false
      shop.far.market.base = 10_000n
      const paymentId = yield* departed(shop)
      yield* TestClock.adjust("1200 seconds")
      const stuck = yield* BridgeShop.deliveryOf(shop, paymentId)
      assert.strictEqual(stuck?.status, "stuck")
      assert.include(stuck?.detail, "all 5 pushes failed")
      assert.strictEqual(shop.signing.signed, 5)
      yield* TestClock.adjust("600 seconds")
      assert.strictEqual(shop.signing.signed, 5)
    })
  )

  it.effect("is waited for where its lane has given it up and the chain could still make it", () =>
    Effect.gen(function* () {
      const shop = yield* opened()
      shop.far.faults.failEntries = 1
      const paymentId = yield* departed(shop)
      yield* TestClock.adjust("40 seconds")
      const waiting = yield* shop.store.find(paymentId)
      assert.strictEqual(waiting?.delivery?.status, "pending")
      assert.include(waiting?.delivery?.detail, "is failed")
      assert.include(waiting?.delivery?.detail, "another one follows once the chain cannot make it any more")
      assert.strictEqual(waiting?.delivery?.push?.attempt, 1)
      assert.strictEqual(shop.signing.signed, 1)
      yield* TestClock.adjust("120 seconds")
      assert.strictEqual((yield* BridgeShop.deliveryOf(shop, paymentId))?.status, "delivered")
      assert.strictEqual(shop.signing.signed, 2)
      assert.strictEqual(BridgeShop.arrivals(shop).length, 1)
    })
  )

  it.effect("is signed again where it has no record of its own before the end of its validity", () =>
    Effect.gen(function* () {
      let isOff = true
      const shop = yield* opened({
        store: (store) => ({
          ...store,
          claim: (payment, ...rest) =>
            isOff && payment.requirements.network === farNetwork
              ? Effect.fail(new FacilitatorUnavailable({ message: "the records cannot be written" }))
              : store.claim(payment, ...rest)
        })
      })
      const paymentId = yield* departed(shop)
      yield* TestClock.adjust("30 seconds")
      const first = (yield* shop.store.find(paymentId))?.delivery?.push
      assert.isDefined(first?.kept)
      yield* TestClock.adjust("90 seconds")
      isOff = false
      yield* TestClock.adjust("200 seconds")
      assert.strictEqual((yield* BridgeShop.deliveryOf(shop, paymentId))?.status, "delivered")
      assert.isUndefined(yield* shop.store.find(first?.paymentId ?? ""))
      assert.strictEqual(BridgeShop.arrivals(shop).length, 1)
    })
  )

  it.effect("is not signed again where no record has its bytes any more", () =>
    Effect.gen(function* () {
      const shop = yield* opened({
        store: (store) => ({
          ...store,
          // A program of the release before has written the delivery without the push, and the record of the push was never made.
          find: (id) =>
            Effect.map(store.find(id), (found) => (found?.requirements.network === farNetwork ? undefined : found)),
          undelivered: (...page) =>
            Effect.map(store.undelivered(...page), (all) =>
              all.map((one) => {
                const { delivery } = one
                if (delivery?.push === undefined) return one
                const { attempt, paymentId } = delivery.push
                return { ...one, delivery: { ...delivery, push: { attempt, paymentId } } }
              })
            )
        })
      })
      shop.far.faults.holdBlocks = true
      const paymentId = yield* departed(shop)
      yield* TestClock.adjust("30 seconds")
      const stuck = yield* BridgeShop.deliveryOf(shop, paymentId)
      assert.strictEqual(stuck?.status, "stuck")
      assert.include(stuck?.detail, "nothing proves that it failed")
      assert.strictEqual(shop.signing.signed, 1)
      assert.strictEqual((yield* shop.store.find(paymentId))?.delivery?.push?.attempt, 1)
      assert.isAtMost(BridgeShop.arrivals(shop).length, 1)
    })
  )
})
