/**
 * The payer's side for host adapters, as `Seller` is the seller's: a paying client made from plain options, with a
 * promise API.
 */
import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"

import * as OptionCheck from "../protocol/OptionCheck.ts"
import { FacilitatorUnavailable, type Misconfigured } from "../protocol/ProtocolError.ts"
import type { PaymentRecord, Settlement } from "../protocol/Settlement.ts"
import * as ClientSchemeRegistry from "../scheme/ClientSchemeRegistry.ts"
import type { SchemeClient } from "../scheme/SchemeClient.ts"
import type { PayerDialect } from "../wire/pontage/Dialect.ts"
import type { ChannelEntry } from "./ChannelEntry.ts"
import * as OwnPurchase from "./OwnPurchase.ts"
import type { PayableRequest } from "./PayableRequest.ts"
import * as PaymentClient from "./PaymentClient.ts"
import * as PaymentJournal from "./PaymentJournal.ts"
import type { PaymentLimits } from "./PaymentLimits.ts"
import type { PaymentAllowances, Quote } from "./PaymentPolicy.ts"
import type { TopUpOrder, TopUpReceipt, TopUps } from "./topup/TopUps.ts"

/** Options of a buyer, in plain values. Only `schemes` is required. */
export interface BuyerOptions {
  /** Signing schemes: `exactEvm.client({ signer, network })` and the like, one per network. */
  readonly schemes: ReadonlyArray<SchemeClient>
  /** Spending limits; default `{ perRequest: "$0.10" }`. */
  readonly limits?: PaymentLimits
  /** Allowed hosts, networks, assets and payees; default: all, in every known asset. */
  readonly allow?: PaymentAllowances
  /** Called once for each payment, with its receipt, before the response is returned; it cannot fail the call. */
  readonly onPayment?: (receipt: Settlement) => void | Promise<void>
  /**
   * Called with each failure beside a payment that did not stop it: an error that `onPayment` threw, or a
   * `JournalUnavailable` if an outcome could not be written. Default: a warning of the process (Node) or `reportError`,
   * as for errors of event listeners (browsers, workers); neither ends the program.
   */
  readonly onTrouble?: (error: unknown) => void
  /** Called before anything is signed; only `true` is a yes. The call rejects with an error that it throws. */
  readonly confirm?: (quote: Quote) => boolean | Promise<boolean>
  /** Picks among the options that the limits allow; default: the first one. */
  readonly choose?: (quotes: ReadonlyArray<Quote>) => Quote | undefined
  /**
   * Asks a trusted facilitator for the state of a payment: `facilitatorLookup(url)`. Used by `status`, and to return
   * the amounts of failed payments to the limits.
   */
  readonly lookup?: (paymentId: string) => Promise<PaymentRecord | undefined>
  /**
   * Milliseconds for which a shop may leave each request of a refund without a response, the unpaid one and the one for the refund;
   * default 120,000. The refund's transaction has to be in a block by then.
   */
  readonly refundTimeoutMillis?: number
  /** Journal of the payments; default: in memory. */
  readonly journal?: PaymentJournal.PaymentJournal["Service"]
  /**
   * Looks at the account's balances, and brings money from another network where no option can be paid with them:
   * `topUpEvm.topUps({ signer, facilitator, nodes })` of `@pontage/evm`. A purchase does so only with `allow: { topUp: true }`.
   */
  readonly topUp?: TopUps
}

const { allow, limits, refundTimeoutMillis, topUp } = PaymentClient.keys

/** The keys of the options, for adapters that add their own. */
export const keys: OptionCheck.Table<BuyerOptions> = {
  schemes: ClientSchemeRegistry.check,
  limits,
  allow,
  topUp,
  refundTimeoutMillis,
  onPayment: OptionCheck.optional(OptionCheck.callable()),
  onTrouble: OptionCheck.optional(OptionCheck.callable()),
  confirm: OptionCheck.optional(OptionCheck.callable()),
  choose: OptionCheck.optional(OptionCheck.callable()),
  lookup: OptionCheck.optional(OptionCheck.callable()),
  journal: OptionCheck.optional(
    OptionCheck.having("a journal, such as await fileJournal(path)", "adopt", "reserve", "write")
  )
}

const check = OptionCheck.options<BuyerOptions>(keys)

/** The request of a resource whose shop owes the rest of a channel. */
export interface RefundRequest {
  /** The absolute URL, once the request is sent. */
  readonly url: () => string
  readonly sendUnpaid: () => Promise<Response>
  /** The same request for the paying client, once `sendUnpaid` has a response. */
  readonly payable: () => Promise<PayableRequest>
}

/** A buyer. Its promises reject with the tagged errors of `PaymentClient`, or with the reason of the signal. */
export interface Buyer {
  /** As `PaymentClient.demandOf`. */
  readonly demandOf: (response: Response, signal: AbortSignal | undefined) => Promise<PaymentClient.Demand | undefined>
  /** A response that has come is returned, also if the signal is aborted while it is written to the journal. */
  readonly pay: (
    request: PayableRequest,
    demand: PaymentClient.Demand,
    signal: AbortSignal | undefined
  ) => Promise<Response>
  readonly quote: (
    request: Pick<PayableRequest, "method" | "url">,
    demand: PaymentClient.Demand,
    signal: AbortSignal | undefined
  ) => Promise<PaymentClient.Quotation>
  readonly isOpen: (request: PayableRequest) => Promise<boolean>
  readonly status: (paymentId: string) => Promise<PaymentClient.PaymentStatus>
  /** Asks for the demand by the unpaid request, and then for the refund. */
  readonly refund: (
    asked: RefundRequest,
    amount: bigint | undefined,
    signal: AbortSignal | undefined
  ) => Promise<OwnPurchase.Refunded>
  readonly channels: () => Promise<ReadonlyArray<ChannelEntry>>
  readonly topUp: (order: TopUpOrder, signal: AbortSignal | undefined) => Promise<TopUpReceipt>
}

/**
 * A buyer with these dialects, with the services of the context (`Clock`, `Entropy`, `Hash`). Fails if an option is a
 * mistake.
 */
export const make = Effect.fnUntraced(function* (
  options: BuyerOptions,
  dialects: ReadonlyArray<PayerDialect>
): Effect.fn.Return<Buyer, Misconfigured> {
  yield* Effect.fromResult(OptionCheck.read(check, options))
  const journal = options.journal ?? PaymentJournal.make(PaymentJournal.memoryLog())
  const registry = yield* Effect.fromResult(ClientSchemeRegistry.make(options.schemes))
  const client = yield* PaymentClient.make({ dialects, ...inEffects(options) }).pipe(
    Effect.provideService(PaymentJournal.PaymentJournal, journal),
    Effect.provideService(ClientSchemeRegistry.ClientSchemeRegistry, registry)
  )
  const run = runner(yield* Effect.context())
  return {
    demandOf: (response, signal) => run(client.demandOf(response), signal),
    pay: async (request, demand, signal) => {
      let booked: Response | undefined
      try {
        return await run(client.pay({ ...request, booked: (response) => void (booked = response) }, demand), signal)
      } catch (error) {
        if (booked !== undefined) return booked
        throw error
      }
    },
    quote: (request, demand, signal) => run(client.quote(request, demand), signal),
    isOpen: (request) => run(client.isOpen(request), undefined),
    status: (paymentId) => run(client.status(paymentId), undefined),
    refund: (asked, amount, signal) => run(refund(client, options, asked, amount), signal),
    channels: () => run(client.channels, undefined),
    topUp: (order, signal) => run(client.topUp(order), signal)
  } satisfies Buyer
})

const refund = Effect.fnUntraced(function* (
  client: PaymentClient.PaymentClient["Service"],
  { refundTimeoutMillis, schemes }: BuyerOptions,
  { payable, sendUnpaid, url }: RefundRequest,
  amount: bigint | undefined
) {
  const sending = Effect.promise(() => sendUnpaid())
  const [own] = schemes.flatMap((scheme) => OwnPurchase.of(scheme) ?? [])
  const demand = yield* client.demandOf(yield* own?.refundOffered(sending, url, refundTimeoutMillis) ?? sending)
  return yield* client.refund(yield* Effect.promise(() => payable()), demand, amount)
})

const inEffects = (options: BuyerOptions): PaymentClient.Options => {
  const { allow, choose, confirm, limits, lookup, onPayment, onTrouble = warn, refundTimeoutMillis, topUp } = options
  return {
    onTrouble: (error) => Effect.sync(() => onTrouble(error)),
    ...(limits === undefined ? {} : { limits }),
    ...(allow === undefined ? {} : { allow }),
    ...(topUp === undefined ? {} : { topUp }),
    ...(refundTimeoutMillis === undefined ? {} : { refundTimeoutMillis }),
    ...(choose === undefined ? {} : { choose }),
    ...(lookup === undefined ? {} : { lookup: (paymentId) => lookUp(lookup, paymentId) }),
    ...(confirm === undefined ? {} : { confirm: (quote) => Effect.promise(async () => isYes(confirm(quote))) }),
    ...(onPayment === undefined ? {} : { onPayment: (receipt) => Effect.promise(async () => onPayment(receipt)) })
  }
}

const lookUp = (lookup: NonNullable<BuyerOptions["lookup"]>, paymentId: string) =>
  Effect.tryPromise({
    try: () => lookup(paymentId),
    catch: (cause) =>
      cause instanceof FacilitatorUnavailable
        ? cause
        : new FacilitatorUnavailable({ message: `lookup of payment ${paymentId} failed`, cause })
  })

/** The platform's ways to report an error that has no caller. */
interface Platform {
  readonly process?: { readonly emitWarning?: (warning: Error | string) => void }
  readonly reportError?: (error: unknown) => void
}

const warn = (error: unknown): void => {
  const { process, reportError }: Platform = globalThis
  if (process?.emitWarning !== undefined) process.emitWarning(error instanceof Error ? error : String(error))
  else reportError?.(error)
}

/** Whether an answer is exactly `true`; an untyped caller may return any value. */
const isYes = async (answer: unknown): Promise<boolean> => (await answer) === true

/** Runs for a promise: it rejects with the error itself, or with the reason of the caller's signal. */
const runner =
  (context: Context.Context<never>) =>
  async <A, E>(effect: Effect.Effect<A, E>, signal: AbortSignal | undefined): Promise<A> => {
    const exit = await Effect.runPromiseExitWith(context)(effect, signal === undefined ? {} : { signal })
    if (Exit.isSuccess(exit)) return exit.value
    throw signal?.aborted === true && Cause.hasInterrupts(exit.cause) ? signal.reason : Cause.squash(exit.cause)
  }
