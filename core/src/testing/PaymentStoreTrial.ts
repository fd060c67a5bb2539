/**
 * What the laws of a payment store are tried with: payments and claims that nobody has seen, and the common ways of moving
 * them on.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

import type { Claim, Execution } from "../facilitator/Facilitator.ts"
import * as PaymentStore from "../facilitator/PaymentStore.ts"
import { Entropy, identifier } from "../platform/Entropy.ts"
import { LawBroken, same } from "./Law.ts"
import * as TestScheme from "./TestScheme.ts"

/**
 * The store's own shape.
 *
 * @category models
 */
export type Store = PaymentStore.PaymentStore["Service"]

/**
 * How the laws are tried.
 *
 * @category models
 */
export interface Subject {
  /** Lets time pass for the store: `TestClock.adjust`, or whatever moves the clock it reads. */
  readonly elapse: (millis: number) => Effect.Effect<void>
}

/**
 * A law's body, given the store.
 *
 * @category combinators
 */
export const withStore = (body: (store: Store) => Effect.Effect<void, LawBroken>) =>
  Effect.flatMap(PaymentStore.PaymentStore, body)

/**
 * What a payment of the laws is to be like.
 *
 * @category models
 */
export interface Wish {
  readonly payer?: string
  readonly amount?: bigint
  readonly bound?: boolean
}

/**
 * A payment nobody has seen.
 *
 * @category constructors
 */
export const newPayment = Effect.fnUntraced(function* ({ amount = 100n, bound = true, payer }: Wish = {}) {
  const entropy = yield* Entropy
  const now = Math.floor((yield* Clock.currentTimeMillis) / 1000)
  const name = payer ?? `acct-${identifier(entropy)}`
  const payment: PaymentStore.NewPayment = {
    paymentId: `pay_${identifier(entropy)}`,
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
      nonce: identifier(entropy),
      validAfter: 0,
      validBefore: now + 60,
      binding: bound ? { challenge: identifier(entropy), salt: identifier(entropy) } : undefined
    },
    payload: { signed: true, by: name }
  }
  return payment
})

/**
 * A claim nobody has made.
 *
 * @category constructors
 */
export const newClaim = (resource = "resource-of-the-report"): Effect.Effect<Claim> =>
  Effect.map(Entropy, (entropy) => ({ id: identifier(entropy), resource }))

/**
 * Claims what must fit.
 *
 * @category combinators
 */
export const claimed = Effect.fnUntraced(function* (
  store: Store,
  payment: PaymentStore.NewPayment,
  claim: Claim | undefined,
  available?: bigint
) {
  const result = yield* store.claim(payment, claim, available)
  return result._tag === "Claimed"
    ? result
    : yield* new LawBroken({ message: `a payment that fits was refused, ${result.reserved} being reserved` })
})

/**
 * A payment in the store, its run held by the claim that is returned beside it.
 *
 * @category combinators
 */
export const taken = Effect.fnUntraced(function* (store: Store, wish?: Wish) {
  const payment = yield* newPayment(wish)
  const claim = yield* newClaim()
  const { payment: stored } = yield* claimed(store, payment, claim)
  return { payment, claim, stored, paymentId: payment.paymentId }
})

/**
 * Signed bytes of a payment.
 *
 * @category constructors
 */
export const prepared = (paymentId: string) => ({
  slot: { lane: "signer-1", number: 7n },
  transaction: `transaction of ${paymentId}`,
  bytes: `bytes of ${paymentId}`,
  head: 2n ** 60n
})

/**
 * Takes a payment all the way to the chain.
 *
 * @category combinators
 */
export const moved = Effect.fnUntraced(function* (store: Store, paymentId: string) {
  const plan = prepared(paymentId)
  yield* store.advance(paymentId, { from: ["accepted"], to: "planned", prepared: plan, transaction: plan.transaction })
  yield* store.advance(paymentId, { from: ["planned"], to: "sent" })
  yield* store.advance(paymentId, { from: ["sent"], to: "included", note: "block 8" })
})

/**
 * Claims a known payment and holds the verdict against what is expected.
 *
 * @category combinators
 */
export const executionIs = Effect.fnUntraced(function* (
  store: Store,
  payment: PaymentStore.NewPayment,
  claim: Claim,
  execution: Execution
) {
  const result = yield* claimed(store, payment, claim)
  yield* same(`the execution of claim ${claim.id}`, result.execution, execution)
  yield* same("whether a known payment was created", result.created, false)
})
