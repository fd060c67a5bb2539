/**
 * The laws about claims and executions: of any number of copies of an authorization one is accepted, and its resource
 * is executed as the rules of `Execution` allow.
 */
import * as Effect from "effect/Effect"

import { entitlementMillis, leaseMillis, maximumExecutions } from "../../facilitator/store/Execution.ts"
import * as RetryToken from "../../protocol/RetryToken.ts"
import { holds, same } from "../Law.ts"
import { claimed, executionIs, law, moved, newClaim, newPayment, type StoreLaw, taken } from "./PaymentStoreTrial.ts"

const oneCreates = law(
  "of any number of claims at once exactly one creates the record and is granted",
  Effect.fnUntraced(function* (store) {
    const payment = yield* newPayment()
    const rivals = yield* Effect.forEach(Array.from({ length: 50 }), () => newClaim())
    const results = yield* Effect.forEach(rivals, (claim) => claimed(store, payment, claim), {
      concurrency: "unbounded"
    })
    yield* same("how many created", results.filter(({ created }) => created).length, 1)
    yield* same("how many were granted", results.filter(({ execution }) => execution === "granted").length, 1)
    yield* same("how many were held", results.filter(({ execution }) => execution === "held").length, 49)
    const [stored] = results
    yield* same("the history", stored?.payment.history.length, 1)
  })
)

const keepsEverything = law(
  "a claim keeps everything that was given, to be found again",
  Effect.fnUntraced(function* (store) {
    const { payment, paymentId, stored } = yield* taken(store, { amount: 2n ** 255n, caller: "shop-7", notify: true })
    const found = yield* store.find(paymentId)
    yield* same("the record found", found, stored)
    for (const key of ["requirements", "authorization", "payload"] as const) {
      yield* same(key, found?.[key], payment[key])
    }
    yield* same("the caller", [found?.caller, found?.notify], ["shop-7", true])
    yield* same("the state", found?.status, "accepted")
    yield* same("where it is", [found?.lane, found?.laneNumber, found?.since, found?.block], Array(4).fill(undefined))
    yield* same("an unknown payment", yield* store.find("pay_0000000000000000000000"), undefined)
  })
)

const holderIsGrantedAgain = law(
  "the claim that holds the execution is granted again and keeps it longer",
  Effect.fnUntraced(function* (store, subject) {
    const { claim, payment } = yield* taken(store)
    yield* subject.elapse(leaseMillis - 1_000)
    yield* executionIs(store, payment, claim, "granted")
    yield* subject.elapse(leaseMillis - 1_000)
    yield* executionIs(store, payment, yield* newClaim(), "held")
    const { payment: stored } = yield* claimed(store, payment, claim)
    yield* same("how many runs were granted", stored.execution.count, 1)
  })
)

const silentHolderFails = law(
  "a silent holder's execution counts as failed once its lease has lapsed, and another claim takes over",
  Effect.fnUntraced(function* (store, subject) {
    const { claim, payment, paymentId } = yield* taken(store)
    yield* moved(store, subject, paymentId)
    const other = yield* newClaim()
    yield* subject.elapse(leaseMillis - 1)
    yield* executionIs(store, payment, other, "held")
    yield* subject.elapse(1)
    yield* executionIs(store, payment, other, "granted")
    yield* executionIs(store, payment, claim, "held")
    yield* same("how many runs were granted", (yield* store.find(paymentId))?.execution.count, 2)
  })
)

const resourceIsFixed = law(
  "a payment belongs to the resource it was claimed for, whatever the execution's outcome",
  Effect.fnUntraced(function* (store) {
    const { claim, payment, paymentId } = yield* taken(store)
    const other = yield* newClaim("another-resource-altogether")
    yield* executionIs(store, payment, other, "conflict")
    yield* executionIs(store, payment, { ...claim, resource: other.resource }, "conflict")
    yield* store.finish(paymentId, claim.id, "notRun")
    yield* executionIs(store, payment, other, "conflict")
  })
)

const unclaimedIsNeverGranted = law(
  "a payment taken without a claim is never granted to one",
  Effect.fnUntraced(function* (store) {
    const payment = yield* newPayment()
    const first = yield* claimed(store, payment, undefined)
    yield* same("the execution without a claim", first.execution, undefined)
    yield* same("whether it was created", first.created, true)
    const second = yield* claimed(store, payment, undefined)
    yield* same("whether a repeat created", second.created, false)
    yield* executionIs(store, payment, yield* newClaim(), "conflict")
  })
)

const servedIsSpent = law(
  "a served execution is spent, for its own claim too",
  Effect.fnUntraced(function* (store, subject) {
    const { claim, payment, paymentId } = yield* taken(store)
    yield* moved(store, subject, paymentId)
    yield* store.finish(paymentId, claim.id, "served")
    yield* executionIs(store, payment, yield* newClaim(), "spent")
    yield* executionIs(store, payment, claim, "spent")
  })
)

const failedIsEntitled = law(
  "a paid and bound execution that failed is granted again, five times in all",
  Effect.fnUntraced(function* (store, subject) {
    const { claim, payment, paymentId } = yield* taken(store)
    yield* moved(store, subject, paymentId)
    yield* store.finish(paymentId, claim.id, "failed")
    for (let run = 2; run <= maximumExecutions; run++) {
      const next = yield* newClaim()
      yield* executionIs(store, payment, next, "granted")
      yield* store.finish(paymentId, next.id, "failed")
    }
    yield* executionIs(store, payment, yield* newClaim(), "spent")
  })
)

const entitlementEnds = law(
  "the entitlement ends ten minutes after the failure or the transfer, whichever came later",
  Effect.fnUntraced(function* (store, subject) {
    const { claim, payment, paymentId } = yield* taken(store)
    yield* moved(store, subject, paymentId)
    yield* subject.elapse(30_000)
    yield* store.finish(paymentId, claim.id, "failed")
    yield* subject.elapse(entitlementMillis - 1)
    const late = yield* newClaim()
    yield* executionIs(store, payment, late, "granted")
    yield* store.finish(paymentId, late.id, "failed")
    yield* subject.elapse(1)
    yield* executionIs(store, payment, yield* newClaim(), "spent")
    const slow = yield* taken(store)
    yield* store.finish(slow.paymentId, slow.claim.id, "notRun")
    yield* subject.elapse(entitlementMillis * 2)
    yield* moved(store, subject, slow.paymentId)
    yield* subject.elapse(entitlementMillis - 1)
    yield* executionIs(store, slow.payment, yield* newClaim(), "granted")
  })
)

const unboundIsNotRunAgain = law(
  "without a binding nothing is executed again once the money has moved",
  Effect.fnUntraced(function* (store, subject) {
    const { claim, payment, paymentId } = yield* taken(store, { bound: false })
    yield* moved(store, subject, paymentId)
    yield* store.finish(paymentId, claim.id, "failed")
    yield* executionIs(store, payment, yield* newClaim(), "spent")
  })
)

const unboundHasOneRun = law(
  "a paid payment without a binding keeps its first execution until it reached the handler, and has no other",
  Effect.fnUntraced(function* (store, subject) {
    const { claim, payment, paymentId } = yield* taken(store, { bound: false })
    yield* store.finish(paymentId, claim.id, "notRun")
    yield* moved(store, subject, paymentId)
    const next = yield* newClaim()
    yield* executionIs(store, payment, next, "granted")
    yield* store.finish(paymentId, next.id, "failed")
    yield* executionIs(store, payment, yield* newClaim(), "spent")
  })
)

const publicHasOneRun = law(
  "a paid payment that anyone could repeat is spent even if its handler was not reached, unless no claim was answered",
  Effect.fnUntraced(function* (store, subject) {
    const { claim, payment, paymentId } = yield* taken(store, { bound: false })
    yield* moved(store, subject, paymentId)
    yield* store.finish(paymentId, claim.id, "unanswered")
    const next = yield* newClaim()
    yield* executionIs(store, payment, next, "granted")
    yield* store.finish(paymentId, next.id, "notRun")
    yield* executionIs(store, payment, yield* newClaim(), "spent")
  })
)

const resumedGoesOn = law(
  "a claim takes over at once what a claim that it resumes holds, and counts as the same execution",
  Effect.fnUntraced(function* (store, subject) {
    for (const bound of [true, false]) {
      const { claim, payment, paymentId } = yield* taken(store, { bound })
      yield* moved(store, subject, paymentId)
      const next = { ...(yield* newClaim()), resumes: ["a-claim-of-long-ago", claim.id] }
      const late = { ...(yield* newClaim()), resumes: [claim.id] }
      yield* executionIs(store, payment, yield* newClaim(), "held")
      yield* executionIs(store, payment, next, "granted")
      yield* same("the runs", (yield* store.find(paymentId))?.execution.count, 1)
      yield* executionIs(store, payment, late, "held")
      yield* store.finish(paymentId, claim.id, "unanswered")
      yield* store.finish(paymentId, claim.id, "failed")
      yield* executionIs(store, payment, late, "held")
      yield* store.finish(paymentId, next.id, "served")
      yield* executionIs(store, payment, { ...late, resumes: [claim.id, next.id] }, "spent")
    }
  })
)

const resumedAfterItsLease = law(
  "a claim takes over what it resumes also after the lease, if no other claim has taken the execution meanwhile",
  Effect.fnUntraced(function* (store, subject) {
    const { claim, payment, paymentId } = yield* taken(store, { bound: false })
    yield* moved(store, subject, paymentId)
    yield* subject.elapse(leaseMillis)
    yield* executionIs(store, payment, { ...(yield* newClaim()), resumes: [claim.id] }, "granted")
  })
)

const resumesItsOwnResource = law(
  "a claim of another resource resumes nothing",
  Effect.fnUntraced(function* (store) {
    const { claim, payment } = yield* taken(store)
    const other = { ...(yield* newClaim()), resource: "another-resource".padEnd(43, "x") }
    yield* executionIs(store, payment, { ...other, resumes: [claim.id] }, "conflict")
  })
)

const silentBeforeTheMoneyMoved = law(
  "a holder whose lease ended before the money moved has executed nothing that counts",
  Effect.fnUntraced(function* (store, subject) {
    const early = yield* taken(store, { bound: false })
    yield* subject.elapse(leaseMillis)
    yield* moved(store, subject, early.paymentId)
    yield* executionIs(store, early.payment, yield* newClaim(), "granted")
    yield* same("the runs", (yield* store.find(early.paymentId))?.execution.count, 1)
    const late = yield* taken(store, { bound: false })
    yield* moved(store, subject, late.paymentId)
    yield* subject.elapse(leaseMillis)
    yield* executionIs(store, late.payment, yield* newClaim(), "spent")
  })
)

const tokenProves = law(
  "a paid payment without a binding is executed again for a claim that shows the token of its offer",
  Effect.fnUntraced(function* (store, subject) {
    const plain = yield* newPayment({ bound: false })
    const showing = (token: string) => ({
      ...plain,
      requirements: { ...plain.requirements, extra: { [RetryToken.key]: token } }
    })
    const own = showing("A".repeat(22))
    const claim = yield* newClaim()
    yield* claimed(store, own, claim)
    yield* moved(store, subject, own.paymentId)
    yield* store.finish(own.paymentId, claim.id, "notRun")
    for (const other of [plain, showing("B".repeat(22))]) {
      const { _tag } = yield* store.claim(other, yield* newClaim())
      yield* same("the claim of a stranger", _tag, "Different")
    }
    yield* executionIs(store, own, yield* newClaim(), "granted")
  })
)

const differentChangesNothing = law(
  "a claim that shows the payment for another offer, or for another caller, is different and changes nothing",
  Effect.fnUntraced(function* (store, subject) {
    const { claim, payment, paymentId } = yield* taken(store, { caller: "shop" })
    yield* moved(store, subject, paymentId)
    yield* store.finish(paymentId, claim.id, "failed")
    const before = yield* store.find(paymentId)
    const { requirements } = payment
    const others = [
      { ...payment, caller: "another shop" },
      { ...payment, requirements: { ...requirements, payTo: "acct-another-shop" } },
      { ...payment, requirements: { ...requirements, asset: "acct-another-token" } },
      { ...payment, requirements: { ...requirements, maxAmountRequired: `${payment.authorization.amount + 1n}` } }
    ]
    for (const other of others) {
      for (const wish of [yield* newClaim(), claim, undefined]) {
        const { _tag } = yield* store.claim(other, wish)
        yield* same("the claim", _tag, "Different")
      }
    }
    yield* same("the record", yield* store.find(paymentId), before)
    yield* executionIs(store, payment, yield* newClaim(), "granted")
  })
)

const unpaidIsFree = law(
  "without a transfer a failed execution leaves the payment free, bound or not, without a time limit",
  Effect.fnUntraced(function* (store, subject) {
    const { claim, payment, paymentId } = yield* taken(store, { bound: false })
    yield* store.finish(paymentId, claim.id, "failed")
    yield* subject.elapse(2 * entitlementMillis)
    for (let run = 0; run <= maximumExecutions; run++) {
      const next = yield* newClaim()
      yield* executionIs(store, payment, next, "granted")
      yield* store.finish(paymentId, next.id, "failed")
    }
  })
)

const notRunDoesNotCount = law(
  "an execution that never reached the handler does not count",
  Effect.fnUntraced(function* (store, subject) {
    const { claim, payment, paymentId } = yield* taken(store)
    yield* moved(store, subject, paymentId)
    yield* store.finish(paymentId, claim.id, "notRun")
    yield* same("how many runs count", (yield* store.find(paymentId))?.execution.count, 0)
    for (let run = 0; run <= maximumExecutions; run++) {
      const next = yield* newClaim()
      yield* executionIs(store, payment, next, "granted")
      yield* store.finish(paymentId, next.id, "notRun")
    }
  })
)

const holderAloneEnds = law(
  "only the holder reports an end, and repeating the report changes nothing",
  Effect.fnUntraced(function* (store, subject) {
    const { claim, payment, paymentId } = yield* taken(store)
    yield* moved(store, subject, paymentId)
    const before = yield* store.find(paymentId)
    yield* same("after a stranger's end", yield* store.finish(paymentId, (yield* newClaim()).id, "served"), before)
    const ended = yield* store.finish(paymentId, claim.id, "failed")
    yield* subject.elapse(1_000)
    yield* same("after the same end again", yield* store.finish(paymentId, claim.id, "failed"), ended)
    yield* same("after another end of the same claim", yield* store.finish(paymentId, claim.id, "served"), ended)
    const next = yield* newClaim()
    yield* executionIs(store, payment, next, "granted")
    yield* store.finish(paymentId, claim.id, "served")
    yield* executionIs(store, payment, next, "granted")
    yield* same("an unknown payment", yield* store.finish("pay_0000000000000000000000", claim.id, "served"), undefined)
  })
)

const othersEndsChangeNothing = law(
  "another caller's payment cannot be finished: it is as unknown as a missing one, whatever the claim",
  Effect.fnUntraced(function* (store) {
    const payment = yield* newPayment({ caller: "shop" })
    const { paymentId } = payment
    const claim = yield* newClaim()
    yield* claimed(store, payment, claim)
    const before = yield* store.find(paymentId)
    for (const stranger of ["other", "", "Shop", "shop "])
      for (const claimId of [claim.id, (yield* newClaim()).id])
        yield* same(
          `the end told by ${JSON.stringify(stranger)}`,
          yield* store.finish(paymentId, claimId, "served", stranger),
          undefined
        )
    yield* same("the record", yield* store.find(paymentId), before)
    yield* same("an end of another claim", yield* store.finish(paymentId, "no-such-claim-00", "served", "shop"), before)
    const ended = yield* store.finish(paymentId, claim.id, "served", "shop")
    yield* same("whether it is served by its own caller's word", ended?.execution.served, true)
  })
)

const calls = Array.from({ length: 20 }, (_, index) => `call-of-the-laws-${index}`)

const answerIsOwedOnce = law(
  "the answer to a payment without a claim is owed from its making, and one call alone takes it, as often as it asks",
  Effect.fnUntraced(function* (store) {
    const payment = yield* newPayment()
    const { paymentId } = payment
    yield* claimed(store, payment, undefined)
    yield* same("whether it is owed", (yield* store.find(paymentId))?.answerOwed, true)
    yield* same("what a copy finds", (yield* claimed(store, payment, undefined)).payment.answerOwed, true)
    const took = yield* Effect.forEach(calls, (call) => store.takeAnswer(paymentId, call), { concurrency: "unbounded" })
    yield* same("how many took it", took.filter((taken) => taken).length, 1)
    yield* same("whether it is owed then", (yield* store.find(paymentId))?.answerOwed, false)
    for (const [index, call] of calls.entries()) {
      yield* same(`${call}, asking again`, yield* store.takeAnswer(paymentId, call), took[index])
    }
    yield* same("an unknown payment", yield* store.takeAnswer("pay_0000000000000000000000", "call"), false)
  })
)

const answerIsReturnedByItsTaker = law(
  "an answer that was taken is owed again when its taker returns it, and not when another call does",
  Effect.fnUntraced(function* (store) {
    const payment = yield* newPayment()
    const { paymentId } = payment
    const [taker = "", other = ""] = calls
    yield* claimed(store, payment, undefined)
    yield* store.returnAnswer(paymentId, taker)
    yield* same("the taker's call", yield* store.takeAnswer(paymentId, taker), true)
    yield* store.returnAnswer(paymentId, other)
    yield* same("another call, which gave back what it did not have", yield* store.takeAnswer(paymentId, other), false)
    yield* store.returnAnswer(paymentId, taker)
    yield* same("another call, after the taker gave it back", yield* store.takeAnswer(paymentId, other), true)
    yield* same("the taker, afterwards", yield* store.takeAnswer(paymentId, taker), false)
  })
)

const claimsOweNoAnswer = law(
  "a payment that was claimed owes no answer to callers without a claim",
  Effect.fnUntraced(function* (store) {
    const { claim, paymentId, stored } = yield* taken(store)
    yield* same("whether it is owed", stored.answerOwed, false)
    yield* same("a call without a claim", yield* store.takeAnswer(paymentId, "call"), false)
    yield* same("a call of its claim's name", yield* store.takeAnswer(paymentId, claim.id), false)
    yield* store.returnAnswer(paymentId, claim.id)
    yield* same("the record", yield* store.find(paymentId), stored)
  })
)

const historyGrows = law(
  "the history only grows, with the time of each change and its note",
  Effect.fnUntraced(function* (store, subject) {
    const { claim, payment, paymentId, stored } = yield* taken(store)
    const first = stored.history
    yield* subject.elapse(1_500)
    yield* moved(store, subject, paymentId)
    yield* store.finish(paymentId, claim.id, "failed")
    yield* claimed(store, payment, yield* newClaim())
    const history = (yield* store.find(paymentId))?.history ?? []
    yield* same(
      "the states",
      history.map(({ status }) => status),
      ["accepted", "planned", "sent", "included"]
    )
    yield* same("the beginning", history.slice(0, 1), first)
    yield* same("the note of the last change", history.at(-1)?.note, "block 8")
    yield* holds("the times go up", (history[1]?.at ?? 0) >= (first[0]?.at ?? 0) + 1_500)
  })
)

/** The laws about claims and executions. */
export const laws: ReadonlyArray<StoreLaw> = [
  oneCreates,
  keepsEverything,
  holderIsGrantedAgain,
  silentHolderFails,
  resourceIsFixed,
  unclaimedIsNeverGranted,
  servedIsSpent,
  failedIsEntitled,
  entitlementEnds,
  unboundIsNotRunAgain,
  unboundHasOneRun,
  publicHasOneRun,
  resumedGoesOn,
  resumedAfterItsLease,
  resumesItsOwnResource,
  silentBeforeTheMoneyMoved,
  tokenProves,
  differentChangesNothing,
  unpaidIsFree,
  notRunDoesNotCount,
  holderAloneEnds,
  othersEndsChangeNothing,
  answerIsOwedOnce,
  answerIsReturnedByItsTaker,
  claimsOweNoAnswer,
  historyGrows
]
