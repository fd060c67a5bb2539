/**
 * Top-ups: a payer's own money goes to the network where a purchase needs it, by one signature and without coin. The journal has it
 * before it is sent, and while it is under way no other one is signed for the same account and asset.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

import { Entropy, identifier } from "../../platform/Entropy.ts"
import * as PaymentId from "../../protocol/PaymentId.ts"
import { PaymentRequirements } from "../../protocol/PaymentRequirements.ts"
import { SettlementPending } from "../../protocol/ProtocolError.ts"
import type { SchemeClient, SigningFailed } from "../../scheme/SchemeClient.ts"
import type { TopUpObservation, TopUpSource } from "../../scheme/TopUpSource.ts"
import type { JournalEntry } from "../JournalEntry.ts"
import { decline, type PaymentDeclined } from "../PaymentDeclined.ts"
import type { JournalUnavailable, PaymentJournal } from "../PaymentJournal.ts"
import {
  type Judged,
  type OpenTopUp,
  type PaymentPolicy,
  type Quote,
  spendingsOf,
  type WantedTopUp
} from "../PaymentPolicy.ts"
import { inTime, maximumValiditySeconds } from "../Purchase.ts"
import { PaymentRefused, type RefusalError } from "../PurchaseResponse.ts"
import * as SharedAnswers from "./SharedAnswers.ts"
import * as ToppedPurchase from "./ToppedPurchase.ts"
import * as TopUpAccount from "./TopUpAccount.ts"
import * as TopUpPlan from "./TopUpPlan.ts"

/** Services of the client. */
export interface TopUpContext {
  readonly journal: PaymentJournal["Service"]
  readonly policy: PaymentPolicy
  readonly confirm: (quote: Quote) => Effect.Effect<boolean>
  /** Whether purchases may make top-ups. */
  readonly mayTopUp: boolean
}

/** A top-up that has arrived. Amounts are in the smallest unit. */
export interface TopUpReceipt {
  readonly paymentId: string
  readonly from: string
  readonly to: string
  /** The asset that arrived, and its amount. */
  readonly asset: string
  readonly amount: bigint
  readonly fee: bigint
  /** The transactions on both networks. */
  readonly departed: string
  readonly arrived: string
  /** Whether it is one that was under way already, so that nothing was signed now. */
  readonly isResumed: boolean
}

/** The failures of a top-up. */
export type TopUpFailure = PaymentDeclined | SigningFailed | JournalUnavailable | RefusalError | SettlementPending

/** The top-ups of a client. A client brings them along, so that a bundle without them holds none of this. */
export interface TopUps {
  /** The reason, for people, why a scheme client cannot pay with what is brought: it pays from another account. */
  readonly objection: (schemeClient: SchemeClient) => string | undefined
  /**
   * Keeps the options that can be paid with what the account has; if there are none, those that a top-up makes payable. With `agreed`,
   * the quote of a top-up that has arrived, those that it was made for, or that need no other one.
   */
  readonly judge: (
    context: TopUpContext,
    judged: Judged,
    agreed: Quote | undefined
  ) => Effect.Effect<Judged, JournalUnavailable>
  /** Makes the planned top-up of an option, or waits for the one that is under way, and then requests the resource again. */
  readonly bring: <Demand, Failure>(
    context: TopUpContext,
    purchase: ToppedPurchase.ToppedPurchase<Demand, Failure>
  ) => Effect.Effect<ToppedPurchase.Renewed<Demand>, TopUpFailure | Failure>
  /** Makes a top-up of its own, once it is confirmed. One that is under way is waited for first; if it is of the same amount, it is this one. */
  readonly order: (context: TopUpContext, order: TopUpPlan.TopUpOrder) => Effect.Effect<TopUpReceipt, TopUpFailure>
}

/** Makes the top-ups of a source. */
export const make = (source: TopUpSource): TopUps => ({
  objection: (schemeClient) => TopUpAccount.objection(source, schemeClient),
  judge: (context, judged, agreed) => {
    if (agreed === undefined) return judge(source, context, judged)
    const fitting = ToppedPurchase.agreedOn(judged, agreed)
    return fitting === undefined
      ? Effect.map(judge(source, context, judged), ToppedPurchase.withoutAnother)
      : Effect.succeed(fitting)
  },
  bring: (context, purchase) => {
    const { quote, topUp } = purchase
    return Effect.flatMap(bring(source, context, topUp), (receipt) =>
      ToppedPurchase.renewed(purchase, topUp._tag === "Wanted" && receipt !== undefined ? quote : undefined)
    )
  },
  order: (context, wanted) => ordered(source, context, wanted)
})

const judge = (source: TopUpSource, context: TopUpContext, judged: Judged) => {
  const names = new Set(judged.allowed.map(({ quote }) => TopUpPlan.nameOf(source, quote.asset)))
  return Effect.andThen(
    Effect.forEach(names, (name) => closed(source, context, name), { discard: true }),
    TopUpPlan.judge(SharedAnswers.of(source), context, judged, context.mayTopUp)
  )
}

/** Writes the end of a top-up that has arrived, or come to nothing, while no call followed it. */
const closed = Effect.fnUntraced(function* (source: TopUpSource, { journal }: TopUpContext, name: string) {
  const look = Effect.fnUntraced(function* (entry: JournalEntry) {
    const signed = Result.getOrUndefined(decode(entry.headers?.[field]))
    if (signed === undefined) return
    const { payload, requirements } = signed
    const seen = yield* Effect.result(source.observe(payload, requirements, entry.paymentId ?? ""))
    if (Result.isSuccess(seen)) yield* concluded(journal, entry, seen.success)
  })
  if ((yield* journal.open(name))?.state !== "pending") return
  yield* Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      const entry = yield* restore(journal.adopt(name))
      if (entry !== undefined) yield* Effect.onExit(restore(look(entry)), () => journal.letGo(entry.id))
    })
  )
})

/** Writes the end of a top-up, if it is one. */
const concluded = (journal: PaymentJournal["Service"], entry: JournalEntry, seen: Seen | TopUpObservation) => {
  if (seen._tag === "Dead") return journal.write({ ...entry, state: "released" })
  if (seen._tag !== "Arrived") return Effect.succeed(entry)
  return journal.write({ ...entry, state: "settled", receipt: receiptOf(entry, seen.departed) })
}

const ordered = Effect.fnUntraced(function* (
  source: TopUpSource,
  context: TopUpContext,
  wanted: TopUpPlan.TopUpOrder
): Effect.fn.Return<TopUpReceipt, TopUpFailure> {
  while (true) {
    const { plan, quote } = yield* TopUpPlan.order(source, context, wanted)
    if (plan._tag === "Wanted" && !(yield* context.confirm(quote))) {
      return yield* decline("confirm_refused", `the top-up of ${quote.price} was quoted, and confirm said no`)
    }
    const receipt = yield* bring(source, context, plan)
    const isResumed = plan._tag === "Underway"
    // An earlier one of this amount is this order, repeated after a crash; one of another amount is over now, and another is planned.
    const isOwn = !isResumed || quote.topUp?.amount === quote.amount
    if (receipt !== undefined && isOwn) return { ...receipt, isResumed }
  }
})

/** `undefined` if the top-up has come to nothing, or belongs to another call that was quicker: then the caller plans anew. */
const bring = (source: TopUpSource, context: TopUpContext, plan: OpenTopUp) =>
  plan._tag === "Underway"
    ? awaited(source, context, TopUpPlan.nameOf(source, plan.asset))
    : Effect.uninterruptibleMask((restore) => sent(source, context, plan, restore))

type Restore = <A, E, R>(interruptible: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

/** Reserves, signs, writes and sends a top-up; it leaves nothing behind if it fails before it is signed. */
const sent = Effect.fnUntraced(function* (
  source: TopUpSource,
  context: TopUpContext,
  plan: WantedTopUp,
  restore: Restore
): Effect.fn.Return<TopUpReceipt | undefined, TopUpFailure> {
  const { journal } = context
  const reserved = yield* draft(source, plan)
  const letGo = journal.letGo(reserved.id)
  // One step: another call, tab or process may have begun one since this was planned.
  const isReserved = yield* Effect.onError(
    journal.draw(reserved.id, ({ open, spent }) => {
      if (open(reserved.request, reserved.at) !== undefined) return Result.succeed([false, []] as const)
      const declined = plan.exceeds(spent)
      return declined === undefined ? Result.succeed([true, [reserved]] as const) : Result.fail(declined)
    }),
    () => letGo
  )
  if (!isReserved) {
    yield* letGo
    yield* restore(awaited(source, context, reserved.request))
    // The other call has brought it for its own purchase; the caller looks at the balance again.
    return undefined
  }
  const drop = Effect.andThen(Effect.ignore(journal.write({ ...reserved, state: "released" })), letGo)
  const entry = yield* Effect.onError(restore(signed(source, context, plan, reserved)), () => drop)
  const receipt = yield* Effect.onExit(restore(followed(source, context, entry)), () => letGo)
  if (receipt !== undefined) return receipt
  const { paymentId = "" } = entry
  const message = `${source.facilitator} did not send the top-up ${paymentId} before its authorization ended; nothing has moved: repeat the request for another quote`
  return yield* new PaymentRefused({ paymentId, message })
})

const draft = Effect.fnUntraced(function* (source: TopUpSource, { amount, fee, offer }: WantedTopUp) {
  const { from, requirements, to } = offer
  const at = yield* Clock.currentTimeMillis
  const url = `${source.facilitator}/settle`
  const { maxAmountRequired, payTo } = requirements(amount)
  const entry: JournalEntry = {
    id: identifier(yield* Entropy),
    state: "reserved",
    request: TopUpPlan.nameOf(source, to),
    method: "POST",
    url,
    host: new URL(url).host,
    network: from.network,
    asset: from.address,
    payTo,
    amount: maxAmountRequired,
    spendings: spendingsOf(fee).map(({ digits, scale, unit }) => ({ unit, digits: digits.toString(), scale })),
    topUp: amount.toString(),
    at,
    validBefore: Math.floor(at / 1000) + maximumValiditySeconds
  }
  return entry
})

/** The header under which a journal keeps a signed top-up: it forgets headers when the payment is over, and lists payments without them. */
const field = "top-up"

const signed = Effect.fnUntraced(function* (
  { schemeClient }: TopUpSource,
  { journal }: TopUpContext,
  { amount, offer }: WantedTopUp,
  reserved: JournalEntry
) {
  const { from, quotedUntil } = offer
  const { validBefore } = reserved
  const requirements = offer.requirements(amount)
  if (quotedUntil * 1000 <= (yield* Clock.currentTimeMillis)) return yield* TopUpPlan.stale
  const signing = schemeClient.sign({ requirements, asset: from, validAfter: 0, validBefore, binding: undefined })
  const { payload, ...authorization } = yield* inTime(signing, validBefore)
  const paymentId = yield* PaymentId.make(from.network, { asset: from.address, ...authorization })
  const headers = { [field]: JSON.stringify({ payload, requirements }) }
  const entry: JournalEntry = { ...reserved, state: "pending", paymentId, payer: authorization.payer, headers }
  yield* journal.write(entry)
  return entry
})

/** Waits for the top-up of this name that is under way, whichever call, tab or process follows it. */
const awaited = Effect.fnUntraced(function* (
  source: TopUpSource,
  context: TopUpContext,
  name: string
): Effect.fn.Return<TopUpReceipt | undefined, TopUpFailure> {
  const { journal } = context
  const wait = yield* waiting(source)
  while (true) {
    const found = yield* Effect.uninterruptibleMask((restore) =>
      Effect.gen(function* () {
        const entry = yield* restore(journal.adopt(name))
        if (entry === undefined) return nobody
        return yield* Effect.onExit(restore(followed(source, context, entry)), () => journal.letGo(entry.id))
      })
    )
    if (found !== nobody) return found
    const open = yield* journal.open(name)
    if (open === undefined) return undefined
    if (!(yield* wait(pollMillis))) return yield* pendingOf(source, open, "another call follows it")
  }
})

const nobody: unique symbol = Symbol("nobody")

/** Pauses between two looks, in milliseconds: doubling from the first to the last. */
const pollMillis = 1000
const longestPause = 16_000

/** Makes pauses, until the time of a wait is over by the clock, or by their sum where the clock was set back. */
const waiting = Effect.fnUntraced(function* ({ waitMillis }: TopUpSource) {
  const until = (yield* Clock.currentTimeMillis) + waitMillis
  let waited = 0
  return Effect.fnUntraced(function* (pause: number) {
    const left = Math.min(until - (yield* Clock.currentTimeMillis), waitMillis - waited)
    if (left <= 0) return false
    const step = Math.min(pause, left)
    waited += step
    yield* Effect.sleep(step)
    return true
  })
})

/** Sends a signed top-up until it has left, and waits until it has arrived; `undefined` if it can bring nothing any more. */
const followed = Effect.fnUntraced(function* (
  source: TopUpSource,
  { journal }: TopUpContext,
  entry: JournalEntry
): Effect.fn.Return<TopUpReceipt | undefined, TopUpFailure> {
  const { payload, requirements } = yield* signedIn(source, entry)
  const wait = yield* waiting(source)
  for (let pause = pollMillis; ; pause = Math.min(2 * pause, longestPause)) {
    const seen = yield* looked(source, entry, { payload, requirements })
    yield* concluded(journal, entry, seen)
    if (seen._tag === "Arrived") return arrival(entry, seen)
    if (seen._tag === "Dead") return undefined
    if (!(yield* wait(pause))) return yield* pendingOf(source, entry, seen.reason)
  }
})

type Seen = Exclude<TopUpObservation, { readonly _tag: "Unsent" | "Underway" }> | { _tag: "Waiting"; reason: string }

/** One look at both networks. A top-up that has not left is sent again; a node or a facilitator that is silent is asked again later. */
const looked = Effect.fnUntraced(function* (
  source: TopUpSource,
  { paymentId = "" }: JournalEntry,
  { payload, requirements }: typeof SignedTopUp.Type
): Effect.fn.Return<Seen, RefusalError> {
  const seen = yield* source
    .observe(payload, requirements, paymentId)
    .pipe(Effect.catch(({ message }) => Effect.succeed({ _tag: "Waiting", reason: message } as const)))
  if (seen._tag === "Underway") return { _tag: "Waiting", reason: `it left by ${seen.transaction}` }
  if (seen._tag !== "Unsent") return seen
  const submitted = yield* Effect.result(source.submit(payload, requirements))
  if (Result.isSuccess(submitted)) return { _tag: "Waiting", reason: "the facilitator has sent it" }
  const { failure } = submitted
  // The entry stays: a refused authorization is good until it ends, whatever the facilitator says.
  if (failure._tag === "PaymentError" || failure._tag === "ValidationError") return yield* Effect.fail(failure)
  return { _tag: "Waiting", reason: failure.message }
})

const SignedTopUp = Schema.Struct({ payload: Schema.Json, requirements: PaymentRequirements })

const decode = Schema.decodeUnknownResult(Schema.fromJsonString(SignedTopUp))

const signedIn = (source: TopUpSource, entry: JournalEntry) =>
  Effect.mapError(Effect.fromResult(decode(entry.headers?.[field])), () =>
    pendingOf(source, entry, "the journal's own line of it cannot be read")
  )

const receiptOf = ({ amount, network, payer = "", paymentId = "" }: JournalEntry, transaction: string) => ({
  success: true as const,
  transaction,
  network,
  payer,
  amount,
  paymentId
})

const arrival = (
  { amount: total, network, paymentId = "", request }: JournalEntry,
  { amount, departed, transaction }: Extract<TopUpObservation, { readonly _tag: "Arrived" }>
): TopUpReceipt => ({
  paymentId,
  from: network,
  to: TopUpPlan.placeIn(request).network,
  asset: TopUpPlan.placeIn(request).asset,
  amount,
  // Those who carried the money may have taken less than they were allowed to.
  fee: BigInt(total) - amount,
  departed,
  arrived: transaction,
  isResumed: false
})

const pendingOf = ({ facilitator }: TopUpSource, { paymentId = "", request }: JournalEntry, reason: string) =>
  new SettlementPending({
    paymentId,
    status: "accepted",
    message: `the top-up ${paymentId} to ${TopUpPlan.placeIn(request).network} has not arrived yet (last: ${reason}); nothing else was signed. Repeat the request later: it waits for the same top-up. ${facilitator}/payments/${paymentId} says where it is`
  })

export type { TopUpOrder } from "./TopUpPlan.ts"
export type { TopUpObservation, TopUpOffer, TopUpSource } from "../../scheme/TopUpSource.ts"
