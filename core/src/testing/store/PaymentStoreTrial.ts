/** The tools of the payment store laws: new payments, claims and lanes, and the common ways to advance them. */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"

import type { Claim, ClaimVerdict } from "../../facilitator/Facilitator.ts"
import type { Lease, LeaseLost } from "../../facilitator/store/LaneLeases.ts"
import * as PaymentStore from "../../facilitator/store/PaymentStore.ts"
import { Entropy, identifier } from "../../platform/Entropy.ts"
import * as Network from "../../protocol/Network.ts"
import type { FacilitatorUnavailable } from "../../protocol/ProtocolError.ts"
import type { PaymentState } from "../../protocol/Settlement.ts"
import type { Inclusion, PreparedTransaction } from "../../scheme/SchemeFacilitator.ts"
import { type Law, LawBroken, same } from "../Law.ts"
import * as TestScheme from "../ledger/TestScheme.ts"

/** The store's interface. */
export type Store = PaymentStore.PaymentStore["Service"]

/** The services that the laws need beside the store. */
export interface StoreSubject {
  /** Advances the store's clock: `TestClock.adjust`, or another way to move the clock that it reads. */
  readonly elapse: (millis: number) => Effect.Effect<void>
  /**
   * Gives the lane to a new holder, as the store's `LaneLeases` would: each lease of a lane has a higher epoch than the
   * one before.
   */
  readonly lease: (lane: string) => Effect.Effect<Lease>
}

/** The environment of the store under test. */
export class Subject extends Context.Service<Subject, StoreSubject>()("@pontage/core/testing/PaymentStoreSubject") {}

/** A law of a payment store. */
export type StoreLaw = Law<PaymentStore.PaymentStore | Subject>

/** Makes a law. Unavailable records break it; so does an unexpected loss of a lease. */
export const law = (
  name: string,
  body: (store: Store, subject: StoreSubject) => Effect.Effect<void, LawBroken | FacilitatorUnavailable | LeaseLost>
): StoreLaw => ({
  name,
  effect: Effect.gen(function* () {
    const trial = body(yield* PaymentStore.PaymentStore, yield* Subject)
    yield* Effect.mapError(trial, (error) =>
      error._tag === "LawBroken" ? error : new LawBroken({ message: `${error._tag}: ${error.message}` })
    )
  })
})

/** Holds when the lease is lost. */
export const loses = <A>(
  what: string,
  effect: Effect.Effect<A, FacilitatorUnavailable | LeaseLost>
): Effect.Effect<void, LawBroken> =>
  Effect.matchEffect(effect, {
    onFailure: (error) => same(`the error of ${what}`, error._tag, "LeaseLost"),
    onSuccess: () => Effect.fail(new LawBroken({ message: `${what}: expected LeaseLost, got success` }))
  })

/** The properties of a payment of the laws. */
export interface Wish {
  readonly payer?: string
  readonly amount?: bigint
  readonly bound?: boolean
  readonly caller?: string
  readonly notify?: boolean
  /** Seconds from now. */
  readonly validFor?: number
}

/** An unused name. */
export const newName: Effect.Effect<string> = Effect.map(Entropy, identifier)

/** A new payment. */
export const newPayment = Effect.fnUntraced(function* (wish: Wish = {}) {
  const { amount = 100n, bound = true, caller = "", notify = false, payer, validFor = 60 } = wish
  const now = Math.floor((yield* Clock.currentTimeMillis) / 1000)
  const name = payer ?? `acct-${yield* newName}`
  const payment: PaymentStore.NewPayment = {
    paymentId: `pay_${yield* newName}`,
    requirements: {
      scheme: "exact",
      network: TestScheme.network,
      maxAmountRequired: `${amount}`,
      resource: "https://shop.example/report",
      payTo: "acct-shop",
      asset: TestScheme.asset.address
    },
    authorization: {
      payer: name,
      payTo: "acct-shop",
      asset: TestScheme.asset.address,
      amount,
      nonce: yield* newName,
      validAfter: 0,
      validBefore: now + validFor,
      binding: bound ? { challenge: yield* newName, salt: yield* newName } : undefined
    },
    payload: { signed: true, by: name },
    caller,
    notify
  }
  return payment
})

/** A new claim. */
export const newClaim = (resource = "resource-of-the-report"): Effect.Effect<Claim> =>
  Effect.map(newName, (id) => ({ id, resource }))

/** Makes a claim that must not be overdrawn. */
export const claimed = Effect.fnUntraced(function* (
  store: Store,
  payment: PaymentStore.NewPayment,
  claim: Claim | undefined,
  intake?: PaymentStore.Intake
) {
  const result = yield* store.claim(payment, claim, intake)
  if (result._tag === "Claimed") return result
  return result._tag === "Different"
    ? yield* new LawBroken({ message: `a payment was taken for another one: ${result.payment.paymentId}` })
    : yield* new LawBroken({ message: `a payment that fits was refused: ${result._tag}` })
})

/** A payment in the store, with its execution held by the returned claim. */
export const taken = Effect.fnUntraced(function* (store: Store, wish?: Wish) {
  const payment = yield* newPayment(wish)
  const claim = yield* newClaim()
  const { payment: stored } = yield* claimed(store, payment, claim)
  return { payment, claim, stored, paymentId: payment.paymentId }
})

/** The proof, as of a final block, that a payment never moves its money. */
export const provenUnused = (paymentId: string): PaymentStore.ProvenUnused => ({
  paymentId,
  at: { number: 2n ** 70n, hash: "0xfinal" }
})

/** Queues a payment in a lane; returns its record. */
export const queuedIn = Effect.fnUntraced(function* (store: Store, paymentId: string, lane: string) {
  const result = yield* store.queue(paymentId, lane)
  return result._tag === "Queued"
    ? result.payment
    : yield* new LawBroken({ message: `a payment that fits was not queued, ${result._tag}` })
})

/** Queued payments without a holder; returns their ids, oldest first. */
export const waiting = Effect.fnUntraced(function* (store: Store, lane: string, count: number, wish?: Wish) {
  const payments = yield* Effect.forEach(Array.from({ length: count }), () => newPayment(wish))
  for (const payment of payments) yield* claimed(store, payment, undefined, { lane })
  return payments.map(({ paymentId }) => paymentId)
})

/** The number of the first transaction of a lane of the laws. */
export const firstNumber = 7n

/** A new lane, on its own network. */
export const newLane = Effect.map(newName, (name) => {
  const network = Network.make(`ledger:${name}`)
  return { network, name: PaymentStore.LaneName(network, "signer-1") }
})

/** Opens the lane by a new holder. */
export const opened = Effect.fnUntraced(function* (store: Store, { lease }: StoreSubject, lane: string) {
  const held = yield* lease(lane)
  yield* store.openLane(held, firstNumber)
  return held
})

/** An opened lane of its own, with payments queued in it. */
export const staffed = Effect.fnUntraced(function* (store: Store, subject: StoreSubject, count: number, wish?: Wish) {
  const { name: lane, network } = yield* newLane
  const ids = yield* waiting(store, lane, count, wish)
  return { lane, network, ids, lease: yield* opened(store, subject, lane) }
})

/** New signed bytes, with every number larger than a careless store can hold. */
export const signed = (number: bigint | undefined): Effect.Effect<PreparedTransaction> =>
  Effect.map(newName, (name) => ({
    slot: number === undefined ? undefined : { lane: "signer-1", number },
    transaction: `transaction ${name}`,
    bytes: `bytes "of" ${name}`,
    head: 2n ** 60n,
    cost: 2n ** 80n + 1n,
    fees: { maximum: 2n ** 72n, priority: 2n ** 70n + 1n }
  }))

/** A planned transaction for these payments. */
export const planOf = (
  number: bigint,
  paymentIds: ReadonlyArray<string>
): Effect.Effect<PaymentStore.PlannedTransaction> =>
  Effect.map(signed(number), (prepared) => ({ number, prepared, paymentIds }))

/** A lane of its own with one open transaction; its payments are `planned`. */
export const flown = Effect.fnUntraced(function* (store: Store, subject: StoreSubject, count: number, wish?: Wish) {
  const staff = yield* staffed(store, subject, count, wish)
  const plan = yield* planOf(firstNumber, staff.ids)
  yield* store.plan(staff.lease, [plan])
  return { ...staff, plan, prepared: plan.prepared }
})

/** The inclusion of a transaction, with its cost. */
export const inclusionOf = ({ transaction }: PreparedTransaction, cost = 2n ** 75n + 1n): Inclusion => ({
  transaction,
  block: { number: 2n ** 60n + 1n, hash: `hash of ${transaction}` },
  cost
})

/** A change of a payment's state. */
export const change = (
  paymentId: string,
  from: PaymentState,
  to: PaymentState,
  more: Partial<PaymentStore.StateChange> = {}
): PaymentStore.StateChange => ({ paymentId, from: [from], to, ...more })

/** Moves an accepted payment to `included`, in a lane of its own. */
export const moved = Effect.fnUntraced(function* (store: Store, subject: StoreSubject, paymentId: string) {
  const { name: lane } = yield* newLane
  yield* store.queue(paymentId, lane)
  const lease = yield* opened(store, subject, lane)
  const plan = yield* planOf(firstNumber, [paymentId])
  yield* store.plan(lease, [plan])
  yield* store.record(lease, { changes: [change(paymentId, "planned", "sent")] })
  const inclusion = inclusionOf(plan.prepared)
  const { block, transaction } = inclusion
  yield* store.record(lease, {
    changes: [change(paymentId, "sent", "included", { transaction, block, note: "block 8" })],
    transaction: { number: firstNumber, inclusion, closed: true }
  })
  return { lane, lease, plan, inclusion }
})

/** Claims a known payment and compares the verdict with the expected one. */
export const executionIs = Effect.fnUntraced(function* (
  store: Store,
  payment: PaymentStore.NewPayment,
  claim: Claim,
  execution: ClaimVerdict
) {
  const result = yield* claimed(store, payment, claim)
  yield* same(`the execution of claim ${claim.id}`, result.execution, execution)
  yield* same("whether a known payment was created", result.created, false)
})

/** Holds when the payment is in this state. */
export const statusIs = Effect.fnUntraced(function* (store: Store, paymentId: string, status: PaymentState) {
  yield* same(`the state of ${paymentId}`, (yield* store.find(paymentId))?.status, status)
})
