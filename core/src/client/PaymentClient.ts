/**
 * The paying client: the refusal of an unpaid request in, the paid answer out. It knows no framework and no chain; what
 * sends a request comes with the request, what signs is a scheme's client half. Its rules come before every signature and
 * its journal before every paid request.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"

import * as OptionCheck from "../protocol/OptionCheck.ts"
import type { PaymentRequirements } from "../protocol/PaymentRequirements.ts"
import type { Misconfigured, ProtocolError } from "../protocol/ProtocolError.ts"
import * as RouteToken from "../protocol/RouteToken.ts"
import { isDead, type PaymentRecord, type Settlement } from "../protocol/Settlement.ts"
import type { ValidationError } from "../protocol/ValidationError.ts"
import { ClientSchemeRegistry } from "../scheme/ClientSchemeRegistry.ts"
import type { SchemeClient, SigningFailed } from "../scheme/SchemeClient.ts"
import * as AsciiJson from "../wire/http/AsciiJson.ts"
import * as PayerDialects from "../wire/PayerDialects.ts"
import type { PayerDialect, ReadRefusal } from "../wire/pontage/Dialect.ts"
import type { JournalEntry } from "./JournalEntry.ts"
import { isExpired } from "./JournalLedger.ts"
import type { RefusalError } from "./PaidAnswer.ts"
import * as PayableRequest from "./PayableRequest.ts"
import { decline, type PaymentDeclined } from "./PaymentDeclined.ts"
import { PaymentJournal, type JournalUnavailable } from "./PaymentJournal.ts"
import * as PaymentLimits from "./PaymentLimits.ts"
import * as PaymentPolicy from "./PaymentPolicy.ts"
import * as Purchase from "./Purchase.ts"
import * as RefusalBody from "./RefusalBody.ts"

/**
 * Options of a client. None is required: its schemes come from the context (`ClientSchemeRegistry`), and so does its
 * journal.
 */
export interface Options {
  readonly limits?: PaymentLimits.PaymentLimits
  readonly allow?: PaymentPolicy.PaymentAllowances
  /** Picks among the quotes that the rules allow; the first one where nothing is said. `undefined` pays none. */
  readonly choose?: (quotes: ReadonlyArray<PaymentPolicy.Quote>) => PaymentPolicy.Quote | undefined
  /** Says yes or no before anything is signed. */
  readonly confirm?: (quote: PaymentPolicy.Quote) => Effect.Effect<boolean>
  /** Told of each payment once, when the server says that the money has moved. */
  readonly onPayment?: (receipt: Settlement) => Effect.Effect<void>
  /**
   * Told of what went wrong beside a payment and did not stop it: what `onPayment` died of, or a `JournalUnavailable` when
   * an outcome could not be noted. `make` tells nobody where nothing is said; `layer` logs it.
   */
  readonly onTrouble?: (error: unknown) => Effect.Effect<void>
  /**
   * What a facilitator that the payer trusts knows of a payment. It is believed when it says that a payment is dead: that
   * gives its amount back to the limits.
   */
  readonly lookup?: (paymentId: string) => Effect.Effect<PaymentRecord | undefined, ProtocolError>
  /**
   * The wire formats that are understood, in the order of preference: a refusal is read by the first that recognises it.
   * All that this package knows where nothing is said, ours first.
   */
  readonly dialects?: ReadonlyArray<PayerDialect>
}

/** The keys that every payer's options have, with what some of them must be. */
export const keys = {
  limits: OptionCheck.optional(PaymentLimits.check),
  allow: OptionCheck.optional(PaymentPolicy.check),
  dialects: OptionCheck.optional(
    OptionCheck.list(
      OptionCheck.having<PayerDialect>("a payer's dialect, such as protocolPayer", "paymentHeader", "readRefusal")
    )
  )
} as const

const check = OptionCheck.options<Options>({
  ...keys,
  choose: OptionCheck.optional(OptionCheck.callable()),
  confirm: OptionCheck.optional(OptionCheck.callable()),
  onPayment: OptionCheck.optional(OptionCheck.callable()),
  onTrouble: OptionCheck.optional(OptionCheck.callable()),
  lookup: OptionCheck.optional(OptionCheck.callable())
})

/** A refusal that asks for a payment, read. */
export interface Demand {
  /** Where it came from: the URL, and whether it was redirected there. */
  readonly origin: Pick<Response, "url" | "redirected">
  readonly refusal: ReadRefusal
}

/** What a refusal offers: the quotes that would be paid, best first, and why the others would not be. */
export interface Quotation {
  readonly payable: ReadonlyArray<PaymentPolicy.Quote>
  readonly declined: ReadonlyArray<PaymentDeclined>
}

/** What is known of a payment: the journal's entry, and the facilitator's record where there is one to ask. */
export interface PaymentStatus {
  readonly paymentId: string
  readonly entry: JournalEntry | undefined
  readonly record: PaymentRecord | undefined
}

/** Everything that paying can fail with. */
export type PayFailure = PaymentDeclined | SigningFailed | JournalUnavailable | RefusalError | ProtocolError

/** The service. */
export class PaymentClient extends Context.Service<
  PaymentClient,
  {
    /**
     * Reads what the answer to an unpaid request demands; `undefined` where it is no payment request, and then it is
     * untouched and its body unread. Fails with `malformed` for a payment request that cannot be understood.
     */
    readonly demandOf: (response: Response) => Effect.Effect<Demand | undefined, ValidationError>
    /** Pays for a request that was refused and gives the answer to the paid one, whatever its status. */
    readonly pay: (request: PayableRequest.PayableRequest, demand: Demand) => Effect.Effect<Response, PayFailure>
    /** What a refused request would cost; nothing is signed or reserved. */
    readonly quote: (
      request: Pick<PayableRequest.PayableRequest, "method" | "url">,
      demand: Demand
    ) => Effect.Effect<Quotation, PaymentDeclined | JournalUnavailable>
    readonly status: (paymentId: string) => Effect.Effect<PaymentStatus, JournalUnavailable | ProtocolError>
  }
>()("@pontage/core/PaymentClient") {}

/** A client for the schemes of the context, over the journal in the context. Fails where an option is a mistake. */
export const make = Effect.fnUntraced(function* (options: Options) {
  yield* Effect.fromResult(OptionCheck.read(check, options))
  const journal = yield* PaymentJournal
  const { schemes: schemeClients } = yield* ClientSchemeRegistry
  const schemes = schemeClients.map(({ scheme }) => scheme)
  const policy = yield* Effect.fromResult(PaymentPolicy.make(options.limits ?? {}, options.allow ?? {}, schemes))
  const { dialects = PayerDialects.usual } = options
  const context: ClientContext = {
    journal,
    policy,
    schemeClients,
    choose: options.choose ?? (([first]) => first),
    confirm: options.confirm ?? (() => Effect.succeed(true)),
    lookup: options.lookup ?? (() => Effect.succeed(undefined))
  }
  const purchases: Purchase.PurchaseContext = {
    dialects,
    journal,
    onPayment: options.onPayment ?? (() => Effect.void),
    onTrouble: options.onTrouble ?? (() => Effect.void)
  }
  return PaymentClient.of({
    demandOf: (response) => demandOf(dialects, response),
    pay: (request, demand) => pay(context, purchases, request, demand),
    quote: (request, demand) => quote(context, request, demand),
    status: (paymentId) => status(context, paymentId)
  })
})

/** The layer of a client. */
export const layer = (
  options: Options
): Layer.Layer<PaymentClient, Misconfigured, ClientSchemeRegistry | PaymentJournal> =>
  Layer.effect(
    PaymentClient,
    Effect.flatMap(Effect.fromResult(OptionCheck.read(check, options)), (checked) =>
      make({ onTrouble: (error) => Effect.logWarning(error), ...checked })
    )
  )

/** What a purchase is decided with. */
interface ClientContext extends Required<Pick<Options, "choose" | "confirm" | "lookup">> {
  readonly journal: PaymentJournal["Service"]
  readonly policy: PaymentPolicy.PaymentPolicy
  readonly schemeClients: ReadonlyArray<SchemeClient>
}

const demandOf = Effect.fnUntraced(function* (
  dialects: ReadonlyArray<PayerDialect>,
  response: Response
): Effect.fn.Return<Demand | undefined, ValidationError> {
  const refusal = response.status === 402 ? yield* RefusalBody.read(dialects, response) : undefined
  return refusal && { origin: response, refusal: yield* Effect.fromResult(refusal) }
})

const pay = Effect.fnUntraced(function* (
  context: ClientContext,
  purchases: Purchase.PurchaseContext,
  request: PayableRequest.PayableRequest,
  { origin, refusal }: Demand
) {
  const { accepts } = refusal.required
  const target = yield* Effect.fromResult(admitted(context, request, origin))
  const name = yield* PayableRequest.nameOf(request)
  const earlier = yield* resumeEarlier(context, purchases, request, name)
  if (earlier !== undefined) return earlier
  const reused = yield* reuseRefused(context, purchases, request, { accepts, name, target })
  if (reused !== undefined) return reused
  const allowed = yield* Effect.fromResult(
    chosen(context, target, yield* judged(context, request.method, target, accepts))
  )
  if (!(yield* context.confirm(allowed.quote))) {
    return yield* decline("confirm_refused", `${target.host} asks ${allowed.quote.price}, and confirm said no`)
  }
  const index = accepts.indexOf(allowed.quote.requirements)
  const paymentHeaders: Purchase.PurchaseOrder["paymentHeaders"] = (payload) => refusal.paymentHeaders(index, payload)
  return yield* Purchase.buy(purchases, request, { ...allowed, name, paymentHeaders })
})

const quote = Effect.fnUntraced(function* (
  context: ClientContext,
  request: Pick<PayableRequest.PayableRequest, "method" | "url">,
  { origin, refusal }: Demand
) {
  const target = yield* Effect.fromResult(admitted(context, request, origin))
  const { allowed, declined } = yield* judged(context, request.method, target, refusal.required.accepts)
  return { payable: allowed.map(({ quote }) => quote), declined }
})

const status = Effect.fnUntraced(function* (context: ClientContext, paymentId: string) {
  const entry = yield* context.journal.find(paymentId)
  const record = yield* context.lookup(paymentId)
  if (entry !== undefined && record !== undefined) yield* acquit(context, entry, record)
  return { paymentId, entry: yield* context.journal.find(paymentId), record }
})

/** Where a payment may go that a refusal from there asks for. */
const admitted = (
  { policy }: ClientContext,
  request: Pick<PayableRequest.PayableRequest, "method" | "url">,
  origin: Demand["origin"]
): Result.Result<URL, PaymentDeclined> =>
  Result.flatMap(PayableRequest.targetOf(request, origin), (target) => Result.map(policy.admit(target), () => target))

/**
 * The answer to an authorization that an earlier call of the same request left in doubt, or unserved. Several may be left
 * by calls that ran side by side; one is sent at a time.
 */
const resumeEarlier = Effect.fnUntraced(function* (
  context: ClientContext,
  purchases: Purchase.PurchaseContext,
  request: PayableRequest.PayableRequest,
  name: string
) {
  const { journal } = context
  const tried = new Set<string>()
  while (true) {
    const answer = yield* Effect.uninterruptibleMask((restore) =>
      Effect.gen(function* () {
        const entry = yield* restore(journal.adopt(name))
        if (entry === undefined) return none
        // What is dead and yet comes back could not be written down as dead: leave it, or this would never end.
        if (tried.has(entry.id)) return yield* Effect.as(journal.letGo(entry.id), none)
        tried.add(entry.id)
        return yield* Effect.onExit(restore(resumed(context, purchases, request, entry)), () => journal.letGo(entry.id))
      })
    )
    if (answer === none) return undefined
    if (answer !== undefined) return answer
  }
})

const none: unique symbol = Symbol("none")

/** The answer to an entry that is held; `undefined` where it turns out to be over, so that what it bought is bought anew. */
const resumed = Effect.fnUntraced(function* (
  context: ClientContext,
  purchases: Purchase.PurchaseContext,
  request: PayableRequest.PayableRequest,
  entry: JournalEntry
) {
  if (yield* isAcquitted(context, entry)) return undefined
  return yield* entry.reuse === undefined
    ? Purchase.resume(purchases, request, entry)
    : Purchase.reuse(purchases, request, entry, entry)
})

/** A request, and what it is offered for. */
interface Offered {
  readonly name: string
  readonly target: URL
  readonly accepts: ReadonlyArray<PaymentRequirements>
}

/**
 * The answer to a payment that was made for another request of the same route and is still good, because the application
 * has refused that one; `undefined` where there is none, or the server will have it no more.
 */
const reuseRefused = Effect.fnUntraced(function* (
  { schemeClients, journal }: ClientContext,
  purchases: Purchase.PurchaseContext,
  request: PayableRequest.PayableRequest,
  { accepts, name, target }: Offered
) {
  if (!accepts.some(({ extra }) => RouteToken.of(extra) !== undefined)) return undefined
  const fits = (entry: JournalEntry) =>
    new URL(entry.url).origin === target.origin && accepts.some((offer) => covers(schemeClients, entry, offer))
  return yield* Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      const entry = yield* restore(journal.adoptRefused(fits))
      if (entry === undefined) return undefined
      const sending = Purchase.reuse(purchases, request, entry, { request: name, url: target.href })
      return yield* Effect.onExit(restore(sending), () => journal.letGo(entry.id))
    })
  )
})

/** Whether what was paid would pay for this offer: the same route, payee and asset, at no higher price. */
const covers = (
  schemeClients: ReadonlyArray<SchemeClient>,
  entry: JournalEntry,
  offer: PaymentRequirements
): boolean => {
  if (entry.reuse === undefined || RouteToken.of(offer.extra) !== entry.reuse.routeToken) return false
  const schemeClient = Result.getOrUndefined(schemeClientFor(schemeClients, offer))
  const asset = schemeClient?.asset(offer)
  return (
    asset?.network === entry.network &&
    asset.address === entry.asset &&
    offer.payTo === entry.payTo &&
    BigInt(offer.maxAmountRequired) <= BigInt(entry.amount)
  )
}

/** Whether an authorization of unknown outcome, past its validity, is known to the payer's facilitator as dead. */
const isAcquitted = Effect.fnUntraced(function* (context: ClientContext, entry: JournalEntry) {
  if (entry.state !== "pending" || entry.paymentId === undefined) return false
  const record = yield* context.lookup(entry.paymentId).pipe(Effect.catch(() => Effect.succeed(undefined)))
  return record !== undefined && (yield* acquit(context, entry, record))
})

/**
 * Gives an entry's amount back to the limits where it is proven that it costs nothing: the facilitator says that the
 * payment is dead, and what was signed cannot be settled by anybody else any more.
 */
const acquit = Effect.fnUntraced(function* (
  { journal }: ClientContext,
  entry: JournalEntry,
  { status }: PaymentRecord
) {
  const isOpen = entry.state === "pending" || entry.state === "refused"
  if (!isOpen || !isDead(status) || !isExpired(entry, yield* Clock.currentTimeMillis)) return false
  yield* journal.write({ ...entry, state: "released" })
  return true
})

interface Judged {
  readonly allowed: ReadonlyArray<PaymentPolicy.Allowed>
  readonly declined: ReadonlyArray<PaymentDeclined>
}

/** The options that would be paid now, in the offer's order, and why the others would not. */
const judged = Effect.fnUntraced(function* (
  { schemeClients, journal, policy }: ClientContext,
  method: string,
  url: URL,
  accepts: ReadonlyArray<PaymentRequirements>
) {
  const spent = yield* journal.spent
  const allowed: Array<PaymentPolicy.Allowed> = []
  const declined: Array<PaymentDeclined> = []
  for (const requirements of accepts) {
    const result = Result.flatMap(schemeClientFor(schemeClients, requirements), (schemeClient) =>
      policy.judge({ method, url }, requirements, schemeClient)
    )
    const no = Result.isFailure(result) ? result.failure : result.success.exceeds(spent)
    if (no !== undefined) declined.push(no)
    else if (Result.isSuccess(result)) allowed.push(result.success)
  }
  return { allowed, declined } satisfies Judged
})

const schemeClientFor = (
  schemeClients: ReadonlyArray<SchemeClient>,
  { network, scheme }: PaymentRequirements
): Result.Result<SchemeClient, PaymentDeclined> => {
  const schemeClient = schemeClients.find(
    (schemeClient) =>
      schemeClient.scheme.name === scheme && schemeClient.scheme.network(network) === schemeClient.network
  )
  if (schemeClient !== undefined) return Result.succeed(schemeClient)
  return Result.fail(
    decline("no_acceptable_option", `no scheme is configured that pays ${AsciiJson.quoted(scheme)} on ${network}`)
  )
}

const chosen = (
  { choose }: ClientContext,
  { host }: URL,
  { allowed, declined }: Judged
): Result.Result<PaymentPolicy.Allowed, PaymentDeclined> => {
  if (allowed.length === 0) return Result.fail(noneAcceptable(host, declined))
  const wish = choose(allowed.map(({ quote }) => quote))
  const found = allowed.find(({ quote }) => quote === wish)
  return found === undefined
    ? Result.fail(decline("no_acceptable_option", `choose picked none of the ${allowed.length} options of ${host}`))
    : Result.succeed(found)
}

/** One rule that said no to what could have been signed is the reason; otherwise there was nothing to sign. */
const noneAcceptable = (host: string, declined: ReadonlyArray<PaymentDeclined>): PaymentDeclined => {
  const reason = declined.find(({ rule }) => rule !== "no_acceptable_option") ?? declined[0]
  if (reason === undefined) return decline("no_acceptable_option", `${host} asks for a payment and offers no option`)
  if (declined.length === 1) return reason
  const all = declined.map(({ message }, index) => `(${index + 1}) ${message}`).join("; ")
  return decline(reason.rule, `none of the ${declined.length} options of ${host} can be paid: ${all.slice(0, 2000)}`)
}
