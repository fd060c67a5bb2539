/**
 * The laws of an operator's payments from its own account (`Payouts`): a recipient is paid once for each payment that is signed, and
 * another one is signed only where the chain can never make the last one. They run on a real chain and check the money itself.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

import type { Asset } from "../../protocol/Asset.ts"
import type { ChainUnavailable } from "../../protocol/ProtocolError.ts"
import type { Push } from "../../scheme/Onward.ts"
import type { PayoutOrder, Payouts, PayoutSigning, PayoutState } from "../../scheme/Payouts.ts"
import type { ObservedPayment, PreparedTransaction, SchemeFacilitator } from "../../scheme/SchemeFacilitator.ts"
import { holds, type Law, LawBroken, same, succeeds } from "../Law.ts"
import { plan, refuses } from "./SchemeTrial.ts"

/** An account that pays, on a chain of its own. */
export interface PayoutTrial {
  /** Owns at least ten times the amount of each law, 10,000 of the smallest unit. */
  readonly payouts: Payouts
  /** The scheme facilitator that settles its payments. */
  readonly facilitator: SchemeFacilitator
  /** An account of the family that owns nothing. */
  readonly recipient: string
  /** The recipient's balance, read from the chain. */
  readonly received: Effect.Effect<bigint>
  /** Includes in a block what was submitted. */
  readonly include: Effect.Effect<void>
  /** Makes the present blocks final. */
  readonly finalise: Effect.Effect<void>
  /** Moves the chain's time past the validity of all payments that are signed, by blocks that may not be final yet. */
  readonly expire: Effect.Effect<void>
  /** Runs an effect whose submissions the node takes and forgets. */
  readonly losing: <A, E>(submission: Effect.Effect<A, E>) => Effect.Effect<A, E>
  /** Takes the account's means away: it cannot make a payment any more. */
  readonly impoverish: Effect.Effect<void>
  /** Runs an effect while the node does not respond. */
  readonly whileDown: <A, E>(effect: Effect.Effect<A, E>) => Effect.Effect<A, E>
}

/** Opens a new chain for each law. */
export class Subject extends Context.Service<Subject, Effect.Effect<PayoutTrial, never, Scope.Scope>>()(
  "@pontage/core/testing/PayoutSubject"
) {}

/** A law of such payments. */
export type PayoutLaw = Law<Subject>

const law = (name: string, body: (trial: PayoutTrial) => Effect.Effect<void, LawBroken>): PayoutLaw => ({
  name,
  effect: Effect.flatMap(Subject, (open) => Effect.scoped(Effect.flatMap(open, body)))
})

const amount = 10_000n
/** More than any account owns. */
const tooMuch = 10n ** 30n
/** Looks until a final state has to be shown. */
const looks = 4

const assetOf = ({ payouts }: PayoutTrial): Effect.Effect<Asset, LawBroken> => {
  const asset = payouts.asset(undefined)
  return asset === undefined
    ? Effect.fail(new LawBroken({ message: "the network's dollar is not known" }))
    : Effect.succeed(asset)
}

const signing = Effect.fnUntraced(function* (
  trial: PayoutTrial,
  order: Partial<PayoutOrder> = {}
): Effect.fn.Return<PayoutSigning, LawBroken> {
  const asset = yield* assetOf(trial)
  return yield* succeeds("sign", trial.payouts.sign({ asset, recipient: trial.recipient, amount, ...order }))
})

const signed = (trial: PayoutTrial): Effect.Effect<Push, LawBroken> =>
  Effect.flatMap(signing(trial), (result) =>
    result._tag === "Signed"
      ? Effect.succeed(result.push)
      : Effect.fail(new LawBroken({ message: `a payment was not signed: ${result.reason}` }))
  )

const stateOf = ({ payouts }: PayoutTrial, push: Push): Effect.Effect<PayoutState, LawBroken> =>
  succeeds("observe", payouts.observe(structuredClone(push)))

const isOpen = (trial: PayoutTrial, push: Push, what: string) =>
  Effect.flatMap(stateOf(trial, push), ({ _tag }) => same(what, _tag, "Open"))

/** The state once the blocks that show it are final, and further ones follow. */
const finalStateOf = Effect.fnUntraced(function* (trial: PayoutTrial, push: Push) {
  for (let look = 1; look < looks; look++) {
    yield* trial.finalise
    const state = yield* stateOf(trial, push)
    if (state._tag === "Over" || (state._tag === "Delivered" && state.final)) return state
  }
  return yield* stateOf(trial, push)
})

/** The conclusion of the facilitator, once further blocks are final if it needs them. */
const concluded = Effect.fnUntraced(function* (trial: PayoutTrial, observed: ObservedPayment) {
  const conclude = succeeds("conclude", trial.facilitator.conclude(observed))
  for (let look = 1; look < looks; look++) {
    const conclusion = yield* conclude
    if (conclusion._tag !== "Pending") return conclusion
    yield* trial.finalise
  }
  return yield* conclude
})

const readPush = ({ facilitator }: PayoutTrial, { payload, requirements }: Push) =>
  succeeds(
    "reading a push",
    facilitator.read({ ...requirements, extra: { ...requirements.extra, delivers: "pay_of_the_laws" } }, payload)
  )

/** Prepares a push as the lane does. */
const prepared = Effect.fnUntraced(function* (
  trial: PayoutTrial,
  push: Push
): Effect.fn.Return<PreparedTransaction, LawBroken> {
  const payment = yield* readPush(trial, push)
  yield* succeeds("verifying a push", trial.facilitator.verify(payment))
  return yield* plan(trial.facilitator, payment)
})

const submit = ({ facilitator }: PayoutTrial, transaction: PreparedTransaction) =>
  succeeds("submit", facilitator.submit(transaction))

const make = Effect.fnUntraced(function* (trial: PayoutTrial, push: Push) {
  const transaction = yield* prepared(trial, push)
  yield* submit(trial, transaction)
  yield* trial.include
  return transaction
})

const isDelivered = Effect.fnUntraced(function* (state: PayoutState) {
  if (state._tag !== "Delivered") {
    return yield* new LawBroken({ message: `a payment that was made is observed as ${state._tag}` })
  }
  yield* same("the amount that arrived", state.amount, amount)
  return state
})

const paysOnce = law(
  "a payment that is sent pays its recipient once, and is delivered as soon as a block has it",
  (trial) =>
    Effect.gen(function* () {
      const push = yield* signed(trial)
      yield* same("whether another signing is another payment", push.once, true)
      yield* isOpen(trial, push, "before it is sent")
      const transaction = yield* prepared(trial, push)
      yield* submit(trial, transaction)
      yield* submit(trial, transaction)
      yield* trial.include
      yield* same("the money that arrived", yield* trial.received, amount)
      yield* isDelivered(yield* stateOf(trial, push))
      const end = yield* isDelivered(yield* finalStateOf(trial, push))
      yield* same("it is final", end.final, true)
      yield* submit(trial, transaction)
      yield* trial.include
      yield* refuses("its bytes again", ["already_used"], trial.facilitator.verify(yield* readPush(trial, push)))
      yield* same("the money that arrived, after all of it", yield* trial.received, amount)
    })
)

const eachIsAnother = law("each signing is another payment, and each pays once", (trial) =>
  Effect.gen(function* () {
    const first = yield* signed(trial)
    const beside = yield* signing(trial)
    if (beside._tag === "Signed") yield* holds("it is another one", differs(first, beside.push))
    else yield* same("what the account does beside it", beside._tag, "Waiting")
    yield* make(trial, first)
    yield* isDelivered(yield* finalStateOf(trial, first))
    const second = beside._tag === "Signed" ? beside.push : yield* signed(trial)
    yield* holds("the next is another one", differs(first, second))
    yield* isOpen(trial, second, "before it is sent")
    yield* make(trial, second)
    const end = yield* isDelivered(yield* finalStateOf(trial, second))
    const before = yield* isDelivered(yield* stateOf(trial, first))
    yield* holds("they have transactions of their own", end.transaction !== before.transaction)
    yield* same("the money that arrived", yield* trial.received, 2n * amount)
  })
)

const differs = (one: Push, other: Push): boolean => JSON.stringify(one.payload) !== JSON.stringify(other.payload)

const isOverInTheEnd = law(
  "a payment is over only once a final block proves that it can never be made, and another one follows",
  (trial) =>
    Effect.gen(function* () {
      const push = yield* signed(trial)
      const transaction = yield* prepared(trial, push)
      yield* trial.losing(submit(trial, transaction))
      yield* trial.include
      yield* isOpen(trial, push, "while it is valid")
      yield* trial.expire
      yield* isOpen(trial, push, "at the first look after its validity")
      const end = yield* finalStateOf(trial, push)
      yield* same("once final blocks are past its validity", end._tag === "Over" && end, {
        _tag: "Over",
        isUnsent: true
      })
      const observed = { payment: yield* readPush(trial, push), since: transaction.head }
      yield* same("what its lane concludes", (yield* concluded(trial, observed))._tag, "Unused")
      yield* submit(trial, transaction)
      yield* trial.include
      yield* same("the money that arrived", yield* trial.received, 0n)
      const next = yield* signed(trial)
      yield* make(trial, next)
      yield* isDelivered(yield* finalStateOf(trial, next))
      yield* same("the last one, after another was made", (yield* finalStateOf(trial, push))._tag, "Over")
      yield* same("the money that arrived, with another one", yield* trial.received, amount)
    })
)

const staysDelivered = law("a payment that was made stays delivered, however long ago that was", (trial) =>
  Effect.gen(function* () {
    const push = yield* signed(trial)
    yield* make(trial, push)
    yield* trial.expire
    const end = yield* isDelivered(yield* finalStateOf(trial, push))
    yield* same("it is final", end.final, true)
    yield* same("the money that arrived", yield* trial.received, amount)
  })
)

const refusesTheImpossible = law("nothing is signed that the chain would not make, and the reason is said", (trial) =>
  Effect.gen(function* () {
    const refusal = Effect.fnUntraced(function* (what: string, order: Partial<PayoutOrder>) {
      const result = yield* signing(trial, order)
      yield* same(what, result._tag, "Refused")
      yield* holds(`${what}: a reason is said`, result._tag === "Refused" && result.reason.length > 10)
    })
    yield* refusal("more than the balance", { amount: tooMuch })
    yield* refusal("a recipient that is no address", { recipient: "nowhere" })
    yield* make(trial, yield* signed(trial))
    yield* trial.finalise
    yield* trial.impoverish
    yield* refusal("an account without means", {})
    yield* same("the money that arrived", yield* trial.received, amount)
  })
)

const silenceIsNoVerdict = law("nothing is said or signed while the node does not respond", (trial) =>
  Effect.gen(function* () {
    const asset = yield* assetOf(trial)
    const push = yield* signed(trial)
    const { payouts, recipient, whileDown } = trial
    const silent = <A>(what: string, effect: Effect.Effect<A, ChainUnavailable>) =>
      whileDown(refuses(what, ["ChainUnavailable"], effect))
    yield* silent("an observation", payouts.observe(push))
    yield* silent("the balance", payouts.balance(asset))
    yield* silent("a signing", payouts.sign({ asset, recipient, amount }))
    yield* isOpen(trial, push, "once it responds again")
  })
)

/** The laws. */
export const all: ReadonlyArray<PayoutLaw> = [
  paysOnce,
  eachIsAnother,
  isOverInTheEnd,
  staysDelivered,
  refusesTheImpossible,
  silenceIsNoVerdict
]
