/**
 * The laws of a scheme whose payments go on to another network: what its `onward` says of a delivery, and how the scheme facilitator of
 * the other network settles a push. They run on real chains, in real time, and check the money itself.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

import type { DeliveryObservation, Departure, Onward, Push } from "../../scheme/Onward.ts"
import type { Payment, SchemeFacilitator } from "../../scheme/SchemeFacilitator.ts"
import { holds, type Law, LawBroken, same, succeeds } from "../Law.ts"
import { included, newPayment, plan, refuses, type SchemeSubject } from "./SchemeTrial.ts"

/** A scheme under these laws, with the bridge between its two chains, or the operator's own stock on the other one. */
export interface OnwardSubject {
  /** The scheme of the first network; its facilitator has `onward`. */
  readonly near: SchemeSubject
  /** The scheme facilitator of the other network, which settles pushes. */
  readonly far: SchemeFacilitator
  /** The balance of the recipient on the other network. */
  readonly received: Effect.Effect<bigint>
  /** The scheme facilitator of the first network as it starts now, after a kill: it keeps nothing from before. */
  readonly restarted: Effect.Effect<SchemeFacilitator, unknown, Scope.Scope>
  /** The bridge attests everything that was sent to it so far, and nothing by itself; for a stock, the payments become final. */
  readonly attest: Effect.Effect<void>
  /** Whether each attempt has a push of its own. A stock's has one name in all attempts: its token pays it once. */
  readonly attemptsDiffer: boolean
  /** Another party delivers the attested message of a payment, or submits its push, which is public. */
  readonly deliver: (payment: Payment, push: Payment) => Effect.Effect<void>
  /** The other chain makes its present blocks final. */
  readonly finalise: Effect.Effect<void>
  /** Runs an effect while the other chain does not respond. */
  readonly whileFarDown: <A, E>(effect: Effect.Effect<A, E>) => Effect.Effect<A, E>
}

/** The scheme that the laws are tried on. */
export class Subject extends Context.Service<Subject, OnwardSubject>()("@pontage/core/testing/OnwardSubject") {}

/** A law of such a scheme. */
export type OnwardLaw = Law<Subject>

const law = (name: string, body: (subject: OnwardSubject) => Effect.Effect<void, LawBroken>): OnwardLaw => ({
  name,
  effect: Effect.flatMap(Subject, body)
})

const onwardOf = ({ near }: OnwardSubject): Effect.Effect<Onward, LawBroken> =>
  near.facilitator.onward === undefined
    ? Effect.fail(new LawBroken({ message: "the scheme facilitator has no onward part" }))
    : Effect.succeed(near.facilitator.onward)

/** A payment that has left its network, and the observation of its delivery by the number of the next push. */
const departed = Effect.fnUntraced(function* (subject: OnwardSubject) {
  const { near } = subject
  const onward = yield* onwardOf(subject)
  const payment = yield* newPayment(near)
  const prepared = yield* plan(near.facilitator, payment)
  yield* succeeds("submit", near.facilitator.submit(prepared))
  const end = yield* included(near.facilitator, [payment], [prepared])
  const [seen] = end.observations
  if (seen?._tag !== "Settled") return yield* new LawBroken({ message: `a payment was not settled: ${seen?._tag}` })
  const { block, transaction } = seen
  const departure = (attempt: number): Departure => ({ payment, transaction, block, attempt })
  return {
    payment,
    prepared,
    departure,
    observe: (attempt = 1) => succeeds("the observation of a delivery", onward.observe(departure(attempt)))
  }
})

type Departed = Effect.Success<ReturnType<typeof departed>>

/** A departed payment whose message is attested, and its push. */
const attested = Effect.fnUntraced(function* (subject: OnwardSubject) {
  const crossing = yield* departed(subject)
  yield* subject.attest
  return { ...crossing, push: yield* pushOf(crossing) }
})

const pushOf = ({ observe }: Pick<Departed, "observe">, attempt = 1): Effect.Effect<Push, LawBroken> =>
  Effect.flatMap(observe(attempt), (seen) =>
    seen._tag === "Ready"
      ? Effect.succeed(seen.push)
      : Effect.fail(new LawBroken({ message: `an attested delivery is not ready to be pushed: ${seen._tag}` }))
  )

/** The push as the scheme facilitator of the other network reads it. */
const readPush = ({ far }: OnwardSubject, { payload, requirements }: Push) =>
  succeeds(
    "reading a push",
    far.read({ ...requirements, extra: { ...requirements.extra, delivers: "pay_of_the_laws" } }, payload)
  )

const isDelivered = Effect.fnUntraced(function* (
  seen: DeliveryObservation,
  amount: bigint
): Effect.fn.Return<DeliveryObservation & { readonly _tag: "Delivered" }, LawBroken> {
  if (seen._tag !== "Delivered") {
    return yield* new LawBroken({ message: `a delivery that was made is observed as ${seen._tag}` })
  }
  yield* same("the amount that arrived", seen.amount, amount)
  return seen
})

const staysUnderway = law("a message that is not attested is under way, and cannot be pushed", (subject) =>
  Effect.gen(function* () {
    const { observe, payment } = yield* departed(subject)
    const onward = yield* onwardOf(subject)
    yield* same("the destination", onward.destination(payment), subject.far.network)
    const before = yield* subject.received
    yield* same("its state", (yield* observe())._tag, "Underway")
    yield* same("the money that arrived", yield* subject.received, before)
  })
)

const departsOnce = law(
  "a payment departs once: its bytes are sent again, and any party presents it again",
  (subject) =>
    Effect.gen(function* () {
      const { near } = subject
      const before = yield* near.received
      const crossing = yield* departed(subject)
      const { payment, prepared } = crossing
      const gain = (yield* near.received) - before
      yield* succeeds("submit again", near.facilitator.submit(prepared))
      yield* subject.attest
      const push = yield* pushOf(crossing)
      yield* refuses("the same payment again", ["already_used"], near.facilitator.verify(payment))
      yield* refuses("the same payment by a stranger", ["already_used"], near.stranger.verify(payment))
      yield* same("the money that departed", (yield* near.received) - before, gain)
      yield* same("its push", yield* pushOf(crossing), push)
    })
)

const resumes = law(
  "a facilitator that starts anew goes on where the one before was killed: by the same push, and with the delivery",
  (subject) =>
    Effect.scoped(
      Effect.gen(function* () {
        const { far, received } = subject
        const crossing = yield* departed(subject)
        const after = Effect.gen(function* () {
          const { onward } = yield* succeeds("a restart", subject.restarted)
          if (onward === undefined) return yield* new LawBroken({ message: "after a restart it has no onward part" })
          return (attempt = 1) => succeeds("its observation", onward.observe(crossing.departure(attempt)))
        })
        yield* same("before its attestation", (yield* (yield* after)())._tag, "Underway")
        yield* subject.attest
        const push = yield* pushOf(crossing)
        yield* same("its push, after a restart", yield* pushOf({ observe: yield* after }), push)
        const read = yield* readPush(subject, push)
        const before = yield* received
        const prepared = yield* plan(far, read)
        yield* succeeds("submit", far.submit(prepared))
        yield* included(far, [read], [prepared])
        const { amount } = read.authorization
        const arrival = yield* isDelivered(yield* (yield* after)(), amount)
        yield* same("its transaction", arrival.transaction, prepared.transaction)
        yield* same("the money that arrived", (yield* received) - before, amount)
        yield* refuses("its push again", ["already_used"], far.verify(read))
      })
    )
)

const pushesAreNamed = law(
  "a push is the same however often it is observed, has the nonce of its attempt, and brings the recipient what arrives",
  (subject) =>
    Effect.gen(function* () {
      const crossing = yield* attested(subject)
      yield* same("the push, observed again", yield* pushOf(crossing), crossing.push)
      const { authorization } = yield* readPush(subject, crossing.push)
      const other = yield* readPush(subject, yield* pushOf(crossing, 2))
      const differs = other.authorization.nonce !== authorization.nonce
      yield* same("whether the next attempt has another nonce", differs, subject.attemptsDiffer)
      yield* same("the network", subject.far.scheme.network(crossing.push.requirements.network), subject.far.network)
      yield* same("its amount, in the next attempt", other.authorization.amount, authorization.amount)
      yield* holds("it is not bound to a request", authorization.binding === undefined)
      const { observe } = yield* attested(subject)
      const second = yield* readPush(subject, yield* pushOf({ observe }))
      yield* holds("another message has another nonce", second.authorization.nonce !== authorization.nonce)
    })
)

const pushDelivers = law("a push delivers once: sent twice, and by another attempt", (subject) =>
  Effect.gen(function* () {
    const { far, received } = subject
    const crossing = yield* attested(subject)
    const before = yield* received
    const push = yield* readPush(subject, crossing.push)
    yield* succeeds("verifying a push", far.verify(push))
    const prepared = structuredClone(yield* plan(far, push))
    yield* same("before it is sent", (yield* crossing.observe())._tag, "Ready")
    yield* succeeds("submit", far.submit(prepared))
    yield* succeeds("submit again", far.submit(prepared))
    const end = yield* included(far, [push], [prepared])
    yield* same("its end", end.observations[0]?._tag, "Settled")
    const { amount } = push.authorization
    const arrival = yield* isDelivered(yield* crossing.observe(), amount)
    yield* same("its transaction", arrival.transaction, prepared.transaction)
    yield* same("it is final before its block is", arrival.final, false)
    yield* same("the money that arrived", (yield* received) - before, amount)
    yield* isDelivered(yield* crossing.observe(2), amount)
    yield* subject.finalise
    yield* same("it is final", (yield* isDelivered(yield* crossing.observe(), amount)).final, true)
    yield* refuses("the same push again", ["already_used"], far.verify(push))
  })
)

const strangersCount = law(
  "a stranger's delivery counts, and its push is refused as used and concluded as settled",
  (subject) =>
    Effect.gen(function* () {
      const { far, received } = subject
      const crossing = yield* attested(subject)
      const before = yield* received
      const push = yield* readPush(subject, crossing.push)
      const { head } = yield* succeeds("chainHead", far.chainHead)
      const prepared = yield* plan(far, push)
      yield* subject.deliver(crossing.payment, push)
      const { amount } = push.authorization
      const arrival = yield* isDelivered(yield* crossing.observe(), amount)
      yield* same("the money that arrived", (yield* received) - before, amount)
      yield* refuses("its push", ["already_used"], far.verify(push))
      // Its own transaction was signed before, and comes too late.
      yield* succeeds("submit", far.submit(prepared))
      const [observation] = (yield* included(far, [push], [prepared])).observations
      yield* same("what the lane sees", observation?._tag, "Settled")
      yield* same("its transaction", observation?._tag === "Settled" && observation.transaction, arrival.transaction)
      const conclusion = yield* succeeds("conclude", far.conclude({ payment: push, since: head.number - 1n }))
      yield* same("its conclusion", conclusion._tag, "Settled")
      yield* same("the money that arrived, after all of it", (yield* received) - before, amount)
    })
)

const silenceIsNoVerdict = law("no observation is made while either chain does not respond", (subject) =>
  Effect.gen(function* () {
    const { departure } = yield* attested(subject)
    const onward = yield* onwardOf(subject)
    const observing = onward.observe(departure(1))
    yield* subject.near.whileDown(refuses("the near chain is down", ["ChainUnavailable"], observing))
    yield* subject.whileFarDown(refuses("the far chain is down", ["ChainUnavailable"], observing))
  })
)

/** The laws. */
export const all: ReadonlyArray<OnwardLaw> = [
  staysUnderway,
  departsOnce,
  pushesAreNamed,
  pushDelivers,
  strangersCount,
  resumes,
  silenceIsNoVerdict
]
