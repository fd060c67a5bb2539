/**
 * Tools that are paid for: called as the SDK's client calls them, they answer likewise. Only a result that asks for a
 * payment is acted on, everything else passes through untouched.
 */
import type { Client } from "@modelcontextprotocol/sdk/client/index.js"
import {
  FacilitatorUnavailable,
  MetaPayer,
  type Misconfigured,
  type PaymentAllowances,
  PaymentClient,
  PaymentJournal,
  type PaymentLimits,
  type Quote,
  type SchemeClient,
  type Settlement
} from "@pontage/core"
import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Result from "effect/Result"

import * as OutgoingCall from "./OutgoingCall.ts"
import * as ServerAddress from "./ServerAddress.ts"

/**
 * What paying for tools needs. Only `schemes` is required, and on a transport without a URL a name for the `server`.
 *
 * @category models
 */
export interface PayingToolsOptions {
  /** What signs: `exactEvm.client({ signer, network })` and the like, one per network. */
  readonly schemes: ReadonlyArray<SchemeClient>
  /**
   * What the server is called in `allow.hosts`, limits per host, quotes and the journal: a name of your choice where the
   * transport has no URL (stdio). A transport over HTTP goes by its own URL, and must be `https` (or this machine).
   */
  readonly server?: string
  /** How much may be paid; `{ perRequest: "$0.10" }` where nothing is said. */
  readonly limits?: PaymentLimits
  /** Who and what may be paid; everyone, in every known asset, where nothing is said. */
  readonly allow?: PaymentAllowances
  /** Told of each payment once, with its receipt, before the result is handed over; it cannot fail the call. */
  readonly onPayment?: (receipt: Settlement.Settlement) => void | Promise<void>
  /**
   * Told of what went wrong beside a payment and did not stop it: what `onPayment` threw, or a `JournalUnavailable` when an
   * outcome could not be noted. Where nothing is said it is a warning of the process (Node) or goes to `reportError`.
   */
  readonly onTrouble?: (error: unknown) => void
  /** Asked before anything is signed; only `true` is a yes. An error it throws is what the call rejects with. */
  readonly confirm?: (quote: Quote) => boolean | Promise<boolean>
  /** Picks among the options that the limits allow; the first one where nothing is said. */
  readonly choose?: (quotes: ReadonlyArray<Quote>) => Quote | undefined
  /** Asks somebody whose word you trust what became of a payment; as for `@pontage/fetch`. */
  readonly lookup?: (paymentId: string) => Promise<Settlement.PaymentRecord | undefined>
  /** Where payments are remembered; in memory where nothing is said. */
  readonly journal?: PaymentJournal.PaymentJournal["Service"]
}

/**
 * The tools of a server, paid for. Beside what `Client.callTool` rejects with, `callTool` rejects with the tagged errors of
 * paying: `PaymentDeclined` (your rules), `PaymentError` and `ValidationError` (the server's no), `SettlementPending` (not
 * known yet; call again), `SigningFailed`, and the rest of `PaymentClient.PayFailure`.
 *
 * @category models
 */
export interface PayingTools {
  readonly callTool: Client["callTool"]
  /**
   * What the call would cost, without paying: it is sent once, unpaid. `undefined` when nothing is asked for, and then the
   * tool has run.
   */
  readonly quote: (...parameters: OutgoingCall.CallParameters) => Promise<PaymentClient.Quotation | undefined>
  /** What the journal and, where it is given, `lookup` know of a payment. */
  readonly status: (paymentId: string) => Promise<PaymentClient.PaymentStatus>
}

/**
 * Pays for the tools of a client. Throws `Misconfigured` where an option is a mistake.
 *
 * @category constructors
 */
export const payTools = (client: Client, options: PayingToolsOptions): PayingTools =>
  Effect.runSync(make(client, options))

/**
 * The same with the services of the context (`Clock`, `Entropy`, `Hash`).
 *
 * @category constructors
 */
export const make = Effect.fnUntraced(function* (
  client: Client,
  options: PayingToolsOptions
): Effect.fn.Return<PayingTools, Misconfigured> {
  const journal = options.journal ?? PaymentJournal.make(PaymentJournal.memoryLog())
  const payer = yield* Effect.provideService(payerOf(options), PaymentJournal.PaymentJournal, journal)
  const { server } = options
  const named = server === undefined ? undefined : yield* Effect.fromResult(ServerAddress.fromName(server))
  const run = runner(yield* Effect.context())
  const payable = ({ payable }: OutgoingCall.OutgoingCall) =>
    payable(Result.getOrThrow(ServerAddress.of(client.transport, named)))
  return {
    callTool: async (...parameters) => {
      const call = OutgoingCall.make(client, parameters)
      const response = await call.sendUnpaid()
      const demand = call.isPaid ? undefined : await run(payer.demandOf(response), call.signal)
      if (demand === undefined) return call.outcomeOf(response)
      return call.outcomeOf(await run(payer.pay(payable(call), demand), call.signal))
    },
    quote: async (...parameters) => {
      const call = OutgoingCall.make(client, parameters)
      const demand = await run(payer.demandOf(await call.sendUnpaid()), call.signal)
      return demand === undefined ? undefined : run(payer.quote(payable(call), demand), call.signal)
    },
    status: (paymentId) => run(payer.status(paymentId), undefined)
  }
})

/**
 * The receipt on a tool's result: what the server says it was paid. `undefined` where it says nothing, or nothing that can
 * be read.
 *
 * @category getters
 */
export const receiptOf = (result: MetaPayer.ToolAnswer): Settlement.Receipt | undefined => MetaPayer.receiptOf(result)

const payerOf = Effect.fnUntraced(function* (options: PayingToolsOptions) {
  const { allow, choose, confirm, limits, lookup, onPayment, onTrouble = warn, schemes } = options
  return yield* PaymentClient.make({
    schemes,
    dialects: [MetaPayer.metaPayer],
    onTrouble: (error) => Effect.sync(() => onTrouble(error)),
    ...(limits === undefined ? {} : { limits }),
    ...(allow === undefined ? {} : { allow }),
    ...(choose === undefined ? {} : { choose }),
    ...(lookup === undefined ? {} : { lookup: (paymentId) => lookUp(lookup, paymentId) }),
    ...(confirm === undefined ? {} : { confirm: (quote) => Effect.promise(async () => isYes(confirm(quote))) }),
    ...(onPayment === undefined ? {} : { onPayment: (receipt) => Effect.promise(async () => onPayment(receipt)) })
  })
})

const lookUp = (lookup: NonNullable<PayingToolsOptions["lookup"]>, paymentId: string) =>
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
