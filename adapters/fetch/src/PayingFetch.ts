/**
 * A `fetch` that pays. It is called like the one it wraps and answers like it: only a refusal that asks for a payment is
 * acted on, everything else passes through untouched.
 */
import {
  FacilitatorUnavailable,
  type Misconfigured,
  type PayerDialect,
  type PaymentAllowances,
  type PaymentLimits,
  type Quote,
  type SchemeClient,
  type Settlement,
  Understood
} from "@pontage/core"
import * as PaymentClient from "@pontage/core/PaymentClient"
import * as PaymentJournal from "@pontage/core/PaymentJournal"
import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"

import type { PaymentLookup } from "./FacilitatorLookup.ts"
import * as OutgoingRequest from "./OutgoingRequest.ts"
import type { FetchFunction } from "./OutgoingRequest.ts"

/**
 * What a paying `fetch` is made of. Only `schemes` is required.
 *
 * @category models
 */
export interface PayingFetchOptions {
  /** What signs: `exactEvm.client({ signer, network })` and the like, one per network. */
  readonly schemes: ReadonlyArray<SchemeClient>
  /** How much may be paid; `{ perRequest: "$0.10" }` where nothing is said. */
  readonly limits?: PaymentLimits
  /** Who and what may be paid; everyone, in every known asset, where nothing is said. */
  readonly allow?: PaymentAllowances
  /** Told of each payment once, with its receipt, before the answer is handed over; it cannot fail the call. */
  readonly onPayment?: (receipt: Settlement.Settlement) => void | Promise<void>
  /**
   * Told of what went wrong beside a payment and did not stop it: what `onPayment` threw, or a `JournalUnavailable` when an
   * outcome could not be noted. Where nothing is said it is a warning of the process (Node) or goes to `reportError`, as
   * the errors of event listeners do (browsers, workers); neither ends the program.
   */
  readonly onTrouble?: (error: unknown) => void
  /** Asked before anything is signed; only `true` is a yes. An error it throws is what the call rejects with. */
  readonly confirm?: (quote: Quote) => boolean | Promise<boolean>
  /** Picks among the options that the limits allow; the first one where nothing is said. */
  readonly choose?: (quotes: ReadonlyArray<Quote>) => Quote | undefined
  /**
   * Asks somebody whose word you trust what became of a payment: `facilitatorLookup(url)`. For `status`, and to have the
   * amounts of payments that came to nothing back within the limits.
   */
  readonly lookup?: PaymentLookup
  /** Where payments are remembered; in memory where nothing is said. */
  readonly journal?: PaymentJournal.PaymentJournal["Service"]
  /** The longest stream that is read into memory so that it can be sent again. Default 1 MiB. */
  readonly maxBodyBytes?: number
  /** The wire formats that are understood, in the order of preference; every known one where nothing is said. */
  readonly dialects?: ReadonlyArray<PayerDialect>
}

/**
 * The wrapped function. Beside what `fetch` rejects with it rejects with the tagged errors of paying: `PaymentDeclined`
 * (your rules), `PaymentError` and `ValidationError` (the server's no), `SettlementPending` (not known yet; ask again),
 * `SigningFailed`, and the rest of `PaymentClient.PayFailure`.
 *
 * @category models
 */
export interface PayingFetch extends FetchFunction {
  /**
   * What the request would cost, without paying: it is sent once, unpaid. `undefined` when nothing is asked for.
   */
  readonly quote: (input: RequestInfo | URL, init?: RequestInit) => Promise<PaymentClient.Quotation | undefined>
  /** What the journal and, where it is given, `lookup` know of a payment. */
  readonly status: (paymentId: string) => Promise<PaymentClient.PaymentStatus>
}

const defaultMaxBodyBytes = 1024 * 1024

/**
 * Wraps a `fetch`. Throws `Misconfigured` where an option is a mistake.
 *
 * @category constructors
 */
export const wrapFetch = (fetch: FetchFunction, options: PayingFetchOptions): PayingFetch =>
  Effect.runSync(make(fetch, options))

/**
 * Wraps a `fetch` with the services of the context (`Clock`, `Entropy`, `Hash`).
 *
 * @category constructors
 */
export const make = Effect.fnUntraced(function* (
  fetch: FetchFunction,
  options: PayingFetchOptions
): Effect.fn.Return<PayingFetch, Misconfigured> {
  const { dialects = Understood.usual, maxBodyBytes = defaultMaxBodyBytes } = options
  const journal = options.journal ?? PaymentJournal.make(PaymentJournal.memoryLog())
  const client = yield* Effect.provideService(clientOf(options), PaymentJournal.PaymentJournal, journal)
  const run = runner(yield* Effect.context())
  const paying: FetchFunction = async (input, init = {}) => {
    const request = OutgoingRequest.make(fetch, input, init, maxBodyBytes)
    const response = await request.sendUnpaid()
    if (response.status !== 402 || !isOurs(request, dialects)) return response
    const demand = await run(client.demandOf(response), request.signal)
    return demand === undefined ? response : run(client.pay(await request.payable(), demand), request.signal)
  }
  const quote: PayingFetch["quote"] = async (input, init = {}) => {
    const request = OutgoingRequest.make(fetch, input, init, maxBodyBytes)
    const response = await request.sendUnpaid()
    const demand = await run(client.demandOf(response), request.signal)
    if (demand !== undefined) return run(client.quote(await request.payable(), demand), request.signal)
    await response.body?.cancel()
    return undefined
  }
  const status: PayingFetch["status"] = (paymentId) => run(client.status(paymentId), undefined)
  return Object.assign(paying, { quote, status })
})

/**
 * The receipt on an answer: what the server says it was paid. `undefined` where it says nothing, or nothing that can be
 * read. Not every wire format tells the payer, the amount and the payment's id; `onPayment` is told all of them.
 *
 * @category getters
 */
export const settlementOf = (
  response: Response,
  dialects: ReadonlyArray<PayerDialect> = Understood.usual
): Settlement.Receipt | undefined => Understood.readReceipt(dialects, (name) => response.headers.get(name))

/**
 * A caller that sends a payment of its own handles the refusal too; and nothing is paid for HEAD, whose answer has nothing
 * in it.
 */
const isOurs = ({ headers, method }: OutgoingRequest.OutgoingRequest, dialects: ReadonlyArray<PayerDialect>): boolean =>
  !dialects.some(({ paymentHeader }) => headers.has(paymentHeader)) && method.toUpperCase() !== "HEAD"

const clientOf = Effect.fnUntraced(function* (options: PayingFetchOptions) {
  const { allow, choose, confirm, dialects, limits, lookup, onPayment, onTrouble = warn, schemes } = options
  return yield* PaymentClient.make({
    schemes,
    onTrouble: (error) => Effect.sync(() => onTrouble(error)),
    ...(limits === undefined ? {} : { limits }),
    ...(allow === undefined ? {} : { allow }),
    ...(choose === undefined ? {} : { choose }),
    ...(dialects === undefined ? {} : { dialects }),
    ...(lookup === undefined ? {} : { lookup: (paymentId) => lookUp(lookup, paymentId) }),
    ...(confirm === undefined ? {} : { confirm: (quote) => Effect.promise(async () => isYes(confirm(quote))) }),
    ...(onPayment === undefined ? {} : { onPayment: (receipt) => Effect.promise(async () => onPayment(receipt)) })
  })
})

const lookUp = (lookup: PaymentLookup, paymentId: string) =>
  Effect.tryPromise({
    try: () => lookup(paymentId),
    catch: (cause) =>
      cause instanceof FacilitatorUnavailable
        ? cause
        : new FacilitatorUnavailable({ message: `lookup of payment ${paymentId} failed`, cause })
  })

/** What a platform offers to those who have nobody to throw an error at. */
interface Platform {
  readonly process?: { readonly emitWarning?: (warning: Error | string) => void }
  readonly reportError?: (error: unknown) => void
}

const warn = (error: unknown): void => {
  const { process, reportError }: Platform = globalThis
  if (process?.emitWarning !== undefined) process.emitWarning(error instanceof Error ? error : String(error))
  else reportError?.(error)
}

/** From a caller without types anything may come; only `true` is a yes. */
const isYes = async (answer: unknown): Promise<boolean> => (await answer) === true

/** Runs for a promise: it rejects with the error itself, or with the reason of the caller's signal. */
const runner =
  (context: Context.Context<never>) =>
  async <A, E>(effect: Effect.Effect<A, E>, signal: AbortSignal | undefined): Promise<A> => {
    const exit = await Effect.runPromiseExitWith(context)(effect, signal === undefined ? {} : { signal })
    if (Exit.isSuccess(exit)) return exit.value
    throw signal?.aborted === true && Cause.hasInterrupts(exit.cause) ? signal.reason : Cause.squash(exit.cause)
  }
