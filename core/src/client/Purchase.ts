/**
 * One purchase, from the reservation to the answer: reserve, sign, write down, send, and send the same authorization again
 * until its outcome is known or its validity has ended. Nothing is signed twice here.
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"

import { Entropy, identifier } from "../platform/Entropy.ts"
import * as Binding from "../protocol/Binding.ts"
import * as PaymentId from "../protocol/PaymentId.ts"
import { defaultMaxTimeoutSeconds } from "../protocol/PaymentRequirements.ts"
import { SettlementPending } from "../protocol/ProtocolError.ts"
import type { Settlement } from "../protocol/Settlement.ts"
import { SigningFailed, type SignedPayment } from "../scheme/SchemeClient.ts"
import type { HeaderFields, PayerDialect } from "../wire/pontage/Dialect.ts"
import type { JournalEntry } from "./JournalEntry.ts"
import * as PaidAnswer from "./PaidAnswer.ts"
import type { PayableRequest } from "./PayableRequest.ts"
import type { PaymentJournal } from "./PaymentJournal.ts"
import { spendingsOf, type Allowed } from "./PaymentPolicy.ts"

/** What all purchases of a client share. */
export interface PurchaseContext {
  readonly dialects: ReadonlyArray<PayerDialect>
  readonly journal: PaymentJournal["Service"]
  /** Told once of each payment, when the server first says that the money has moved. */
  readonly onPayment: (receipt: Settlement) => Effect.Effect<void>
  /** Told of what went wrong beside a payment and did not stop it. */
  readonly onTrouble: (error: unknown) => Effect.Effect<void>
}

/** What is bought, and how it is paid. */
export interface PurchaseOrder extends Allowed {
  /** The name of the logical request. */
  readonly name: string
  /** The headers that carry what the scheme signed. */
  readonly paymentHeaders: (payload: SignedPayment["payload"]) => HeaderFields
}

/** The longest that an authorization is signed for, in seconds. */
export const maximumValiditySeconds = 120

/**
 * The longest headers that a payment is sent in, in characters, names and values together: twice what Node's servers take
 * of all headers where nothing is said.
 */
export const maximumHeaderLength = 32 * 1024

/**
 * How long a server owes the answer of a run that failed after the payment, in milliseconds (apps/docs/protocol.md#d16-entitlement).
 */
export const entitlement = 10 * 60 * 1000

/**
 * How long to wait where the server does not say, in seconds: doubling from the first to the last. A server that begins again
 * takes seconds, and its buyers should not wait much longer.
 */
const shortestWait = 1
const longestOwnWait = 4
/** The longest wait that a server's word is taken for, in seconds. */
const longestWait = 30
/** The last time to ask, before the end of the validity, in milliseconds. */
const lastAsk = 1_000

/**
 * Buys what the logical request asks for: reserves, signs, writes down and sends. Where it ends before anything was sent,
 * it leaves nothing behind.
 */
export const buy = (context: PurchaseContext, request: PayableRequest, order: PurchaseOrder) =>
  Effect.uninterruptibleMask((restore) => bought(context, request, order, restore))

const bought = Effect.fnUntraced(function* (
  context: PurchaseContext,
  request: PayableRequest,
  order: PurchaseOrder,
  restore: <A, E, R>(interruptible: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
) {
  const reserved = yield* draft(order)
  yield* context.journal.reserve(reserved, order.exceeds)
  const drop = Effect.andThen(record(context, { ...reserved, state: "released" }), context.journal.letGo(reserved.id))
  const entry = yield* restore(authorise(context, order, reserved)).pipe(Effect.onError(() => drop))
  return yield* restore(present(context, request, entry)).pipe(
    Effect.catchTag("ServedElsewhere", ({ refusal }) => Effect.fail(refusal)),
    Effect.onExit(() => context.journal.letGo(entry.id))
  )
})

const draft = Effect.fnUntraced(function* ({ name, quote }: PurchaseOrder) {
  const { amount, asset, method, requirements, url } = quote
  const at = yield* Clock.currentTimeMillis
  const validity = Math.min(requirements.maxTimeoutSeconds ?? defaultMaxTimeoutSeconds, maximumValiditySeconds)
  const entry: JournalEntry = {
    id: identifier(yield* Entropy),
    state: "reserved",
    request: name,
    method,
    url,
    host: new URL(url).host,
    network: asset.network,
    asset: asset.address,
    payTo: requirements.payTo,
    amount: amount.toString(),
    spendings: spendingsOf(quote).map(({ digits, scale, unit }) => ({ unit, digits: digits.toString(), scale })),
    at,
    validBefore: Math.floor(at / 1000) + validity
  }
  return entry
})

/** Signs for the reservation and writes down what was signed. */
const authorise = Effect.fnUntraced(function* (context: PurchaseContext, order: PurchaseOrder, reserved: JournalEntry) {
  const { asset, requirements } = order.quote
  const challenge = requirements.extra?.["challenge"]
  const binding = typeof challenge === "string" ? yield* Binding.make(challenge) : undefined
  const validBefore = reserved.validBefore
  const signed = yield* order.schemeClient.sign({ requirements, asset, validAfter: 0, validBefore, binding }).pipe(
    Effect.timeoutOrElse({
      duration: validBefore * 1000 - reserved.at,
      orElse: () => Effect.fail(new SigningFailed({ message: tooLate }))
    })
  )
  // A machine that slept does not time out: what it wakes up with is too late all the same.
  if ((yield* Clock.currentTimeMillis) >= validBefore * 1000) return yield* new SigningFailed({ message: tooLate })
  const paymentId = yield* PaymentId.make(asset.network, { asset: asset.address, ...signed })
  const headers = yield* bounded(order.paymentHeaders(signed.payload))
  const entry: JournalEntry = { ...reserved, state: "pending", paymentId, payer: signed.payer, headers }
  yield* context.journal.write(entry)
  return entry
})

/**
 * The headers, where a server will take them. Some of their text is the server's own, echoed from its offer, and every
 * journal keeps them until the purchase is over.
 */
const bounded = (headers: HeaderFields) => {
  const length = Object.entries(headers).reduce((sum, [name, value]) => sum + name.length + value.length, 0)
  if (length <= maximumHeaderLength) return Effect.succeed(headers)
  const message = `the payment makes headers of ${length} characters, and at most ${maximumHeaderLength} are sent; nothing was sent: ask the server for a shorter offer`
  return Effect.fail(new SigningFailed({ message }))
}

const tooLate =
  "the wallet had not signed when what it was to sign ran out; nothing was sent: ask again and sign sooner"

/**
 * Sends an authorization of an earlier call again. What its server says no to is told to the caller, also when its validity
 * has ended: a server that has forgotten it says the same as one that never took it. The next call buys anew. `undefined` where
 * another tab was served for it in the meantime.
 */
export const resume = (context: PurchaseContext, request: PayableRequest, entry: JournalEntry) =>
  Effect.catchTag(present(context, request, entry), "ServedElsewhere", () => Effect.succeed(undefined))

/**
 * Sends the payment of a request that was refused with another request of the same route, which it becomes the payment of.
 * `undefined` where the server's first word is that it pays for nothing more, and then it is over: nothing of it is in doubt.
 */
export const reuse = Effect.fnUntraced(function* (
  context: PurchaseContext,
  request: PayableRequest,
  refused: JournalEntry,
  purpose: Pick<JournalEntry, "request" | "url">
) {
  const { reuse: _, ...rest } = refused
  const entry: JournalEntry = { ...rest, ...purpose }
  yield* context.journal.write(entry)
  return yield* Effect.catchTag(present(context, request, entry, true), "ServedElsewhere", () => Effect.undefined)
})

/** The refusal of a payment that, as the journal says by now, has done its work for another tab. */
class ServedElsewhere extends Data.TaggedError("ServedElsewhere")<{ readonly refusal: PaidAnswer.RefusalError }> {}

/**
 * Sends the authorization until there is an answer, a refusal, or no more time: its validity is over by the clock, or so
 * much was waited that a clock set back in the meantime is no reason to go on.
 */
const present = Effect.fnUntraced(function* (
  context: PurchaseContext,
  request: PayableRequest,
  entry: JournalEntry,
  isReused = false
) {
  const until = isReused ? (entry.owedUntil ?? 0) : entry.validBefore * 1000
  let waited = 0
  for (let attempt = 0; ; attempt++) {
    const answer = yield* ask(context, request, entry)
    if (answer._tag === "Answered") {
      yield* answered(context, entry, answer)
      return answer.response
    }
    if (answer._tag === "Refused") {
      yield* refused(context, entry, answer.error)
      if (!isReused) return yield* Effect.fail(answer.error)
      yield* record(context, { ...entry, state: "settled" })
      return yield* attempt === 0 ? new ServedElsewhere({ refusal: answer.error }) : Effect.fail(answer.error)
    }
    const now = yield* Clock.currentTimeMillis
    const left = Math.min(until - lastAsk - now, maximumValiditySeconds * 1000 - waited)
    if (left <= 0) return yield* Effect.fail(pending(entry, answer))
    const seconds = Math.max(shortestWait, answer.retryAfter ?? Math.min(2 ** Math.min(attempt, 5), longestOwnWait))
    // What is left of the time is waited too: an answer may come until its end.
    const pause = Math.min(seconds * 1000, longestWait * 1000, left)
    waited += pause
    yield* Effect.sleep(pause)
  }
})

/**
 * Notes a refusal. It hides nothing that is more certain: a payment that another tab was served for is over, and an owed
 * answer stays owed, until the server says that the payment was used and will give nothing for it any more.
 */
const refused = Effect.fnUntraced(function* (
  context: PurchaseContext,
  entry: JournalEntry,
  refusal: PaidAnswer.RefusalError
) {
  const standing = yield* record(context, { ...entry, state: "refused" })
  if (standing.state === "settled") return yield* new ServedElsewhere({ refusal })
  const isUsed = refusal._tag === "ValidationError" && refusal.reason === "already_used"
  if (standing.state === "owed" && isUsed) yield* record(context, { ...standing, state: "settled" })
})

const ask = (
  { dialects }: PurchaseContext,
  request: PayableRequest,
  entry: JournalEntry
): Effect.Effect<PaidAnswer.PaidAnswer> =>
  request.send(entry.url, entry.headers ?? {}).pipe(
    Effect.flatMap((response) => PaidAnswer.fromResponse(dialects, entry, response)),
    Effect.catch((failure) => Effect.succeed(PaidAnswer.fromNoAnswer(failure)))
  )

/**
 * An answer with a receipt was paid for, and a failure among them is owed again. A refusal (400 to 499) whose receipt says so
 * leaves the payment good for other requests too. An answer without a receipt that is no failure was served all the same; a
 * failure without one says nothing about the money.
 */
const answered = Effect.fnUntraced(function* (
  context: PurchaseContext,
  entry: JournalEntry,
  answer: PaidAnswer.Answered
) {
  const { receipt = entry.receipt, response } = answer
  if (response.status >= 400 && receipt === undefined) return
  const { reuse: _, ...rest } = entry
  const known = receipt === undefined ? rest : { ...rest, receipt }
  yield* record(context, { ...known, ...outcomeOf(entry, answer, yield* Clock.currentTimeMillis) })
  if (receipt !== undefined && entry.receipt === undefined) {
    // What the listener does wrong must not cost the caller the answer that was paid for.
    yield* Effect.catchCause(context.onPayment(receipt), (cause) =>
      Cause.hasInterrupts(cause) ? Effect.void : tell(context, Cause.squash(cause))
    )
  }
})

/** A server's word on how long its payment is good is taken up to the time that ours would be. */
const outcomeOf = (
  entry: JournalEntry,
  { ifRefused, response: { status } }: PaidAnswer.Answered,
  now: number
): Pick<JournalEntry, "state" | "owedUntil" | "reuse"> => {
  const latest = entry.owedUntil ?? now + entitlement
  if (status >= 500) return { state: "owed", owedUntil: latest }
  if (status < 400 || ifRefused === undefined || ifRefused.runs < 1) return { state: "settled" }
  const { routeToken, runs, until } = ifRefused
  return { state: "owed", owedUntil: Math.min(until, latest), reuse: { routeToken, runs } }
}

/**
 * Notes what became known of an authorization that was sent. Where that cannot be written the entry stays as doubtful as
 * it was, which is the safe side, and the answer is not lost over it.
 */
const record = (context: PurchaseContext, entry: JournalEntry) =>
  Effect.catch(context.journal.write(entry), (error) => Effect.as(tell(context, error), entry))

/** Whoever is told of trouble makes none. */
const tell = ({ onTrouble }: PurchaseContext, error: unknown) => Effect.catchCause(onTrouble(error), () => Effect.void)

const pending = ({ host, paymentId = "" }: JournalEntry, { said, status = "accepted" }: PaidAnswer.Unknown) =>
  new SettlementPending({
    paymentId,
    status,
    message: `the outcome of payment ${paymentId} to ${host} is not known yet (last: ${said}); nothing else was signed. Ask for the same thing again later: the same payment is sent again`
  })
