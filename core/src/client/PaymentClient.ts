/**
 * The paying client: it takes the refusal of an unpaid request and returns the paid response. It knows no framework and
 * no chain; the request brings its sender, a scheme client signs. Its rules are checked before every signature, and its
 * journal is written before every paid request.
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
import type { ChannelEntry } from "./ChannelEntry.ts"
import type { JournalEntry } from "./JournalEntry.ts"
import { isExpired } from "./JournalLedger.ts"
import * as OwnPurchase from "./OwnPurchase.ts"
import * as PayableRequest from "./PayableRequest.ts"
import { decline, type PaymentDeclined } from "./PaymentDeclined.ts"
import { PaymentJournal, type JournalUnavailable } from "./PaymentJournal.ts"
import * as PaymentLimits from "./PaymentLimits.ts"
import * as PaymentPolicy from "./PaymentPolicy.ts"
import * as Purchase from "./Purchase.ts"
import type { RefusalError } from "./PurchaseResponse.ts"
import * as RefusalBody from "./RefusalBody.ts"
import * as TopUpAccount from "./topup/TopUpAccount.ts"
import type { TopUpOrder, TopUpReceipt, TopUps } from "./topup/TopUps.ts"

/**
 * Options of a client. None is required: its schemes (`ClientSchemeRegistry`) and its journal come from the context.
 */
export interface Options {
  readonly limits?: PaymentLimits.PaymentLimits
  readonly allow?: PaymentPolicy.PaymentAllowances
  /** Picks among the quotes that the rules allow; default: the first one. `undefined` pays none. */
  readonly choose?: (quotes: ReadonlyArray<PaymentPolicy.Quote>) => PaymentPolicy.Quote | undefined
  /** Confirms or declines a quote before anything is signed. */
  readonly confirm?: (quote: PaymentPolicy.Quote) => Effect.Effect<boolean>
  /** Called once for each payment, when the server says that the money has moved. */
  readonly onPayment?: (receipt: Settlement) => Effect.Effect<void>
  /**
   * Called with each failure beside a payment that did not stop it: a defect of `onPayment`, or a `JournalUnavailable`
   * if an outcome could not be written. By default `make` ignores them; `layer` logs them.
   */
  readonly onTrouble?: (error: unknown) => Effect.Effect<void>
  /**
   * Asks a facilitator that the payer trusts for a payment's record. If it says that a payment is dead, the amount
   * returns to the limits.
   */
  readonly lookup?: (paymentId: string) => Effect.Effect<PaymentRecord | undefined, ProtocolError>
  /**
   * Milliseconds for which a shop may leave a request for a refund without a response; default 120,000. Its transaction has to be in a
   * block by then.
   */
  readonly refundTimeoutMillis?: number
  /**
   * The accepted wire formats, in the order of preference: a refusal is read by the first that recognises it. Default:
   * all of this package, Pontage's own first.
   */
  readonly dialects?: ReadonlyArray<PayerDialect>
  /**
   * Looks at the account's balances, and brings money from another network where no option can be paid with them: see
   * `allow.topUp`.
   */
  readonly topUp?: TopUps
}

/** The keys that all payers' options share, with their checks. */
export const keys = {
  refundTimeoutMillis: OptionCheck.optional(OptionCheck.whole(1)),
  limits: OptionCheck.optional(PaymentLimits.check),
  allow: OptionCheck.optional(PaymentPolicy.check),
  topUp: OptionCheck.optional(OptionCheck.having<TopUps>("topUpEvm.topUps(...)", "judge", "bring")),
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

/** A refusal that demands a payment, read. */
export interface Demand {
  /** Its source: the URL, and whether a redirect led there. */
  readonly origin: Pick<Response, "url" | "redirected">
  readonly refusal: ReadRefusal
}

/** The offers of a refusal: the quotes that would be paid, best first, and the reasons against the others. */
export interface Quotation {
  readonly payable: ReadonlyArray<PaymentPolicy.Quote>
  readonly declined: ReadonlyArray<PaymentDeclined>
}

/** The known state of a payment: the journal's entry, and the facilitator's record if there is a `lookup`. */
export interface PaymentStatus {
  readonly paymentId: string
  readonly entry: JournalEntry | undefined
  readonly record: PaymentRecord | undefined
}

/** The failures of a payment. */
export type PayFailure = PaymentDeclined | SigningFailed | JournalUnavailable | RefusalError | ProtocolError

export { isPaid, isRedirect, settlementOf, signedReceiptOf, standIn, watched } from "./PurchaseResponse.ts"
export { of as streamOf } from "./stream/FollowedStream.ts"

/** The service. */
export class PaymentClient extends Context.Service<
  PaymentClient,
  {
    /**
     * Reads the demand in the response to an unpaid request; `undefined` if it is not a payment request, and then its
     * body stays unread. Fails with `malformed` for a payment request that cannot be understood.
     */
    readonly demandOf: (response: Response) => Effect.Effect<Demand | undefined, ValidationError>
    /** Pays for a refused request and returns the paid response, with any status. */
    readonly pay: (request: PayableRequest.PayableRequest, demand: Demand) => Effect.Effect<Response, PayFailure>
    /** The cost of a refused request; nothing is signed or reserved. */
    readonly quote: (
      request: PayableRequest.RequestHead,
      demand: Demand
    ) => Effect.Effect<Quotation, PaymentDeclined | JournalUnavailable>
    /**
     * Asks the shop of a refused request to pay back what lies in this payer's channel with it and is not spent, or this
     * amount of it. Fails with `RefundUnanswered` for a shop that does not respond within `refundTimeoutMillis`.
     */
    readonly refund: (
      request: PayableRequest.PayableRequest,
      demand: Demand | undefined,
      amount?: bigint
    ) => Effect.Effect<OwnPurchase.Refunded, PayFailure | OwnPurchase.RefundUnanswered>
    /** The payer's channels, with the terms that a withdrawal needs. */
    readonly channels: Effect.Effect<ReadonlyArray<ChannelEntry>, JournalUnavailable>
    /**
     * Brings an amount of the payer's own money from one network to another, as `confirm` agrees. One to the same asset that is under
     * way is waited for first; if it is of the same amount, it is this one. The fee counts against the limits.
     */
    readonly topUp: (order: TopUpOrder) => Effect.Effect<TopUpReceipt, PayFailure>
    /** Whether the journal has a purchase of this request that is under way; nothing is sent. */
    readonly isOpen: (request: PayableRequest.PayableRequest) => Effect.Effect<boolean, JournalUnavailable>
    readonly status: (paymentId: string) => Effect.Effect<PaymentStatus, JournalUnavailable | ProtocolError>
  }
>()("@pontage/core/PaymentClient") {}

/** A client for the schemes and the journal of the context. Fails if an option is a mistake. */
export const make = Effect.fnUntraced(function* (options: Options) {
  yield* Effect.fromResult(OptionCheck.read(check, options))
  const journal = yield* PaymentJournal
  const { schemes: schemeClients } = yield* ClientSchemeRegistry
  yield* Effect.fromResult(TopUpAccount.check(options.topUp, schemeClients))
  const policy = yield* Effect.fromResult(PaymentPolicy.make(options.limits ?? {}, options.allow ?? {}, schemeClients))
  const { dialects = PayerDialects.usual } = options
  const context: ClientContext = {
    journal,
    policy,
    schemeClients,
    choose: options.choose ?? (([first]) => first),
    confirm: options.confirm ?? (() => Effect.succeed(true)),
    topUps: options.topUp,
    mayTopUp: options.allow?.topUp === true,
    lookup: options.lookup ?? (() => Effect.succeed(undefined)),
    refundTimeoutMillis: options.refundTimeoutMillis
  }
  const purchases: Purchase.PurchaseContext = {
    dialects,
    journal,
    confirm: context.confirm,
    onPayment: options.onPayment ?? (() => Effect.void),
    onTrouble: options.onTrouble ?? (() => Effect.void)
  }
  return PaymentClient.of({
    demandOf: (response) => demandOf(dialects, response),
    pay: (request, demand) => pay(context, purchases, request, demand),
    refund: (request, demand, amount) => refund(context, purchases, request, demand, amount),
    channels: Effect.map(journal.channels, (channels) => [...channels.values()]),
    quote: (request, demand) => quote(context, request, demand),
    topUp: (order) => context.topUps?.order(context, order) ?? Effect.fail(unable),
    isOpen: (request) => Effect.flatMap(PayableRequest.nameOf(request), journal.isOpen),
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

const unable = decline("top_up_unavailable", "this client has no topUp")

/** Services that decide a purchase. */
interface ClientContext extends Required<Pick<Options, "choose" | "confirm" | "lookup">> {
  readonly refundTimeoutMillis: number | undefined
  readonly journal: PaymentJournal["Service"]
  readonly policy: PaymentPolicy.PaymentPolicy
  readonly schemeClients: ReadonlyArray<SchemeClient>
  readonly topUps: TopUps | undefined
  readonly mayTopUp: boolean
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
  { origin, refusal }: Demand,
  agreed?: PaymentPolicy.Quote
): Effect.fn.Return<Response, PayFailure> {
  const { accepts } = refusal.required
  const target = yield* Effect.fromResult(admitted(context, request, origin))
  const name = yield* PayableRequest.nameOf(request)
  const earlier = yield* resumeEarlier(context, purchases, request, name)
  if (earlier !== undefined) return earlier
  const reused = yield* reuseRefused(context, purchases, request, { accepts, name, target })
  if (reused !== undefined) return reused
  const offered = yield* funded(context, yield* judged(context, request, target, refusal), agreed)
  const allowed = yield* Effect.fromResult(chosen(context, target, offered))
  const { quote, topUp } = allowed
  if ((topUp === undefined || topUp._tag === "Wanted") && !(yield* context.confirm(quote))) {
    return yield* decline("confirm_refused", `${target.host} asks ${quote.price}, and confirm said no`)
  }
  if (topUp !== undefined && topUp._tag !== "Agreed" && context.topUps !== undefined) {
    const renewed = yield* context.topUps.bring(context, {
      quote,
      topUp,
      request: request.send(target.href, {}),
      demandOf: (response) => demandOf(purchases.dialects, response)
    })
    const { agreed, demand = { origin, refusal }, response } = renewed
    return response ?? (yield* pay(context, purchases, request, demand, agreed))
  }
  const order = orderOf(refusal, name, allowed)
  const own = OwnPurchase.of(allowed.schemeClient)
  return yield* own === undefined ? Purchase.buy(purchases, request, order) : own.buy(purchases, request, order)
})

const orderOf = (refusal: ReadRefusal, name: string, allowed: PaymentPolicy.Allowed): Purchase.PurchaseOrder => {
  const index = refusal.required.accepts.indexOf(allowed.quote.requirements)
  return {
    ...allowed,
    name,
    terms: refusal.termsOf?.(index),
    paymentHeaders: (payload) => refusal.paymentHeaders(index, payload)
  }
}

const refund = Effect.fnUntraced(function* (
  context: ClientContext,
  purchases: Purchase.PurchaseContext,
  request: PayableRequest.PayableRequest,
  demand: Demand | undefined,
  amount?: bigint
) {
  const none = decline("no_acceptable_option", `${request.url} offers no payment channel`)
  if (demand === undefined) return yield* none
  const { origin, refusal } = demand
  const url = yield* Effect.fromResult(admitted(context, request, origin))
  for (const requirements of refusal.required.accepts) {
    const found = Result.flatMap(schemeClientFor(context.schemeClients, requirements), (schemeClient) =>
      context.policy.judge({ method: request.method, url }, requirements, schemeClient)
    )
    const own = Result.isSuccess(found) ? OwnPurchase.of(found.success.schemeClient) : undefined
    if (Result.isSuccess(found) && own !== undefined) {
      const wanted = { amount, timeoutMillis: context.refundTimeoutMillis }
      return yield* own.refund(purchases, request, orderOf(refusal, "", found.success), wanted)
    }
  }
  return yield* none
})

const quote = Effect.fnUntraced(function* (
  context: ClientContext,
  request: PayableRequest.RequestHead,
  { origin, refusal }: Demand
) {
  const target = yield* Effect.fromResult(admitted(context, request, origin))
  const { allowed, declined } = yield* funded(context, yield* judged(context, request, target, refusal))
  return { payable: allowed.map(({ quote }) => quote), declined }
})

const status = Effect.fnUntraced(function* (context: ClientContext, paymentId: string) {
  const entry = yield* context.journal.find(paymentId)
  const record = yield* context.lookup(paymentId)
  if (entry !== undefined && record !== undefined) yield* acquit(context, entry, record)
  return { paymentId, entry: yield* context.journal.find(paymentId), record }
})

/** The URL that a payment for this refusal may be sent to. */
const admitted = (
  { policy }: ClientContext,
  request: PayableRequest.RequestHead,
  origin: Demand["origin"]
): Result.Result<URL, PaymentDeclined> =>
  Result.flatMap(PayableRequest.targetOf(request, origin), (target) => Result.map(policy.admit(target), () => target))

/**
 * The response to an authorization that an earlier call of the same request left in doubt, or unserved. Parallel calls
 * may have left several; one is sent at a time.
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
    const response = yield* Effect.uninterruptibleMask((restore) =>
      Effect.gen(function* () {
        const entry = yield* restore(journal.adopt(name))
        if (entry === undefined) return none
        // A dead entry that comes back could not be written as dead: leave it, or this loop would never end.
        if (tried.has(entry.id)) return yield* Effect.as(journal.letGo(entry.id), none)
        tried.add(entry.id)
        return yield* Effect.onExit(restore(resumed(context, purchases, request, entry)), () => journal.letGo(entry.id))
      })
    )
    if (response === none) return undefined
    if (response !== undefined) return response
  }
})

const none: unique symbol = Symbol("none")

/** The response to a held entry; `undefined` if the entry is over, so that the resource is bought anew. */
const resumed = Effect.fnUntraced(function* (
  context: ClientContext,
  purchases: Purchase.PurchaseContext,
  request: PayableRequest.PayableRequest,
  entry: JournalEntry
) {
  if (entry.draw !== undefined) {
    const own = context.schemeClients
      .filter(({ network }) => network === entry.network)
      .map(OwnPurchase.of)
      .find((one) => one !== undefined)
    return yield* own === undefined ? Effect.undefined : own.resume(purchases, request, entry)
  }
  if (yield* isAcquitted(context, entry)) return undefined
  return yield* entry.reuse === undefined
    ? Purchase.resume(purchases, request, entry)
    : Purchase.reuse(purchases, request, entry, entry)
})

/** A request and its offers. */
interface Offered {
  readonly name: string
  readonly target: URL
  readonly accepts: ReadonlyArray<PaymentRequirements>
}

/**
 * The response to a payment that was made for another request of the same route and is still good, because the
 * application refused that one; `undefined` if there is none, or the server no longer accepts it.
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

/** Whether an earlier payment would pay for this offer: the same route, payee and asset, at no higher price. */
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

/** Whether the payer's facilitator reports an expired authorization of unknown outcome as dead. */
const isAcquitted = Effect.fnUntraced(function* (context: ClientContext, entry: JournalEntry) {
  if (entry.state !== "pending" || entry.paymentId === undefined) return false
  const record = yield* context.lookup(entry.paymentId).pipe(Effect.catch(() => Effect.succeed(undefined)))
  return record !== undefined && (yield* acquit(context, entry, record))
})

/**
 * Returns an entry's amount to the limits if it is proven to cost nothing: the facilitator says that the payment is
 * dead, and no other party can settle the authorization any more.
 */
const acquit = Effect.fnUntraced(function* (
  { journal }: ClientContext,
  entry: JournalEntry,
  { status }: PaymentRecord
) {
  // The end of a top-up is read from its chains alone.
  if (entry.topUp !== undefined) return false
  const isOpen = entry.state === "pending" || entry.state === "refused"
  if (!isOpen || !isDead(status) || !isExpired(entry, yield* Clock.currentTimeMillis)) return false
  yield* journal.write({ ...entry, state: "released" })
  return true
})

/** The options that the account can pay, by its balances if the client looks at them. */
const funded = (context: ClientContext, offered: PaymentPolicy.Judged, agreed?: PaymentPolicy.Quote) =>
  context.topUps?.judge(context, offered, agreed) ?? Effect.succeed(offered)

/** The options that would be paid now, in the offer's order, and the reasons against the others. */
const judged = Effect.fnUntraced(function* (
  { schemeClients, journal, policy }: ClientContext,
  request: PayableRequest.RequestHead,
  url: URL,
  { required: { accepts }, termsOf }: ReadRefusal
) {
  const { method } = request
  const now = yield* Clock.currentTimeMillis
  const spent = yield* journal.spent
  const allowed: Array<PaymentPolicy.Allowed> = []
  const declined: Array<PaymentDeclined> = []
  for (const [index, requirements] of accepts.entries()) {
    const terms = termsOf?.(index)
    const result = Result.flatMap(schemeClientFor(schemeClients, requirements), (schemeClient) =>
      Result.flatMap(policy.judge({ method, url }, requirements, schemeClient), (one) => {
        const no =
          (terms && (policy.objection(terms, url, now) ?? PayableRequest.objection(request, terms))) ??
          OwnPurchase.of(schemeClient)?.objection?.(one)
        return no === undefined ? Result.succeed(one) : Result.fail(no)
      })
    )
    const no = Result.isFailure(result)
      ? result.failure
      : (result.success.exceeds(spent) ?? (yield* PaymentPolicy.chainObjection(result.success)))
    if (no !== undefined) declined.push(no)
    else if (Result.isSuccess(result)) allowed.push(result.success)
  }
  return { allowed, declined } satisfies PaymentPolicy.Judged
})

const schemeClientFor = (
  schemeClients: ReadonlyArray<SchemeClient>,
  { network, scheme }: PaymentRequirements
): Result.Result<SchemeClient, PaymentDeclined> => {
  const named = schemeClients.filter((schemeClient) => schemeClient.scheme.name === scheme)
  const schemeClient =
    named.find((one) => one.network !== undefined && one.scheme.network(network) === one.network) ??
    named.find((one) => one.network === undefined && one.scheme.network(network) !== undefined)
  if (schemeClient !== undefined) return Result.succeed(schemeClient)
  return Result.fail(
    decline("no_acceptable_option", `no scheme is configured that pays ${AsciiJson.quoted(scheme)} on ${network}`)
  )
}

const chosen = (
  { choose }: ClientContext,
  { host }: URL,
  { allowed, declined }: PaymentPolicy.Judged
): Result.Result<PaymentPolicy.Allowed, PaymentDeclined> => {
  if (allowed.length === 0) return Result.fail(noneAcceptable(host, declined))
  const wish = choose(allowed.map(({ quote }) => quote))
  const found = allowed.find(({ quote }) => quote === wish)
  return found === undefined
    ? Result.fail(decline("no_acceptable_option", `choose picked none of the ${allowed.length} options of ${host}`))
    : Result.succeed(found)
}

/** The reason for declining all options: a rule that declined a payable one; otherwise there was nothing to sign. */
const noneAcceptable = (host: string, declined: ReadonlyArray<PaymentDeclined>): PaymentDeclined => {
  const reason = declined.find(({ rule }) => rule !== "no_acceptable_option") ?? declined[0]
  if (reason === undefined) return decline("no_acceptable_option", `${host} asks for a payment and offers no option`)
  if (declined.length === 1) return reason
  const all = declined.map(({ message }, index) => `(${index + 1}) ${message}`).join("; ")
  return decline(reason.rule, `none of the ${declined.length} options of ${host} can be paid: ${all.slice(0, 2000)}`)
}
