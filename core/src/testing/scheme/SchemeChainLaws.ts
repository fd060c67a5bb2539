/**
 * The laws about a scheme and its chain, below the facilitator: bytes that any party can send at any time, and proofs
 * that are the same for every observer.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

import type { Conclusion, TransactionObservation, Payment, ChainHead } from "../../scheme/SchemeFacilitator.ts"
import { holds, type Law, type LawBroken, same, succeeds } from "../Law.ts"
import {
  concluded,
  failed,
  gaining,
  included,
  transactionIncluded,
  law,
  look,
  newPayment,
  plan,
  prepareAll,
  readPayment,
  refuses,
  type SchemeSubject,
  sign,
  slotOf,
  type Subject
} from "./SchemeTrial.ts"

const everyQuestionFails = law(
  "every question to a chain that cannot be asked fails with ChainUnavailable",
  Effect.fnUntraced(function* (subject) {
    const { facilitator } = subject
    const payment = yield* newPayment(subject)
    const prepared = yield* plan(facilitator, payment)
    const { head } = yield* succeeds("chainHead", facilitator.chainHead)
    const observedPayment = { payment, since: prepared.head }
    const [lane] = facilitator.lanes
    const questions = {
      verify: facilitator.verify(payment),
      balance: facilitator.balance(payment),
      chainHead: facilitator.chainHead,
      submit: facilitator.submit(prepared),
      observe: facilitator.observe([observedPayment], [prepared]),
      conclude: facilitator.conclude(observedPayment),
      isCanonical: facilitator.isCanonical(head),
      signers: facilitator.signers,
      ...(lane !== undefined && {
        "nextSlot in blocks": facilitator.nextSlot(lane, "included"),
        "nextSlot in the pool": facilitator.nextSlot(lane, "known"),
        "nextSlot in final blocks": facilitator.nextSlot(lane, "final")
      })
    }
    for (const [name, question] of Object.entries(questions)) {
      yield* subject.whileDown(refuses<unknown>(name, ["ChainUnavailable"], question))
    }
  })
)

const headIsCanonical = law(
  "the chain's head is part of the chain, a block of another hash is not, and what is final lies not above it",
  Effect.fnUntraced(function* ({ facilitator }) {
    const { final, head } = yield* succeeds("chainHead", facilitator.chainHead)
    yield* same("the head", yield* succeeds("isCanonical", facilitator.isCanonical(head)), true)
    const other = { number: head.number, hash: `${head.hash.slice(0, -4)}${head.hash.endsWith("0000") ? "1" : "0"}000` }
    yield* same("another block", yield* succeeds("isCanonical", facilitator.isCanonical(other)), false)
    yield* holds("the final block is not above the head", final <= head.number)
    yield* holds("the head has a time", head.time > 0)
  })
)

/** A settled payment is named by the transaction that moved its money. */
const isNamed = Effect.fnUntraced(function* (
  { credits }: SchemeSubject,
  seen: Conclusion | TransactionObservation["observations"][number] | undefined,
  submitted: string
) {
  const name = seen?._tag === "Settled" ? seen.transaction : ""
  if (credits === undefined) return yield* same("the transaction", name, submitted)
  yield* holds("the transaction is one that has credited the recipient", (yield* credits).includes(name))
})

const isSettledBy = Effect.fnUntraced(function* (
  subject: SchemeSubject,
  seen: Conclusion | TransactionObservation["observations"][number] | undefined,
  transaction: string,
  external: boolean
) {
  yield* same("the end", seen?._tag, "Settled")
  yield* isNamed(subject, seen, transaction)
  yield* same("whether another party sent it", seen?._tag === "Settled" && seen.external, external)
})

const bytesAreData = law(
  "prepared bytes are plain data: they send nothing by themselves, and settle after a restart, sent twice, once",
  (subject) =>
    gaining(
      subject,
      1n,
      Effect.gen(function* () {
        const { facilitator } = subject
        const { payload } = (yield* sign(subject)).signed
        const first = yield* readPayment(subject, payload)
        const prepared = structuredClone(yield* gaining(subject, 0n, plan(facilitator, first)))
        const unsent = yield* look(facilitator, [first], [prepared])
        yield* same("where it is before sending", unsent.inclusion, undefined)
        yield* same("what is seen before sending", unsent.observations, [{ _tag: "Pending" }])
        const again = yield* readPayment(subject, payload)
        const submission = yield* succeeds("submit", facilitator.submit(prepared))
        yield* same("the node's word", submission._tag, "Accepted")
        yield* succeeds("submit again", facilitator.submit(prepared))
        const end = yield* included(facilitator, [again], [prepared])
        yield* succeeds("submit once more", facilitator.submit(prepared))
        yield* isSettledBy(subject, end.observations[0], prepared.transaction, false)
        yield* same("the included transaction", end.inclusion?.transaction, prepared.transaction)
        const cost = end.inclusion?.cost ?? -1n
        yield* holds("it cost no more than was said", cost >= 0n && cost <= prepared.cost)
      })
    )
)

const looksAgree = law("looking changes nothing, and shows the same every time and to everybody", (subject) =>
  gaining(
    subject,
    1n,
    Effect.gen(function* () {
      const { facilitator, stranger } = subject
      const payment = yield* newPayment(subject)
      const prepared = yield* plan(facilitator, payment)
      yield* succeeds("submit", facilitator.submit(prepared))
      const first = yield* included(facilitator, [payment], [prepared])
      yield* same("a second look", yield* look(facilitator, [payment], [prepared]), first)
      yield* same("another's look", yield* included(stranger, [payment], [prepared]), first)
      const block = first.inclusion?.block ?? { number: -1n, hash: "" }
      yield* same("its block", yield* succeeds("isCanonical", facilitator.isCanonical(block)), true)
    })
  )
)

const strangersTransferIsFound = law(
  "a stranger's transaction after the plan is found, as the payment's own transfer",
  (subject) =>
    gaining(
      subject,
      1n,
      Effect.gen(function* () {
        const { facilitator, stranger } = subject
        const payment = yield* newPayment(subject)
        const chainHead = yield* succeeds("chainHead", facilitator.chainHead)
        const { prepared } = yield* prepareAll(facilitator, [payment], () => chainHead)
        const theirs = yield* submittedBy(subject, payment, chainHead)
        if (facilitator.lanes.length > 0) yield* succeeds("submit", facilitator.submit(prepared))
        const end = yield* included(facilitator, [payment], [prepared])
        yield* isSettledBy(subject, end.observations[0], theirs.transaction, facilitator.lanes.length > 0)
        const conclusion = yield* concluded(subject, payment, prepared.head)
        yield* same("what is concluded", conclusion._tag, "Settled")
        yield* isNamed(subject, conclusion, theirs.transaction)
        yield* same(
          "to the stranger",
          (yield* look(stranger, [payment], [theirs])).inclusion?.transaction,
          theirs.transaction
        )
      })
    )
)

/**
 * If payers sign the transactions themselves, a stranger's transaction is identical to one that is prepared at the same head; by
 * default it is the present one.
 */
const submittedBy = Effect.fnUntraced(function* ({ stranger }: SchemeSubject, payment: Payment, chainHead?: ChainHead) {
  const { prepared: theirs } = yield* prepareAll(stranger, [payment], (now) => chainHead ?? now)
  yield* succeeds("a stranger's submit", stranger.submit(theirs))
  yield* included(stranger, [payment], [theirs])
  return theirs
})

/** Accepted time difference between blocks of one network's chains, in seconds. */
const overlap = 10

const boundIsOwn = law(
  "a stranger's transaction before the plan is a bound payment's own transfer from its intake on, and no other payment's",
  (subject) =>
    gaining(
      subject,
      2n,
      Effect.gen(function* () {
        const { facilitator } = subject
        const lateOf = Effect.fnUntraced(function* (bound: boolean) {
          const payment = yield* newPayment(subject, { bound })
          const { head } = yield* succeeds("chainHead", facilitator.chainHead)
          return { payment, earliest: head.time - overlap, theirs: yield* submittedBy(subject, payment) }
        })
        const own = yield* lateOf(true)
        const unbound = yield* lateOf(false)
        const { head } = yield* succeeds("chainHead", facilitator.chainHead)
        const ends = yield* Effect.forEach(
          [own, { ...own, earliest: head.time + 3_600 }, unbound],
          ({ earliest, payment }) =>
            succeeds("conclude", facilitator.conclude({ payment, since: head.number, earliest }))
        )
        yield* same("the bound one's end", ends[0]?._tag, "Settled")
        yield* isNamed(subject, ends[0], own.theirs.transaction)
        yield* holds("one that was taken in after its transfer is not settled by it", ends[1]?._tag !== "Settled")
        yield* holds("an unbound one is not settled by it", ends[2]?._tag !== "Settled")
        for (const [name, { earliest, payment }, end] of [
          ["a bound one", own, "Settled"],
          ["a bound one that was taken in later", { ...own, earliest: head.time + 3_600 }, "Failed"],
          ["an unbound one", unbound, "Failed"]
        ] as const) {
          const prepared = yield* plan(facilitator, payment)
          yield* succeeds("submit", facilitator.submit(prepared))
          const { observations } =
            end === "Failed"
              ? yield* failed(subject, [payment], [prepared], earliest)
              : yield* included(facilitator, [payment], [prepared], earliest)
          yield* same(`what is seen of ${name}`, observations[0]?._tag, end)
        }
      })
    )
)

const ownIsKnownAgain = law(
  "the facilitator's own transaction is its own, even in a block below the plan, where a reorganisation may put it, and beside bytes of a later slot; a family without lanes has to have seen it before",
  (subject) =>
    gaining(
      subject,
      1n,
      Effect.gen(function* () {
        const { facilitator } = subject
        const seenBefore = facilitator.lanes.length === 0 && ({ settledBefore: true } as const)
        const payment = yield* newPayment(subject, { bound: false })
        const before = (yield* succeeds("chainHead", facilitator.chainHead)).head
        const prepared = yield* plan(facilitator, payment)
        yield* succeeds("submit", facilitator.submit(prepared))
        yield* included(facilitator, [payment], [prepared])
        const { head } = yield* succeeds("chainHead", facilitator.chainHead)
        for (const since of [prepared.head, head.number]) {
          const observedPayment = { payment, since, earliest: before.time - overlap, ...seenBefore }
          const seen = yield* succeeds("conclude", facilitator.conclude(observedPayment))
          yield* isSettledBy(subject, seen, prepared.transaction, false)
        }
        if (facilitator.lanes.length === 0) return
        // A payment whose slot seemed to be lost has other bytes in a later one, and then a reorganisation lets the first ones in.
        const later = yield* plan(facilitator, payment)
        yield* succeeds("submit in a later slot", facilitator.submit(later))
        const { observations } = yield* included(facilitator, [payment], [later], before.time - overlap)
        yield* isSettledBy(subject, observations[0], prepared.transaction, false)
      })
    )
)

const laneIsOwn = law(
  "a transaction of the signer of a payment's lane is the facilitator's own, even if that signer is not configured any more",
  Effect.fnUntraced(function* (subject) {
    const { facilitator, stranger } = subject
    const [lane] = stranger.lanes
    if (lane === undefined || facilitator.lanes.length === 0) return
    const body = Effect.gen(function* () {
      const payment = yield* newPayment(subject, { bound: false })
      const before = (yield* succeeds("chainHead", facilitator.chainHead)).head
      const later = yield* plan(facilitator, payment)
      const earlier = yield* submittedBy(subject, payment)
      const observedPayment = { payment, since: later.head, earliest: before.time - overlap, lane }
      const conclusion = yield* succeeds("conclude", facilitator.conclude(observedPayment))
      yield* isSettledBy(subject, conclusion, earlier.transaction, false)
      yield* succeeds("submit", facilitator.submit(later))
      yield* included(facilitator, [payment], [later])
      const { observations } = yield* succeeds("observe", facilitator.observe([observedPayment], [later]))
      yield* isSettledBy(subject, observations[0], earlier.transaction, false)
    })
    yield* gaining(subject, 1n, body)
  })
)

const attemptsSettleOnce = law(
  "several transactions in one slot settle their payment once, whichever of them lands",
  (subject) =>
    gaining(
      subject,
      1n,
      Effect.gen(function* () {
        const { facilitator } = subject
        const payment = yield* newPayment(subject)
        const slot = yield* slotOf(facilitator)
        const chainHead = yield* succeeds("chainHead", facilitator.chainHead)
        const first = (yield* succeeds("prepare", facilitator.prepare([payment], slot, chainHead))).prepared
        const second = yield* succeeds("prepare again", facilitator.prepare([payment], slot, dearer(chainHead)))
        yield* same("how many payments it takes again", second.count, 1)
        yield* succeeds("submit", facilitator.submit(first))
        yield* succeeds("submit another", facilitator.submit(second.prepared))
        const end = yield* included(facilitator, [payment], [first, second.prepared])
        yield* isSettledBy(subject, end.observations[0], end.inclusion?.transaction ?? "", false)
        const transactions = [first.transaction, second.prepared.transaction]
        yield* holds("one of them is included", transactions.includes(end.inclusion?.transaction ?? ""))
      })
    )
)

const dearer = (chainHead: ChainHead): ChainHead => {
  const { fees } = chainHead
  return fees === undefined
    ? chainHead
    : { ...chainHead, fees: { ...fees, maximum: 2n * fees.maximum + 1n, priority: 2n * fees.priority + 1n } }
}

/** A batch of at most five payments, if the family offers batches. */
const newPayments = Effect.fnUntraced(function* (subject: SchemeSubject) {
  const size = Math.min(5, subject.facilitator.batches?.maximum ?? 1)
  return yield* Effect.forEach(Array.from({ length: size }), () => newPayment(subject))
})

const batchesSettleOnce = law("a batch settles each of its payments once, sent twice", (subject) =>
  Effect.gen(function* () {
    const { facilitator } = subject
    const payments = yield* newPayments(subject)
    if (payments.length < 2) return
    const { count, prepared } = yield* prepareAll(facilitator, payments)
    yield* holds("it takes at least one, and no more than there are", count >= 1 && count <= payments.length)
    const batch = payments.slice(0, count)
    const body = Effect.gen(function* () {
      yield* succeeds("submit", facilitator.submit(prepared))
      yield* succeeds("submit again", facilitator.submit(prepared))
      const { observations } = yield* included(facilitator, batch, [prepared])
      yield* same("how many are seen", observations.length, count)
      for (const seen of observations) yield* isSettledBy(subject, seen, prepared.transaction, false)
    })
    yield* gaining(subject, BigInt(count), body)
  })
)

const batchesAreNoBond = law("an entry of a batch that was used meanwhile does not hinder the others", (subject) =>
  Effect.gen(function* () {
    const { facilitator } = subject
    const payments = yield* newPayments(subject)
    if (payments.length < 2) return
    const { count, prepared } = yield* prepareAll(facilitator, payments)
    const batch = payments.slice(0, count)
    const body = Effect.gen(function* () {
      const [first, ...others] = batch
      if (first === undefined) return
      const theirs = yield* submittedBy(subject, first)
      yield* succeeds("submit", facilitator.submit(prepared))
      const { observations } = yield* included(facilitator, batch, [prepared])
      yield* isSettledBy(subject, observations[0], theirs.transaction, true)
      for (const index of others.keys())
        yield* isSettledBy(subject, observations[index + 1], prepared.transaction, false)
    })
    yield* gaining(subject, BigInt(count), body)
  })
)

const batchesHaveLimits = law("a transaction takes no more payments than the scheme says", (subject) =>
  Effect.gen(function* () {
    const { facilitator } = subject
    const maximum = facilitator.batches?.maximum ?? 1
    if (maximum > 100) return
    const payments = yield* Effect.forEach(Array.from({ length: maximum + 1 }), () => newPayment(subject))
    const { count } = yield* prepareAll(facilitator, payments)
    yield* holds("it takes at least one, and no more than the maximum", count >= 1 && count <= maximum)
  })
)

const batchesHaveCosts = law(
  "a transaction costs no more than it may, and takes the first payment in any case",
  (subject) =>
    Effect.gen(function* () {
      const { facilitator } = subject
      const payments = yield* newPayments(subject)
      const slot = yield* slotOf(facilitator)
      const chainHead = yield* succeeds("chainHead", facilitator.chainHead)
      const preparing = (maximumCost?: bigint) =>
        succeeds("prepare", facilitator.prepare(payments, slot, chainHead, maximumCost))
      const whole = yield* preparing()
      for (const maximumCost of [0n, whole.prepared.cost - 1n, whole.prepared.cost]) {
        const { count, prepared } = yield* preparing(maximumCost)
        yield* holds("it takes at least one, and no more than without", count >= 1 && count <= whole.count)
        yield* holds("it costs no more than it may, or takes one alone", prepared.cost <= maximumCost || count === 1)
      }
      yield* same("what it takes at its cost", (yield* preparing(whole.prepared.cost)).count, whole.count)
      yield* same("what it takes at none", (yield* preparing(0n)).count, 1)
    })
)

const noopMovesNothing = law("a noop uses its slot and moves no money", (subject) =>
  gaining(
    subject,
    0n,
    Effect.gen(function* () {
      const { facilitator } = subject
      const slot = yield* slotOf(facilitator)
      if (slot === undefined) return
      const noop = yield* succeeds("noop", facilitator.noop(slot, yield* succeeds("chainHead", facilitator.chainHead)))
      yield* same("the node's word", (yield* succeeds("submit", facilitator.submit(noop)))._tag, "Accepted")
      const next = yield* succeeds("nextSlot", facilitator.nextSlot(slot.lane, "known"))
      yield* same("the next slot", next, slot.number + 1n)
      const { inclusion: place } = yield* included(facilitator, [], [noop])
      yield* same("the included transaction", place?.transaction, noop.transaction)
      const counted = yield* succeeds("nextSlot", facilitator.nextSlot(slot.lane, "included"))
      const final = yield* succeeds("nextSlot", facilitator.nextSlot(slot.lane, "final"))
      yield* holds("final blocks have no more than all blocks", final <= counted)
      yield* same("the next slot by blocks", counted, slot.number + 1n)
    })
  )
)

/** The time by which earlier laws have advanced the chain's clock ahead of ours, in seconds. */
const aheadOf = ({ head: { time } }: ChainHead): Effect.Effect<number> =>
  Effect.map(Clock.currentTimeMillis, (now) => Math.max(0, time - Math.floor(now / 1000)))

const slotWasGivenUp = law(
  "a payment whose slot went to a noop is pending until its validity is over, and then unused",
  (subject): Effect.Effect<void, LawBroken> =>
    gaining(
      subject,
      0n,
      Effect.gen(function* () {
        const { facilitator } = subject
        const slot = yield* slotOf(facilitator)
        if (slot === undefined) return
        const chainHead = yield* succeeds("chainHead", facilitator.chainHead)
        const payment = yield* newPayment(subject, { validFor: (yield* aheadOf(chainHead)) + 12 })
        const { prepared } = yield* succeeds("prepare", facilitator.prepare([payment], slot, chainHead))
        const noop = yield* succeeds("noop", facilitator.noop(slot, chainHead))
        yield* succeeds("submit", facilitator.submit(noop))
        const attempts = [prepared, noop]
        const observation = yield* transactionIncluded(facilitator, [payment], attempts)
        yield* same("the included transaction", observation.inclusion?.transaction, noop.transaction)
        yield* same("what is said of the payment", observation.observations[0]?._tag, "Pending")
        yield* subject.finalise(payment.authorization.validBefore)
        const seen = yield* look(facilitator, [payment], attempts)
        yield* same("what is said when its validity is over", seen.observations[0]?._tag, "Pending")
        yield* same("its end", (yield* concluded(subject, payment, prepared.head))._tag, "Unused")
      })
    )
)

const unusedIsProven = law(
  "a payment that was never submitted is pending until its validity is over, and then unused",
  (subject): Effect.Effect<void, LawBroken> =>
    gaining(
      subject,
      0n,
      Effect.gen(function* () {
        const { facilitator } = subject
        const chainHead = yield* succeeds("chainHead", facilitator.chainHead)
        const { final, head } = chainHead
        const payment = yield* newPayment(subject, { validFor: (yield* aheadOf(chainHead)) + 5 })
        const early = yield* succeeds("conclude", facilitator.conclude({ payment, since: head.number }))
        yield* same("while it is valid", early._tag, "Pending")
        yield* subject.finalise(payment.authorization.validBefore)
        const late = yield* concluded(subject, payment, head.number)
        yield* same("when its validity is over", late._tag, "Unused")
        yield* holds("the proof is a later block", late._tag === "Unused" && late.at.number >= final)
      })
    )
)

/** The laws about a scheme and its chain. */
export const laws: ReadonlyArray<Law<Subject>> = [
  everyQuestionFails,
  headIsCanonical,
  bytesAreData,
  looksAgree,
  strangersTransferIsFound,
  boundIsOwn,
  ownIsKnownAgain,
  laneIsOwn,
  attemptsSettleOnce,
  slotWasGivenUp,
  batchesSettleOnce,
  batchesAreNoBond,
  batchesHaveLimits,
  batchesHaveCosts,
  noopMovesNothing,
  unusedIsProven
]
