/**
 * The laws of a scheme: the properties that every chain family must keep so that the facilitator's promises hold on it.
 * One call makes them all for any scheme, ours or a third party's; they tell its author when it is done. They run on a
 * real chain (a local node), in real time, and check the money itself, never the scheme's own statements.
 */
import * as Effect from "effect/Effect"

import type { Settled } from "../../facilitator/Facilitator.ts"
import * as Binding from "../../protocol/Binding.ts"
import { isSettled } from "../../protocol/Settlement.ts"
import { holds, type Law, type LawBroken, same, succeeds } from "../Law.ts"
import { laws as chainLaws } from "./SchemeChainLaws.ts"
import { refusals } from "./SchemeRefusalLaws.ts"
import {
  gaining,
  law,
  pay,
  readPayment,
  refuses,
  refusing,
  requestOf,
  type SchemeSubject,
  settle,
  sign,
  Subject,
  validSeconds,
  withFacilitator
} from "./SchemeTrial.ts"
import * as Tampering from "./Tampering.ts"

export { type SchemeSubject, Subject }

const readsBack = law("a signed payment reads back in the common words, and every copy reads the same", (subject) =>
  Effect.gen(function* () {
    const { facilitator, requirements } = subject
    const { request, signed } = yield* sign(subject)
    const { authorization } = yield* readPayment(subject, signed.payload)
    yield* same("the payer", authorization.payer, signed.payer)
    yield* same("the nonce", authorization.nonce, signed.nonce)
    yield* same("the amount", authorization.amount, BigInt(requirements.maxAmountRequired))
    yield* same("the recipient", authorization.payTo, facilitator.scheme.address(requirements.payTo))
    yield* same("the asset", authorization.asset, facilitator.scheme.address(requirements.asset))
    yield* holds("the validity ends no later than asked", authorization.validBefore <= request.validBefore)
    yield* holds(
      "the validity does not end at once",
      authorization.validBefore > request.validBefore - validSeconds / 2
    )
    const copy: unknown = JSON.parse(JSON.stringify(signed.payload))
    yield* same("a copy", (yield* readPayment(subject, copy)).authorization, authorization)
  })
)

const noncesDiffer = law("two payments never share a nonce", (subject) =>
  Effect.gen(function* () {
    const all = yield* Effect.forEach(Array.from({ length: 20 }), (_, index) =>
      sign(subject, { bound: index % 2 === 0 })
    )
    yield* same("how many nonces", new Set(all.map(({ signed }) => signed.nonce)).size, all.length)
  })
)

const bindingIsProven = law("a bound payment proves its binding, and a wrong one is refused", (subject) =>
  Effect.gen(function* () {
    const { request, signed } = yield* sign(subject, { bound: true })
    const { authorization } = yield* readPayment(subject, signed.payload)
    yield* same("the binding", authorization.binding, request.binding)
    const other = yield* Binding.make("another-challenge")
    const { payload: unbound } = (yield* sign(subject)).signed
    for (const forged of [
      Tampering.replaced(signed.payload, ["binding", "challenge"], other.challenge),
      Tampering.replaced(signed.payload, ["binding", "salt"], other.salt),
      Tampering.replaced(unbound, ["binding"], { ...other })
    ]) {
      yield* refusing(subject, "a wrong binding", ["binding_mismatch"], requestOf(subject, forged))
    }
  })
)

const garbageIsMalformed = law("bytes that are no payload are malformed, and break nothing", (subject) =>
  Effect.forEach(
    [null, true, 0, 1.5, "", "text", [], {}, { payload: {} }, { authorization: null }, [[[[]]]], { ["__proto__"]: {} }],
    (garbage) => refusing(subject, JSON.stringify(garbage), ["malformed"], requestOf(subject, garbage)),
    { discard: true }
  )
)

const verifyMovesNothing = law("verify takes a good payment and moves nothing, however often it is asked", (subject) =>
  gaining(
    subject,
    0n,
    Effect.gen(function* () {
      const payment = yield* readPayment(subject, (yield* sign(subject)).signed.payload)
      for (let asked = 0; asked < 3; asked++) yield* succeeds("verify", subject.facilitator.verify(payment))
    })
  )
)

const settleMovesOnce = law("settle moves exactly the amount, once, and names the transaction", (subject) =>
  gaining(
    subject,
    1n,
    withFacilitator(
      subject,
      Effect.fnUntraced(function* (service) {
        const { signed } = yield* sign(subject, { bound: true })
        const settled = yield* succeeds("settle", settle(service, requestOf(subject, signed.payload)))
        yield* holds("the payment is settled", isSettled(settled.status))
        yield* same("the execution", settled.execution, "granted")
        yield* same("the payer", settled.payer, signed.payer)
        yield* same("the amount", settled.amount, subject.requirements.maxAmountRequired)
        yield* holds("a transaction is named", settled.transaction !== "")
      })
    )
  )
)

const manySettle = law("many payments of one payer at once all settle", (subject) =>
  gaining(
    subject,
    10n,
    withFacilitator(
      subject,
      Effect.fnUntraced(function* (service) {
        const requests = yield* Effect.forEach(Array.from({ length: 10 }), () => pay(subject))
        const all = yield* succeeds(
          "settling ten payments at once",
          Effect.forEach(requests, (request) => settle(service, request), { concurrency: "unbounded" })
        )
        yield* holds(
          "all are settled",
          all.every(({ status }) => isSettled(status))
        )
        yield* same("how many payments", new Set(all.map(({ paymentId }) => paymentId)).size, 10)
      })
    )
  )
)

/** For an unbound payment, and for a bound one. */
const eachWay = (body: (bound: boolean) => Generator<Effect.Effect<unknown, LawBroken>, void>) =>
  Effect.forEach([false, true], (bound) => Effect.gen(() => body(bound)), { discard: true })

const usedIsUsed = law(
  "a payment that was used is used: for the same server, and for one that has forgotten everything",
  (subject) =>
    eachWay(function* (bound) {
      const request = yield* pay(subject, { bound })
      const first = withFacilitator(
        subject,
        Effect.fnUntraced(function* (service) {
          const settled = yield* succeeds("settle without a claim", service.settle(request))
          yield* holds("it is settled", isSettled(settled.status))
          yield* refuses("the same payment again", ["already_used"], service.settle(request))
        })
      )
      yield* gaining(subject, 1n, first)
      yield* refusing(subject, "the same payment after a restart", ["already_used"], request)
    })
)

const copiesMoveOnce = law("of twenty copies at once one is granted, and the money moves once", (subject) =>
  gaining(
    subject,
    1n,
    withFacilitator(
      subject,
      Effect.fnUntraced(function* (service) {
        const request = yield* pay(subject, { bound: true })
        const copies = Array.from({ length: 20 }, () => settle(service, request))
        const all = yield* succeeds("twenty copies", Effect.all(copies, { concurrency: "unbounded" }))
        const count = (execution: Settled["execution"]) => all.filter((one) => one.execution === execution).length
        yield* same("how many are granted", count("granted"), 1)
        yield* same("how many are held", count("held"), 19)
      })
    )
  )
)

const strangersUseCounts = law(
  "an authorization that a stranger submitted before the claim is used already",
  (subject) =>
    gaining(
      subject,
      2n,
      eachWay(function* (bound) {
        const request = yield* pay(subject, { bound })
        const { stranger } = subject
        yield* withFacilitator({ ...subject, facilitator: stranger }, (service) =>
          succeeds("a stranger's settlement", settle(service, request))
        )
        yield* withFacilitator(subject, (service) =>
          refuses("a payment that a stranger has submitted", ["already_used"], settle(service, request))
        )
      })
    )
)

const outageIsNoVerdict = law(
  "a chain that cannot be asked is no verdict, and the payment is as good as before",
  (subject) =>
    Effect.gen(function* () {
      const request = yield* pay(subject)
      yield* withFacilitator(
        subject,
        Effect.fnUntraced(function* (service) {
          const asking = subject.whileDown(refuses("settling blindly", ["ChainUnavailable"], settle(service, request)))
          yield* gaining(subject, 0n, asking)
          yield* subject.whileDown(refuses("verifying blindly", ["ChainUnavailable"], service.verify(request)))
          const settled = yield* gaining(subject, 1n, succeeds("settling afterwards", settle(service, request)))
          yield* same("the execution", settled.execution, "granted")
        })
      )
    })
)

const signersShowMoney = law("each lane's signer shows its gas money", (subject) =>
  Effect.gen(function* () {
    const { lanes, signers } = subject.facilitator
    const balances = yield* succeeds("signers", signers)
    yield* same("the signers", balances.map(({ address }) => address).toSorted(), lanes.toSorted())
    yield* holds(
      "they have money",
      balances.every(({ balance }) => balance > 0n)
    )
  })
)

/** All laws of a scheme. */
export const all: ReadonlyArray<Law<Subject>> = [
  readsBack,
  noncesDiffer,
  bindingIsProven,
  garbageIsMalformed,
  verifyMovesNothing,
  settleMovesOnce,
  manySettle,
  ...refusals,
  usedIsUsed,
  copiesMoveOnce,
  strangersUseCounts,
  outageIsNoVerdict,
  signersShowMoney,
  ...chainLaws
]
