import { assert, describe, it } from "@effect/vitest"
import { Network, type PaymentStore, RetryToken } from "@pontage/core"
import * as fc from "fast-check"

import * as Delivery from "../../../src/facilitator/store/Delivery.ts"
import * as Presentation from "../../../src/facilitator/store/Presentation.ts"

type NewPayment = PaymentStore.NewPayment

const token = "A".repeat(22)

const known = (bound: boolean, hasToken: boolean, amount: bigint): NewPayment => ({
  paymentId: "pay_0123456789abcdefghijkl",
  requirements: {
    scheme: "exact",
    network: Network.make("ledger:test"),
    maxAmountRequired: `${amount}`,
    resource: "https://shop.example/report",
    payTo: "acct-shop",
    asset: "acct-dollar",
    extra: hasToken ? { [RetryToken.key]: token } : {}
  },
  authorization: {
    payer: "acct-alice",
    payTo: "acct-shop",
    asset: "acct-dollar",
    amount,
    nonce: "nonce-1",
    validAfter: 0,
    validBefore: 1_000,
    binding: bound ? { challenge: "c", salt: "s" } : undefined
  },
  payload: { signed: "by alice" },
  caller: "shop-a",
  notify: false
})

const offering = (payment: NewPayment, changes: Partial<NewPayment["requirements"]>): NewPayment => ({
  ...payment,
  requirements: { ...payment.requirements, ...changes }
})

const signing = (payment: NewPayment, changes: Partial<NewPayment["authorization"]>): NewPayment => ({
  ...payment,
  authorization: { ...payment.authorization, ...changes }
})

/** For each term a presentation that differs from the record in this term alone; `undefined` if there is none. */
const deviations: Record<keyof typeof Presentation.terms, (payment: NewPayment) => NewPayment | undefined> = {
  network: (payment) => offering(payment, { network: Network.make("ledger:other") }),
  signedAsset: (payment) => signing(payment, { asset: "acct-euro" }),
  payer: (payment) => signing(payment, { payer: "acct-mallory" }),
  nonce: (payment) => signing(payment, { nonce: "nonce-2" }),
  signedPayee: (payment) => signing(payment, { payTo: "acct-mallory" }),
  signedAmount: (payment) => signing(payment, { amount: payment.authorization.amount + 1n }),
  validity: (payment) => signing(payment, { validBefore: 1_001 }),
  scheme: (payment) => offering(payment, { scheme: "upto" }),
  offeredAsset: (payment) => offering(payment, { asset: "acct-euro" }),
  offeredPayee: (payment) => offering(payment, { payTo: "acct-victim" }),
  price: (payment) => offering(payment, { maxAmountRequired: `${payment.authorization.amount + 1n}` }),
  caller: (payment) => ({ ...payment, caller: "shop-b" }),
  delivery: (payment) => ({
    ...payment,
    requirements: Delivery.offerOfPush(payment.requirements, `pay_${"d".repeat(22)}`)
  }),
  salt: (payment) =>
    payment.authorization.binding && signing(payment, { binding: { challenge: "c", salt: "guessed" } }),
  payload: (payment) => (payment.authorization.binding ? undefined : { ...payment, payload: { signed: "otherwise" } }),
  token: (payment) =>
    payment.authorization.binding === undefined
      ? offering(payment, { extra: { [RetryToken.key]: "B".repeat(22) } })
      : undefined
}

const names = Object.keys(deviations) as ReadonlyArray<keyof typeof deviations>

/** A record, a cheaper or equal price of today, and the terms in which the presentation differs. */
const cases = fc.record({
  bound: fc.boolean(),
  hasToken: fc.boolean(),
  amount: fc.bigInt({ min: 1n, max: 2n ** 255n }),
  discount: fc.bigInt({ min: 0n, max: 100n }),
  differing: fc.subarray([...names])
})

type Compare = (presented: NewPayment, known: NewPayment) => boolean

const isRight = (compare: Compare) =>
  fc.property(cases, ({ amount, bound, differing, discount, hasToken }) => {
    const record = known(bound, hasToken, amount)
    const price = amount > discount ? amount - discount : amount
    let presented = offering(record, { maxAmountRequired: `${price}` })
    let differs = false
    for (const name of differing) {
      const other = deviations[name](presented)
      if (other === undefined) continue
      differs = true
      presented = other
    }
    return compare(presented, record) === !differs
  })

const runs = { numRuns: 2_000, seed: 17 }

describe("the comparison of a presentation with the record", () => {
  it("agrees exactly when no term differs", () => assert.isFalse(fc.check(isRight(Presentation.isOf), runs).failed))

  it.each(names)("is wrong without the term %s", (missing) => {
    const others = names.filter((name) => name !== missing)
    const mutilated: Compare = (presented, record) =>
      others.every((name) => Presentation.terms[name](presented, record))
    assert.isTrue(fc.check(isRight(mutilated), runs).failed)
  })
})
