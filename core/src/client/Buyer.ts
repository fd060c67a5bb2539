/**
 * The payer's side for host adapters, as `Seller` is the seller's: a paying client made from plain options, spoken to by
 * promises.
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
import type { PayableRequest } from "./PayableRequest.ts"
import * as PaymentClient from "./PaymentClient.ts"
import * as PaymentJournal from "./PaymentJournal.ts"
import type { PaymentLimits } from "./PaymentLimits.ts"
import type { PaymentAllowances, Quote } from "./PaymentPolicy.ts"

/** What a buyer is made of, in plain values. Only `schemes` is required. */
export interface BuyerOptions {
  /** What signs: `exactEvm.client({ signer, network })` and the like, one per network. */
  readonly schemes: ReadonlyArray<SchemeClient>
  /** How much may be paid; `{ perRequest: "$0.10" }` where nothing is said. */
  readonly limits?: PaymentLimits
  /** Who and what may be paid; everyone, in every known asset, where nothing is said. */
  readonly allow?: PaymentAllowances
  /** Told of each payment once, with its receipt, before the answer is handed over; it cannot fail the call. */
  readonly onPayment?: (receipt: Settlement) => void | Promise<void>
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
  readonly lookup?: (paymentId: string) => Promise<PaymentRecord | undefined>
  /** Where payments are remembered; in memory where nothing is said. */
  readonly journal?: PaymentJournal.PaymentJournal["Service"]
}

const { allow, limits } = PaymentClient.keys

/** The keys of the options, for adapters that add their own. */
export const keys: OptionCheck.Table<BuyerOptions> = {
  schemes: ClientSchemeRegistry.check,
  limits,
  allow,
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

/** A buyer. Its promises reject with the tagged errors of `PaymentClient`, or with the reason of the signal. */
export interface Buyer {
  /** As `PaymentClient.demandOf`. */
  readonly demandOf: (response: Response, signal: AbortSignal | undefined) => Promise<PaymentClient.Demand | undefined>
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
  readonly status: (paymentId: string) => Promise<PaymentClient.PaymentStatus>
}

/**
 * A buyer who understands these dialects, with the services of the context (`Clock`, `Entropy`, `Hash`). Fails where an
 * option is a mistake.
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
    pay: (request, demand, signal) => run(client.pay(request, demand), signal),
    quote: (request, demand, signal) => run(client.quote(request, demand), signal),
    status: (paymentId) => run(client.status(paymentId), undefined)
  } satisfies Buyer
})

const inEffects = (options: BuyerOptions): PaymentClient.Options => {
  const { allow, choose, confirm, limits, lookup, onPayment, onTrouble = warn } = options
  return {
    onTrouble: (error) => Effect.sync(() => onTrouble(error)),
    ...(limits === undefined ? {} : { limits }),
    ...(allow === undefined ? {} : { allow }),
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
