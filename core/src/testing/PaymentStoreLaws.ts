/**
 * The laws of a payment store: what the facilitator relies on for "one authorization, one transfer, one execution". They
 * use payments of their own, so they can be tried one after another on one store, or each on a new one.
 */
import * as Effect from "effect/Effect"

import type * as PaymentStore from "../facilitator/PaymentStore.ts"
import { entitlementMillis, leaseMillis, maximumRuns } from "../facilitator/Run.ts"
import { refuse } from "../protocol/PaymentError.ts"
import { holds, type Law, type LawBroken, same, succeeds } from "./Law.ts"
import {
  claimed,
  executionIs,
  moved,
  newClaim,
  newPayment,
  prepared,
  type Subject,
  taken,
  withStore
} from "./PaymentStoreTrial.ts"

export type { Subject }

/**
 * All laws of a payment store.
 *
 * @category constructors
 */
export const make = (subject: Subject): ReadonlyArray<Law<PaymentStore.PaymentStore>> =>
  [
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
    unpaidIsFree,
    notRunDoesNotCount,
    holderAloneEnds,
    changesCompareAndSet,
    bytesAreKept,
    refusalIsKept,
    historyGrows,
    answerIsOwedOnce,
    flightsReserve,
    coveredFits,
    manyFitAsCovered,
    holdsAreLetGo,
    reservationsAreThePayersOwn
  ].map((one) => one(subject))

const law = (name: string, effect: Effect.Effect<void, LawBroken, PaymentStore.PaymentStore>) => ({ name, effect })

const oneCreates = () =>
  law(
    "of any number of claims at once exactly one creates the record and is granted",
    withStore(
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
  )

const keepsEverything = () =>
  law(
    "a claim keeps everything that was given, to be found again",
    withStore(
      Effect.fnUntraced(function* (store) {
        const { payment, paymentId, stored } = yield* taken(store, { amount: 2n ** 255n })
        const found = yield* store.find(paymentId)
        yield* same("the record found", found, stored)
        for (const key of ["requirements", "authorization", "payload"] as const) {
          yield* same(key, found?.[key], payment[key])
        }
        yield* same("the state", found?.status, "accepted")
        yield* same("an unknown payment", yield* store.find("pay_0000000000000000000000"), undefined)
      })
    )
  )

const holderIsGrantedAgain = ({ elapse }: Subject) =>
  law(
    "the claim that holds the run is granted again and keeps it longer",
    withStore(
      Effect.fnUntraced(function* (store) {
        const { claim, payment } = yield* taken(store)
        yield* elapse(leaseMillis - 1_000)
        yield* executionIs(store, payment, claim, "granted")
        yield* elapse(leaseMillis - 1_000)
        yield* executionIs(store, payment, yield* newClaim(), "held")
        const { payment: stored } = yield* claimed(store, payment, claim)
        yield* same("how many runs were granted", stored.run.count, 1)
      })
    )
  )

const silentHolderFails = ({ elapse }: Subject) =>
  law(
    "a silent holder's run counts as failed once its lease has lapsed, and another claim takes over",
    withStore(
      Effect.fnUntraced(function* (store) {
        const { claim, payment, paymentId } = yield* taken(store)
        yield* moved(store, paymentId)
        const other = yield* newClaim()
        yield* elapse(leaseMillis - 1)
        yield* executionIs(store, payment, other, "held")
        yield* elapse(1)
        yield* executionIs(store, payment, other, "granted")
        yield* executionIs(store, payment, claim, "held")
        yield* same("how many runs were granted", (yield* store.find(paymentId))?.run.count, 2)
      })
    )
  )

const resourceIsFixed = () =>
  law(
    "a payment belongs to the resource it was claimed for, whatever became of the run",
    withStore(
      Effect.fnUntraced(function* (store) {
        const { claim, payment, paymentId } = yield* taken(store)
        const other = yield* newClaim("another-resource-altogether")
        yield* executionIs(store, payment, other, "conflict")
        yield* executionIs(store, payment, { ...claim, resource: other.resource }, "conflict")
        yield* store.finish(paymentId, claim.id, "notRun")
        yield* executionIs(store, payment, other, "conflict")
      })
    )
  )

const unclaimedIsNeverGranted = () =>
  law(
    "a payment taken without a claim is never granted to one",
    withStore(
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
  )

const servedIsSpent = () =>
  law(
    "a served run is spent, for its own claim too",
    withStore(
      Effect.fnUntraced(function* (store) {
        const { claim, payment, paymentId } = yield* taken(store)
        yield* moved(store, paymentId)
        yield* store.finish(paymentId, claim.id, "served")
        yield* executionIs(store, payment, yield* newClaim(), "spent")
        yield* executionIs(store, payment, claim, "spent")
      })
    )
  )

const failedIsEntitled = () =>
  law(
    "a paid and bound run that failed is granted again, five times in all",
    withStore(
      Effect.fnUntraced(function* (store) {
        const { claim, payment, paymentId } = yield* taken(store)
        yield* moved(store, paymentId)
        yield* store.finish(paymentId, claim.id, "failed")
        for (let run = 2; run <= maximumRuns; run++) {
          const next = yield* newClaim()
          yield* executionIs(store, payment, next, "granted")
          yield* store.finish(paymentId, next.id, "failed")
        }
        yield* executionIs(store, payment, yield* newClaim(), "spent")
      })
    )
  )

const entitlementEnds = ({ elapse }: Subject) =>
  law(
    "the entitlement ends ten minutes after the failure or the transfer, whichever came later",
    withStore(
      Effect.fnUntraced(function* (store) {
        const { claim, payment, paymentId } = yield* taken(store)
        yield* moved(store, paymentId)
        yield* elapse(30_000)
        yield* store.finish(paymentId, claim.id, "failed")
        yield* elapse(entitlementMillis - 1)
        const late = yield* newClaim()
        yield* executionIs(store, payment, late, "granted")
        yield* store.finish(paymentId, late.id, "failed")
        yield* elapse(1)
        yield* executionIs(store, payment, yield* newClaim(), "spent")
        const slow = yield* taken(store)
        yield* store.finish(slow.paymentId, slow.claim.id, "notRun")
        yield* elapse(entitlementMillis * 2)
        yield* moved(store, slow.paymentId)
        yield* elapse(entitlementMillis - 1)
        yield* executionIs(store, slow.payment, yield* newClaim(), "granted")
      })
    )
  )

const unboundIsNotRunAgain = () =>
  law(
    "without a binding nothing is run again once the money has moved",
    withStore(
      Effect.fnUntraced(function* (store) {
        const { claim, payment, paymentId } = yield* taken(store, { bound: false })
        yield* moved(store, paymentId)
        yield* store.finish(paymentId, claim.id, "failed")
        yield* executionIs(store, payment, yield* newClaim(), "spent")
      })
    )
  )

const unboundHasOneRun = () =>
  law(
    "a paid payment without a binding keeps its first run until it reached the handler, and has no other",
    withStore(
      Effect.fnUntraced(function* (store) {
        const { claim, payment, paymentId } = yield* taken(store, { bound: false })
        yield* store.finish(paymentId, claim.id, "notRun")
        yield* moved(store, paymentId)
        const next = yield* newClaim()
        yield* executionIs(store, payment, next, "granted")
        yield* store.finish(paymentId, next.id, "failed")
        yield* executionIs(store, payment, yield* newClaim(), "spent")
      })
    )
  )

const unpaidIsFree = ({ elapse }: Subject) =>
  law(
    "without a transfer a failed run leaves the payment free, bound or not, for as long as it takes",
    withStore(
      Effect.fnUntraced(function* (store) {
        const { claim, payment, paymentId } = yield* taken(store, { bound: false })
        yield* store.finish(paymentId, claim.id, "failed")
        yield* elapse(2 * entitlementMillis)
        for (let run = 0; run <= maximumRuns; run++) {
          const next = yield* newClaim()
          yield* executionIs(store, payment, next, "granted")
          yield* store.finish(paymentId, next.id, "failed")
        }
      })
    )
  )

const notRunDoesNotCount = () =>
  law(
    "a run that never reached the handler does not count",
    withStore(
      Effect.fnUntraced(function* (store) {
        const { claim, payment, paymentId } = yield* taken(store)
        yield* moved(store, paymentId)
        yield* store.finish(paymentId, claim.id, "notRun")
        yield* same("how many runs count", (yield* store.find(paymentId))?.run.count, 0)
        for (let run = 0; run <= maximumRuns; run++) {
          const next = yield* newClaim()
          yield* executionIs(store, payment, next, "granted")
          yield* store.finish(paymentId, next.id, "notRun")
        }
      })
    )
  )

const holderAloneEnds = ({ elapse }: Subject) =>
  law(
    "an end is told by the holder alone, and telling it again changes nothing",
    withStore(
      Effect.fnUntraced(function* (store) {
        const { claim, payment, paymentId } = yield* taken(store)
        yield* moved(store, paymentId)
        const before = yield* store.find(paymentId)
        yield* same("after a stranger's end", yield* store.finish(paymentId, (yield* newClaim()).id, "served"), before)
        const ended = yield* store.finish(paymentId, claim.id, "failed")
        yield* elapse(1_000)
        yield* same("after the same end again", yield* store.finish(paymentId, claim.id, "failed"), ended)
        yield* same("after another end of the same claim", yield* store.finish(paymentId, claim.id, "served"), ended)
        const next = yield* newClaim()
        yield* executionIs(store, payment, next, "granted")
        yield* store.finish(paymentId, claim.id, "served")
        yield* executionIs(store, payment, next, "granted")
        yield* same(
          "an unknown payment",
          yield* store.finish("pay_0000000000000000000000", claim.id, "served"),
          undefined
        )
      })
    )
  )

const changesCompareAndSet = () =>
  law(
    "a state changes only from a state that is named, and of many changes at once one applies",
    withStore(
      Effect.fnUntraced(function* (store) {
        const { paymentId, stored } = yield* taken(store)
        yield* same(
          "a change from another state",
          yield* store.advance(paymentId, { from: ["sent"], to: "final" }),
          undefined
        )
        yield* same("the record after it", yield* store.find(paymentId), stored)
        const race = yield* Effect.forEach(
          Array.from({ length: 50 }),
          () => store.advance(paymentId, { from: ["accepted"], to: "planned" }),
          { concurrency: "unbounded" }
        )
        yield* same("how many applied", race.filter((one) => one !== undefined).length, 1)
        const nobody = "pay_0000000000000000000000"
        yield* same("an unknown payment", yield* store.advance(nobody, { from: ["accepted"], to: "sent" }), undefined)
      })
    )
  )

const bytesAreKept = () =>
  law(
    "planned bytes are kept exactly, and stay when a later change says nothing of them",
    withStore(
      Effect.fnUntraced(function* (store) {
        const { paymentId } = yield* taken(store)
        yield* moved(store, paymentId)
        const found = yield* store.find(paymentId)
        yield* same("the plan", found?.prepared, prepared(paymentId))
        yield* same("the transaction", found?.transaction, prepared(paymentId).transaction)
        const slotless = { ...prepared(paymentId), slot: undefined }
        const other = yield* taken(store)
        yield* store.advance(other.paymentId, { from: ["accepted"], to: "planned", prepared: slotless })
        yield* same("a plan without a slot", (yield* store.find(other.paymentId))?.prepared, slotless)
      })
    )
  )

const refusalIsKept = () =>
  law(
    "a refusal is kept, code or reason, detail and words",
    withStore(
      Effect.fnUntraced(function* (store) {
        const { paymentId } = yield* taken(store)
        const refusal = refuse("INSUFFICIENT_BALANCE", "balance_below_amount", "the payer holds 7")
        yield* store.advance(paymentId, { from: ["accepted"], to: "failed", refusal })
        const found = (yield* store.find(paymentId))?.refusal
        yield* same("its type", found?._tag, "PaymentError")
        yield* same("its code", found?._tag === "PaymentError" && found.code, refusal.code)
        yield* same("its detail", found?.detail, refusal.detail)
        yield* same("its words", found?.message, refusal.message)
      })
    )
  )

const historyGrows = ({ elapse }: Subject) =>
  law(
    "the history only grows, with the time of each change and its note",
    withStore(
      Effect.fnUntraced(function* (store) {
        const { claim, payment, paymentId, stored } = yield* taken(store)
        const first = stored.history
        yield* elapse(1_500)
        yield* moved(store, paymentId)
        yield* store.finish(paymentId, claim.id, "failed")
        yield* claimed(store, payment, yield* newClaim())
        yield* store.oweAnswer(paymentId, true)
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
  )

const answerIsOwedOnce = () =>
  law(
    "the note that an answer is owed is given to one alone",
    withStore(
      Effect.fnUntraced(function* (store) {
        const payment = yield* newPayment()
        yield* claimed(store, payment, undefined)
        yield* same("before", yield* store.oweAnswer(payment.paymentId, true), false)
        const answers = yield* Effect.forEach(
          Array.from({ length: 20 }),
          () => store.oweAnswer(payment.paymentId, false),
          { concurrency: "unbounded" }
        )
        yield* same("how many got it", answers.filter((owed) => owed).length, 1)
        yield* same("an unknown payment", yield* store.oweAnswer("pay_0000000000000000000000", true), false)
      })
    )
  )

const flightsReserve = () =>
  law(
    "payments on their way and claimed ones hold their part of the balance; nothing is written for one that does not fit",
    withStore(
      Effect.fnUntraced(function* (store) {
        const { claim, paymentId, stored } = yield* taken(store, { amount: 60n })
        const { payer } = stored.authorization
        const second = yield* newPayment({ payer, amount: 50n })
        const wish = yield* newClaim()
        yield* same("not knowing the balance", yield* store.claim(second, wish, undefined), overdrawn(60n))
        yield* same("with too little", yield* store.claim(second, wish, 109n), overdrawn(60n))
        yield* same("the record", yield* store.find(second.paymentId), undefined)
        yield* moved(store, paymentId)
        yield* store.finish(paymentId, claim.id, "served")
        yield* claimed(store, second, wish, undefined)
      })
    )
  )

const coveredFits = () =>
  law(
    "a balance that covers everything is enough, to the last unit",
    withStore(
      Effect.fnUntraced(function* (store) {
        const { stored } = yield* taken(store, { amount: 60n })
        const second = yield* newPayment({ payer: stored.authorization.payer, amount: 50n })
        yield* claimed(store, second, yield* newClaim(), 110n)
      })
    )
  )

const manyFitAsCovered = () =>
  law(
    "of many payments at once so many are taken as the balance covers",
    withStore(
      Effect.fnUntraced(function* (store) {
        const payer = (yield* newPayment()).authorization.payer
        const payments = yield* Effect.forEach(Array.from({ length: 20 }), () => newPayment({ payer, amount: 10n }))
        const results = yield* Effect.forEach(
          payments,
          (payment) => Effect.flatMap(newClaim(), (claim) => store.claim(payment, claim, 70n)),
          { concurrency: "unbounded" }
        )
        yield* same("how many fit", results.filter(({ _tag }) => _tag === "Claimed").length, 7)
      })
    )
  )

const holdsAreLetGo = ({ elapse }: Subject) =>
  law(
    "what is sent holds its part without a holder; a claim without one lets go, and so does a lapsed lease",
    withStore(
      Effect.fnUntraced(function* (store) {
        const sent = yield* taken(store, { amount: 60n })
        yield* store.advance(sent.paymentId, { from: ["accepted"], to: "planned", prepared: prepared(sent.paymentId) })
        yield* store.finish(sent.paymentId, sent.claim.id, "notRun")
        const { payer } = sent.stored.authorization
        const blocked = yield* newPayment({ payer, amount: 1n })
        yield* same("beside a planned one", yield* store.claim(blocked, yield* newClaim(), undefined), overdrawn(60n))
        yield* store.advance(sent.paymentId, { from: ["planned"], to: "failed" })
        yield* claimed(store, blocked, yield* newClaim(), undefined)
        yield* elapse(leaseMillis)
        yield* claimed(store, yield* newPayment({ payer, amount: 1n }), yield* newClaim(), undefined)
      })
    )
  )

const reservationsAreThePayersOwn = () =>
  law(
    "other payers, and a known payment, are not judged by it",
    withStore(
      Effect.fnUntraced(function* (store) {
        const { claim, payment } = yield* taken(store, { amount: 60n })
        yield* executionIs(store, payment, claim, "granted")
        yield* succeeds("another payer", taken(store))
      })
    )
  )

const overdrawn = (reserved: bigint) => ({ _tag: "Overdrawn", reserved })
