/**
 * One purchase, from the reservation to the response: reserve, sign, write, send, and send the same authorization again
 * until its outcome is known or its validity has ended. Nothing is signed twice here.
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"

import { Entropy, identifier } from "../platform/Entropy.ts"
import * as Binding from "../protocol/Binding.ts"
import * as PaymentId from "../protocol/PaymentId.ts"
import { defaultMaxTimeoutSeconds } from "../protocol/PaymentRequirements.ts"
import { SettlementPending } from "../protocol/ProtocolError.ts"
import type { Settlement } from "../protocol/Settlement.ts"
import { SigningFailed, type SignedPayment } from "../scheme/SchemeClient.ts"
import type { HeaderFields, PayerDialect, PaymentTerms } from "../wire/pontage/Dialect.ts"
import type { JournalEntry } from "./JournalEntry.ts"
import type { PayableRequest } from "./PayableRequest.ts"
import type { PaymentJournal } from "./PaymentJournal.ts"
import { spendingsOf, type Allowed, type Quote } from "./PaymentPolicy.ts"
import * as PurchaseResponse from "./PurchaseResponse.ts"

/** Services that all purchases of a client share. */
export interface PurchaseContext {
  readonly dialects: ReadonlyArray<PayerDialect>
  readonly journal: PaymentJournal["Service"]
  /** Confirms or declines a quote before anything is signed. */
  readonly confirm: (quote: Quote) => Effect.Effect<boolean>
  /** Called once for each payment, when the server first says that the money has moved. */
  readonly onPayment: (receipt: Settlement) => Effect.Effect<void>
  /** Called with each failure beside a payment that did not stop it. */
  readonly onTrouble: (error: unknown) => Effect.Effect<void>
}

/** The purchased resource, and how it is paid. */
export interface PurchaseOrder extends Allowed {
  /** The name of the logical request. */
  readonly name: string
  /** The dialect's terms of the option, if it has such. */
  readonly terms: PaymentTerms | undefined
  /** The headers that carry the scheme's signed payload. */
  readonly paymentHeaders: (payload: SignedPayment["payload"]) => HeaderFields
}

/** Maximum validity of an authorization, in seconds. */
export const maximumValiditySeconds = 120

/**
 * Maximum length of a payment's headers, in characters, names and values together: twice the default limit of Node's
 * servers for all headers.
 */
export const maximumHeaderLength = 32 * 1024

/**
 * Milliseconds for which a server owes the response of an execution that failed after the payment
 * (apps/docs/protocol.md#d16-entitlement).
 */
export const entitlement = 10 * 60 * 1000

/**
 * Pauses if the server names none, in seconds: doubling from the first to the last. A restarting server takes seconds,
 * and its buyers should not wait much longer.
 */
const shortestWait = 1
const longestOwnWait = 4
/** Maximum pause that a server may request, in seconds. */
const longestWait = 30
/** Milliseconds before the end of the validity at which the last request is sent. */
const lastRequest = 1_000

/**
 * Buys the resource of the logical request: reserves, signs, writes and sends. If it ends before anything was sent, it
 * leaves nothing behind.
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

/** The reservation of an order: its whole amount, for the time that the offer allows. */
export const draft = Effect.fnUntraced(function* ({ name, quote, terms }: PurchaseOrder) {
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
    validBefore: Math.min(Math.floor(at / 1000) + validity, terms?.validUntil ?? Number.MAX_SAFE_INTEGER)
  }
  return entry
})

/** Signs for the reservation and writes the authorization. */
const authorise = Effect.fnUntraced(function* (context: PurchaseContext, order: PurchaseOrder, reserved: JournalEntry) {
  const { asset, requirements } = order.quote
  const challenge = requirements.extra?.["challenge"]
  const fresh = typeof challenge === "string" ? yield* Binding.make(challenge) : undefined
  const binding = order.terms?.binding ?? fresh
  const { validBefore } = reserved
  const signing = order.schemeClient.sign({ requirements, asset, validAfter: 0, validBefore, binding })
  const signed = yield* inTime(signing, validBefore)
  const paymentId = yield* PaymentId.make(asset.network, { asset: asset.address, ...signed })
  const headers = yield* bounded(order.paymentHeaders(signed.payload))
  const entry: JournalEntry = { ...reserved, state: "pending", paymentId, payer: signed.payer, headers }
  yield* context.journal.write(entry)
  return entry
})

/** A signature, if the wallet makes it before this Unix second. */
export const inTime = Effect.fnUntraced(function* <A>(signing: Effect.Effect<A, SigningFailed>, validBefore: number) {
  const signed = yield* signing.pipe(
    Effect.timeoutOrElse({
      duration: Math.max(validBefore * 1000 - (yield* Clock.currentTimeMillis), 0),
      orElse: () => Effect.fail(new SigningFailed({ message: tooLate }))
    })
  )
  // A machine that slept does not time out: the signature that it wakes up with is still too late.
  if ((yield* Clock.currentTimeMillis) >= validBefore * 1000) return yield* new SigningFailed({ message: tooLate })
  return signed
})

/**
 * The headers, if servers accept their length. Part of their text comes from the server's own offer, and every journal
 * keeps them until the purchase is over.
 */
export const bounded = (headers: HeaderFields) => {
  const length = Object.entries(headers).reduce((sum, [name, value]) => sum + name.length + value.length, 0)
  if (length > 0 && length <= maximumHeaderLength) return Effect.succeed(headers)
  if (length === 0) return Effect.fail(new SigningFailed({ message: uncarried }))
  const message = `the payment makes headers of ${length} characters, and at most ${maximumHeaderLength} are sent; nothing was sent: send the server for a shorter offer`
  return Effect.fail(new SigningFailed({ message }))
}

const uncarried =
  "the wallet signed a payment that this server's protocol cannot carry; nothing was sent: pay with another wallet, or another option"

const tooLate =
  "the wallet did not sign before the authorization expired; nothing was sent: repeat the request and sign sooner"

/**
 * Sends the authorization of an earlier call again. The caller receives the server's refusal, also after the validity
 * has ended: a server that has forgotten the payment says the same as one that never took it. The next call buys anew.
 * `undefined` if another tab was served for it in the meantime.
 */
export const resume = (context: PurchaseContext, request: PayableRequest, entry: JournalEntry) =>
  Effect.catchTag(present(context, request, entry), "ServedElsewhere", () => Effect.succeed(undefined))

/**
 * Sends the payment of a refused request with another request of the same route, which it then belongs to. `undefined`
 * if the server's first response is that it pays for nothing more; then it is over and nothing is in doubt.
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

/** The refusal of a payment that another tab was served for, by the journal. */
class ServedElsewhere extends Data.TaggedError("ServedElsewhere")<{
  readonly refusal: PurchaseResponse.RefusalError
}> {}

/** Sends the authorization until there is a response, a refusal, or no more time, and writes which it was. */
const present = Effect.fnUntraced(function* (
  context: PurchaseContext,
  request: PayableRequest,
  entry: JournalEntry,
  isReused = false
) {
  const until = isReused ? (entry.owedUntil ?? 0) : entry.validBefore * 1000
  const { attempt, meaning } = yield* awaited(context, request, entry, until)
  if (meaning._tag === "NotRefused") {
    return yield* Effect.uninterruptible(
      handedOver(request, Effect.as(recordResponse(context, entry, meaning), meaning.response))
    )
  }
  yield* refused(context, entry, meaning.error)
  if (!isReused) return yield* Effect.fail(meaning.error)
  yield* record(context, { ...entry, state: "settled" })
  return yield* attempt === 0 ? new ServedElsewhere({ refusal: meaning.error }) : Effect.fail(meaning.error)
})

/**
 * Sends the authorization until there is a response, a refusal, or no more time: it is `until` by the clock (Unix
 * milliseconds), or the total wait has reached the maximum validity, so that a clock that was set back cannot prolong it.
 */
export const awaited = Effect.fnUntraced(function* (
  context: PurchaseContext,
  request: PayableRequest,
  entry: JournalEntry,
  until: number
) {
  let waited = 0
  for (let attempt = 0; ; attempt++) {
    const meaning = yield* send(context, request, entry)
    if (meaning._tag !== "Unknown") return { attempt, meaning }
    const now = yield* Clock.currentTimeMillis
    const left = Math.min(until - lastRequest - now, maximumValiditySeconds * 1000 - waited)
    if (left <= 0) return yield* Effect.fail(pending(entry, meaning))
    const seconds = Math.max(shortestWait, meaning.retryAfter ?? Math.min(2 ** Math.min(attempt, 5), longestOwnWait))
    // The remaining time is waited too: a response may come until its end.
    const pause = Math.min(seconds * 1000, longestWait * 1000, left)
    waited += pause
    yield* Effect.sleep(pause)
  }
})

/**
 * Writes a refusal. It hides no more certain state: a payment that another tab was served for is over, and an owed
 * response stays owed, until the server says that the payment was used and gives nothing more for it. A response that broke off was
 * served: whatever is said of its payment now, it is over, and the resource is bought anew.
 */
const refused = Effect.fnUntraced(function* (
  context: PurchaseContext,
  entry: JournalEntry,
  refusal: PurchaseResponse.RefusalError
) {
  const standing = yield* record(context, { ...entry, state: "refused" })
  if (standing.state === "owed" && standing.cut !== undefined) yield* record(context, { ...standing, state: "settled" })
  if (standing.state === "settled" || standing.cut !== undefined) return yield* new ServedElsewhere({ refusal })
  const isUsed = refusal._tag === "ValidationError" && refusal.reason === "already_used"
  if (standing.state === "owed" && isUsed) yield* record(context, { ...standing, state: "settled" })
})

const send = (
  { dialects }: PurchaseContext,
  request: PayableRequest,
  entry: JournalEntry
): Effect.Effect<PurchaseResponse.PurchaseResponse> =>
  request.send(entry.url, entry.headers ?? {}).pipe(
    Effect.flatMap((response) => PurchaseResponse.fromResponse(dialects, entry, response)),
    Effect.catch((failure) => Effect.succeed(PurchaseResponse.fromNoResponse(failure)))
  )

/**
 * Writes a response. One with a receipt was paid for, and a failure among them is owed again. A refusal (400 to 499)
 * whose receipt says so leaves the payment good for other requests too. A response without a receipt that is not a
 * failure was served; a failure without a receipt says nothing about the money.
 */
const recordResponse = Effect.fnUntraced(function* (
  context: PurchaseContext,
  entry: JournalEntry,
  meaning: PurchaseResponse.NotRefused
) {
  const { receipt = entry.receipt, response, signed } = meaning
  if (response.status >= 400 && receipt === undefined) return
  const { reuse: _, ...rest } = entry
  const known = { ...rest, ...(receipt && { receipt }), ...(signed && { signedReceipt: signed }) }
  const outcome = outcomeOf(entry, meaning, yield* Clock.currentTimeMillis)
  yield* record(context, { ...known, ...outcome })
  if (outcome.state === "settled") {
    const services = yield* Effect.context()
    PurchaseResponse.onBreak(response, () => Effect.runPromiseWith(services)(reopened(context, known)))
  }
  if (receipt !== undefined && entry.receipt === undefined) yield* announce(context, receipt)
})

/** Writes that a response broke off: until its entitlement has ended, the payment is sent again. */
const reopened = Effect.fnUntraced(function* (context: PurchaseContext, entry: JournalEntry) {
  const owedUntil = (yield* Clock.currentTimeMillis) + entitlement
  yield* record(context, { ...entry, state: "owed", owedUntil, cut: (entry.cut ?? 0) + 1 })
})

/** Hands the response of a purchase over, also to a caller who has given up meanwhile: it is paid for, and would be bought anew. */
export const handedOver = <E>({ booked }: PayableRequest, purchase: Effect.Effect<Response, E>) =>
  Effect.tap(purchase, (response) => Effect.sync(() => booked?.(response)))

/**
 * Tells the listener of a payment. A listener's mistake must not cost the caller the paid response. A caller who gives up waits no
 * longer for the listener, which is told all the same.
 */
export const announce = (context: PurchaseContext, receipt: Settlement) =>
  context.onPayment(receipt).pipe(
    Effect.catchCause((cause) =>
      Cause.hasInterrupts(cause) ? Effect.void : reportTrouble(context, Cause.squash(cause))
    ),
    Effect.forkDetach({ startImmediately: true }),
    Effect.flatMap((telling) => Effect.interruptible(Fiber.join(telling))),
    Effect.catchCause(() => Effect.void)
  )

/** The state after a response. The server's validity for the payment is accepted up to our own limit. */
const outcomeOf = (
  entry: JournalEntry,
  { ifRefused, response: { status } }: PurchaseResponse.NotRefused,
  now: number
): Pick<JournalEntry, "state" | "owedUntil" | "reuse"> => {
  const latest = entry.owedUntil ?? now + entitlement
  if (status >= 500) return { state: "owed", owedUntil: latest }
  if (status < 400 || ifRefused === undefined || ifRefused.runs < 1) return { state: "settled" }
  const { routeToken, runs, until } = ifRefused
  return { state: "owed", owedUntil: Math.min(until, latest), reuse: { routeToken, runs } }
}

/**
 * Writes the known state of a sent authorization. If it cannot be written the entry stays in doubt, which is the safe
 * side, and the response is not lost.
 */
const record = (context: PurchaseContext, entry: JournalEntry) =>
  Effect.catch(context.journal.write(entry), (error) => Effect.as(reportTrouble(context, error), entry))

/** Reports a trouble; a failing listener is ignored. */
export const reportTrouble = ({ onTrouble }: PurchaseContext, error: unknown) =>
  Effect.catchCause(onTrouble(error), () => Effect.void)

const pending = ({ host, paymentId = "" }: JournalEntry, { said, status = "accepted" }: PurchaseResponse.Unknown) =>
  new SettlementPending({
    paymentId,
    status,
    message: `the outcome of payment ${paymentId} to ${host} is not known yet (last: ${said}); nothing else was signed. Repeat the request later: it sends the same payment again`
  })
