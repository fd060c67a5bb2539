import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"

import type { Payment, SchemeFacilitator } from "../../src/scheme/SchemeFacilitator.ts"
import * as SchemeLaws from "../../src/testing/SchemeLaws.ts"
import * as TestLedger from "../../src/testing/TestLedger.ts"
import * as TestScheme from "../../src/testing/TestScheme.ts"

const subjectOn = (ledger: TestLedger.TestLedger): SchemeLaws.SchemeSubject => {
  ledger.deposit("acct-alice", 10n ** 9n)
  return {
    payer: TestScheme.client("acct-alice"),
    poor: TestScheme.client("acct-poor"),
    facilitator: TestScheme.facilitator(ledger, ["signer-1"]),
    stranger: TestScheme.facilitator(ledger, ["signer-2"]),
    requirements: {
      scheme: "exact",
      network: TestScheme.network,
      maxAmountRequired: "10000",
      resource: "https://shop.example/report",
      payTo: "acct-shop",
      asset: TestScheme.asset.address
    },
    otherPayTo: "acct-mallory",
    otherAsset: "acct-euro",
    otherNetwork: "ledger:other",
    received: Effect.sync(() => ledger.balanceOf("acct-shop")),
    whileDown: (effect) =>
      Effect.acquireUseRelease(
        Effect.sync(() => void (ledger.faults.down = true)),
        () => effect,
        () => Effect.sync(() => void (ledger.faults.down = false))
      )
  }
}

describe("the laws of a scheme, kept by the test scheme", () => {
  for (const law of SchemeLaws.all) {
    it.live(law.name, () => Effect.provideService(law.effect, SchemeLaws.Subject, subjectOn(TestLedger.make())))
  }
})

/** Schemes with one fault each, as real ones have had them; at least one law must notice it. */
const broken: Readonly<
  Record<string, (half: SchemeFacilitator, ledger: TestLedger.TestLedger) => Partial<SchemeFacilitator>>
> = {
  "believes every signature": (half) => ({
    verify: (payment: Payment) =>
      Effect.catchTag(half.verify(payment), "PaymentError", (error) =>
        error.code === "INVALID_SIGNATURE" ? Effect.void : Effect.fail(error)
      )
  }),
  "takes a chain that is down for a good payment": (half) => ({
    verify: (payment: Payment) => Effect.catchTag(half.verify(payment), "ChainUnavailable", () => Effect.void)
  }),
  "takes a chain that is down for an empty account": (half) => ({
    balance: (payment: Payment) => Effect.catch(half.balance(payment), () => Effect.succeed(0n))
  }),
  "does not look at the balance": (half) => ({
    verify: (payment: Payment) =>
      Effect.catchTag(half.verify(payment), "PaymentError", (error) =>
        error.code === "INSUFFICIENT_BALANCE" ? Effect.void : Effect.fail(error)
      )
  }),
  "keys a payment by something that is not what the chain consumes": (half) => ({
    read: (requirements, payload) =>
      Effect.map(half.read(requirements, payload), (payment) => ({
        ...payment,
        authorization: { ...payment.authorization, nonce: JSON.stringify(payload).slice(0, 20) }
      }))
  }),
  "does not prove the binding": (half) => ({
    read: (requirements, payload) =>
      Effect.catchTag(half.read(requirements, payload), "ValidationError", (error) =>
        error.reason === "binding_mismatch"
          ? half.read(requirements, { ...(payload as object), binding: undefined })
          : Effect.fail(error)
      )
  }),
  "reads the recipient from the offer": (half) => ({
    read: (requirements, payload) =>
      Effect.map(half.read(requirements, payload), (payment) => ({
        ...payment,
        authorization: { ...payment.authorization, payTo: requirements.payTo }
      }))
  }),
  "sends while it prepares": (half) => ({
    prepare: (payment: Payment, slot, survey) =>
      Effect.tap(half.prepare(payment, slot, survey), (prepared) => half.submit(prepared))
  }),
  "believes that what it sent has happened": (half) => ({
    observe: (payment: Payment, prepared) =>
      Effect.map(half.observe(payment, prepared), () => ({
        _tag: "Settled" as const,
        transaction: prepared.transaction,
        block: 1n,
        external: false
      }))
  }),
  "calls a lost answer a refusal": (half) => ({
    submit: (prepared) =>
      Effect.catch(half.submit(prepared), (error) =>
        Effect.succeed({ _tag: "Refused" as const, message: error.message })
      )
  }),
  "dies of garbage": (half) => ({
    read: (requirements, payload) => Effect.orDie(half.read(requirements, payload))
  })
}

describe("a scheme that breaks a law", () => {
  for (const [name, change] of Object.entries(broken)) {
    it.live(`is found out when it ${name}`, () =>
      Effect.gen(function* () {
        const ledger = TestLedger.make()
        const subject = subjectOn(ledger)
        const facilitator = { ...subject.facilitator, ...change(subject.facilitator, ledger) }
        const outcomes = yield* Effect.forEach(SchemeLaws.all, ({ effect }) =>
          Effect.exit(Effect.provideService(effect, SchemeLaws.Subject, { ...subject, facilitator }))
        )
        assert.isTrue(outcomes.some(({ _tag }) => _tag === "Failure"))
      })
    )
  }
})
