import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as TestClock from "effect/testing/TestClock"

import { invalid } from "../../../src/protocol/ValidationError.ts"
import type { ObservedPayment, Payment, SchemeFacilitator } from "../../../src/scheme/SchemeFacilitator.ts"
import * as TestLedger from "../../../src/testing/ledger/TestLedger.ts"
import type * as TestScheme from "../../../src/testing/ledger/TestScheme.ts"
import * as SchemeLaws from "../../../src/testing/scheme/SchemeLaws.ts"
import * as LedgerSubject from "../LedgerSubject.ts"

const families: Readonly<Record<string, TestScheme.FacilitatorOptions>> = {
  "one by one": {},
  "in batches": { batches: { maximum: 10, windowMillis: 1 } },
  "in batches that hold less than they say": { batches: { maximum: 10, windowMillis: 1 }, fitting: 2 },
  "without fees": { fees: false },
  "without slots": { lanes: [] }
}

for (const [name, options] of Object.entries(families)) {
  describe(`the laws of a scheme, kept by the test scheme ${name}`, () => {
    for (const law of SchemeLaws.all) {
      it.live(law.name, () =>
        Effect.provideService(law.effect, SchemeLaws.Subject, LedgerSubject.make(TestLedger.make(), options))
      )
    }
  })
}

describe("the laws of a scheme, kept by the test scheme without slots", () => {
  for (const law of SchemeLaws.all.filter(({ name }) => name.startsWith("a stranger's transaction after the plan"))) {
    it.live(`${law.name}, in whatever block the stranger begins`, () => {
      const ledger = TestLedger.make()
      const subject = LedgerSubject.make(ledger, { lanes: [] })
      const { chainHead } = subject.facilitator
      const moving = Effect.tap(chainHead, () => Effect.sync(() => ledger.mine()))
      const facilitator: SchemeFacilitator = { ...subject.facilitator, chainHead: moving }
      return Effect.provideService(law.effect, SchemeLaws.Subject, { ...subject, facilitator })
    })
  }
})

const asBound = (payment: Payment): Payment => ({
  ...payment,
  authorization: { ...payment.authorization, binding: { challenge: "any", salt: "any" } }
})

type Change = (scheme: SchemeFacilitator, ledger: TestLedger.TestLedger) => Partial<SchemeFacilitator>

/** Schemes with one fault each, taken from real ones; at least one law must notice it. */
const broken: Readonly<Record<string, Change>> = {
  "believes every signature": (scheme) => ({
    verify: (payment: Payment) =>
      Effect.catchTag(scheme.verify(payment), "PaymentError", (error) =>
        error.code === "INVALID_SIGNATURE" ? Effect.void : Effect.fail(error)
      )
  }),
  "takes a chain that is down for a good payment": (scheme) => ({
    verify: (payment: Payment) => Effect.catchTag(scheme.verify(payment), "ChainUnavailable", () => Effect.void)
  }),
  "takes a chain that is down for an empty account": (scheme) => ({
    balance: (payment: Payment) => Effect.catch(scheme.balance(payment), () => Effect.succeed(0n))
  }),
  "takes a chain that is down for a reorganisation": (scheme) => ({
    isCanonical: (block) => Effect.catch(scheme.isCanonical(block), () => Effect.succeed(false))
  }),
  "takes a block for canonical by its number": (scheme) => ({
    isCanonical: (block) => Effect.map(scheme.chainHead, ({ head }) => block.number <= head.number)
  }),
  "does not look at the balance": (scheme) => ({
    verify: (payment: Payment) =>
      Effect.catchTag(scheme.verify(payment), "PaymentError", (error) =>
        error.code === "INSUFFICIENT_BALANCE" ? Effect.void : Effect.fail(error)
      )
  }),
  "keys a payment by something that is not what the chain consumes": (scheme) => ({
    read: (requirements, payload) =>
      Effect.map(scheme.read(requirements, payload), (payment) => ({
        ...payment,
        authorization: { ...payment.authorization, nonce: JSON.stringify(payload).slice(0, 20) }
      }))
  }),
  "does not prove the binding": (scheme) => ({
    read: (requirements, payload) =>
      Effect.catchTag(scheme.read(requirements, payload), "ValidationError", (error) =>
        error.reason === "binding_mismatch"
          ? scheme.read(requirements, { ...(payload as object), binding: undefined })
          : Effect.fail(error)
      )
  }),
  "reads the recipient from the offer": (scheme) => ({
    read: (requirements, payload) =>
      Effect.map(scheme.read(requirements, payload), (payment) => ({
        ...payment,
        authorization: { ...payment.authorization, payTo: requirements.payTo }
      }))
  }),
  "takes as many payments as there are, whatever they cost": (scheme) => ({
    prepare: (payments, slot, chainHead) => scheme.prepare(payments, slot, chainHead)
  }),
  "sends while it prepares": (scheme) => ({
    prepare: (payments: ReadonlyArray<Payment>, slot, chainHead) =>
      Effect.tap(scheme.prepare(payments, slot, chainHead), ({ prepared }) => scheme.submit(prepared))
  }),
  "says that it takes more payments than it does": (scheme) => ({
    prepare: (payments: ReadonlyArray<Payment>, slot, chainHead) =>
      Effect.map(scheme.prepare(payments.slice(0, 1), slot, chainHead), ({ prepared }) => ({
        prepared,
        count: payments.length
      }))
  }),
  "believes that what it sent has happened": (scheme) => ({
    observe: (observedPayments: ReadonlyArray<ObservedPayment>, attempts) =>
      Effect.map(scheme.observe(observedPayments, attempts), ({ inclusion }) => ({
        inclusion,
        observations: observedPayments.map(() => ({
          _tag: "Settled" as const,
          transaction: attempts[0]?.transaction ?? "",
          block: { number: 1n, hash: "" },
          external: false
        }))
      }))
  }),
  "looks only for its own transactions": (scheme) => ({
    observe: (observedPayments: ReadonlyArray<ObservedPayment>, attempts) =>
      Effect.map(scheme.observe(observedPayments, attempts), ({ inclusion, observations }) => ({
        inclusion,
        observations: observations.map((seen) =>
          seen._tag === "Settled" && seen.external ? { _tag: "Pending" as const } : seen
        )
      })),
    conclude: (observedPayment) =>
      Effect.map(scheme.conclude(observedPayment), (seen) =>
        seen._tag === "Settled" ? { _tag: "Unused" as const, at: seen.block } : seen
      )
  }),
  "counts a transfer that was there before the payment": (scheme) => ({
    observe: (observedPayments: ReadonlyArray<ObservedPayment>, attempts) =>
      scheme.observe(
        observedPayments.map((one) => ({ ...one, since: -1n })),
        attempts
      ),
    conclude: (observedPayment) => scheme.conclude({ ...observedPayment, since: -1n })
  }),
  "counts no transfer that a stranger made before the plan": (scheme) => ({
    conclude: ({ payment, since }) => scheme.conclude({ payment, since })
  }),
  "takes what it has sent itself for a stranger's": (scheme) => ({
    conclude: (observedPayment) =>
      Effect.map(scheme.conclude(observedPayment), (seen) =>
        seen._tag === "Settled" ? { ...seen, external: true } : seen
      )
  }),
  "counts an unbound payment's transfer like a bound one's": (scheme) => ({
    conclude: (observedPayment) => scheme.conclude({ ...observedPayment, payment: asBound(observedPayment.payment) })
  }),
  "takes its own bytes of an earlier slot for a stranger's": (scheme) => ({
    observe: (observedPayments: ReadonlyArray<ObservedPayment>, attempts) =>
      Effect.map(scheme.observe(observedPayments, attempts), ({ inclusion, observations }) => ({
        inclusion,
        observations: observations.map((seen) =>
          seen._tag === "Settled" && attempts.every(({ transaction }) => transaction !== seen.transaction)
            ? { ...seen, external: true }
            : seen
        )
      }))
  }),
  "takes the bytes of a signer that is not configured any more for a stranger's": (scheme) => ({
    observe: (observedPayments: ReadonlyArray<ObservedPayment>, attempts) =>
      scheme.observe(
        observedPayments.map((one) => ({ ...one, lane: "signer-9" })),
        attempts
      ),
    conclude: (observedPayment) => scheme.conclude({ ...observedPayment, lane: "signer-9" })
  }),
  "looks at the last attempt alone": (scheme) => ({
    observe: (observedPayments: ReadonlyArray<ObservedPayment>, attempts) =>
      scheme.observe(observedPayments, attempts.slice(-1))
  }),
  "concludes before the validity is over": (scheme) => ({
    conclude: (observedPayment) =>
      Effect.flatMap(scheme.conclude(observedPayment), (seen): ReturnType<SchemeFacilitator["conclude"]> =>
        seen._tag === "Pending"
          ? Effect.map(scheme.chainHead, ({ head }) => ({ _tag: "Unused", at: head }))
          : Effect.succeed(seen)
      )
  }),
  "uses another slot up than it was asked to": ({ noop }) => ({
    noop: (slot, chainHead) => noop({ ...slot, number: slot.number + 1n }, chainHead)
  }),
  "takes the noop that was included for the payment's own failure": (scheme) => ({
    observe: (observedPayments: ReadonlyArray<ObservedPayment>, attempts) =>
      Effect.map(scheme.observe(observedPayments, attempts), ({ inclusion, observations }) => ({
        inclusion,
        observations: observations.map((seen) =>
          inclusion !== undefined && seen._tag === "Pending"
            ? {
                _tag: "Failed" as const,
                transaction: inclusion.transaction,
                error: invalid("unsupported_authorization", "transfer_not_shown", "nothing is shown")
              }
            : seen
        )
      }))
  }),
  "calls a lost response a refusal": (scheme) => ({
    submit: (prepared) =>
      Effect.catch(scheme.submit(prepared), (error) =>
        Effect.succeed({ _tag: "Refused" as const, message: error.message })
      )
  }),
  "dies of garbage": (scheme) => ({
    read: (requirements, payload) => Effect.orDie(scheme.read(requirements, payload))
  })
}

/** Runs law after law until one is broken. Time goes on meanwhile, so that a law that waits in vain gives up. */
const tryAll = Effect.fnUntraced(function* (subject: SchemeLaws.SchemeSubject) {
  yield* TestClock.setTime(1_700_000_000_000)
  const laws = Effect.forEach(SchemeLaws.all, ({ effect }) => effect, { discard: true })
  const time = Effect.forever(Effect.andThen(TestClock.adjust("100 millis"), Effect.yieldNow))
  return yield* Effect.raceFirst(Effect.exit(Effect.provideService(laws, SchemeLaws.Subject, subject)), time)
})

const batching = { batches: { maximum: 10, windowMillis: 1 } }

describe("a scheme that breaks a law", () => {
  for (const [name, change] of Object.entries(broken)) {
    it.effect(`is found out when it ${name}`, () =>
      Effect.gen(function* () {
        const ledger = TestLedger.make()
        const subject = LedgerSubject.make(ledger, batching)
        const facilitator = { ...subject.facilitator, ...change(subject.facilitator, ledger) }
        assert.strictEqual((yield* tryAll({ ...subject, facilitator }))._tag, "Failure")
      })
    )
  }

  it.effect("and one that keeps them is not", () =>
    Effect.gen(function* () {
      const outcome = yield* tryAll(LedgerSubject.make(TestLedger.make(), batching))
      assert.deepStrictEqual(outcome, Exit.void)
    })
  )
})
