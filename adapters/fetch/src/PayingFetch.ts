/**
 * A `fetch` that pays. It is called like the wrapped one and returns the same responses: only a refusal that demands a
 * payment is handled, all others pass through unchanged.
 */
import {
  type ChannelEntry,
  type FollowedStream,
  type Misconfigured,
  type OwnPurchase,
  type PayerDialect,
  PayerDialects,
  type PurchaseReceipt,
  type Settlement,
  type TopUps
} from "@pontage/core"
import * as Buyer from "@pontage/core/Buyer"
import * as OptionCheck from "@pontage/core/OptionCheck"
import * as PaymentClient from "@pontage/core/PaymentClient"
import * as Effect from "effect/Effect"

import * as OutgoingRequest from "./OutgoingRequest.ts"
import type { FetchFunction } from "./OutgoingRequest.ts"

/** Options of a paying `fetch`. Only `schemes` is required. */
export interface PayingFetchOptions extends Buyer.BuyerOptions {
  /** Maximum length in bytes of a stream that is read into memory so that it can be sent again. Default 1 MiB. */
  readonly maxBodyBytes?: number
  /** The accepted wire formats, in the order of preference; default: all known ones. */
  readonly dialects?: ReadonlyArray<PayerDialect>
}

const check = OptionCheck.options<PayingFetchOptions>({
  ...Buyer.keys,
  maxBodyBytes: OptionCheck.optional(OptionCheck.whole()),
  dialects: PaymentClient.keys.dialects
})

/**
 * The wrapped function. In addition to the errors of `fetch` it rejects with the tagged errors of paying:
 * `PaymentDeclined` (your rules), `PaymentError` and `ValidationError` (the server's refusal), `SettlementPending`
 * (outcome unknown; repeat the request), `SigningFailed`, and the rest of `PaymentClient.PayFailure`.
 */
export interface PayingFetch extends FetchFunction {
  /** The cost of the request, without paying: it is sent once, unpaid. `undefined` if no payment is demanded. */
  readonly quote: (input: RequestInfo | URL, init?: RequestInit) => Promise<PaymentClient.Quotation | undefined>
  /**
   * Whether the journal has a purchase of this request that is under way: its payment is being signed, is without a known
   * outcome, was refused and has not expired, or is owed a response. Nothing is sent.
   */
  readonly isOpen: (input: RequestInfo | URL, init?: RequestInit) => Promise<boolean>
  /** The state of a payment by the journal and, if given, `lookup`. */
  readonly status: (paymentId: string) => Promise<PaymentClient.PaymentStatus>
  /**
   * Asks the shop that sells this resource to pay back what lies in your payment channel with it and is not spent, or `amount`
   * of it (in the smallest unit of the token). The request is sent once unpaid; its handler does not run. It rejects with
   * `RefundUnanswered` if the shop leaves a request without a response for `refundTimeoutMillis`.
   */
  readonly refund: (
    input: RequestInfo | URL,
    init?: RequestInit & { readonly amount?: bigint }
  ) => Promise<OwnPurchase.Refunded>
  /** Your payment channels by the journal, with the terms that a withdrawal without the shop needs. */
  readonly channels: () => Promise<ReadonlyArray<ChannelEntry.ChannelEntry>>
  /**
   * Brings an amount of your own money from one network to another by the option `topUp`, as `confirm` agrees, and waits until it has
   * arrived. One to the same token that is under way is waited for first; if it is of the same amount, it is this one, as after a crash.
   */
  readonly topUp: (order: TopUps.TopUpOrder, init?: Pick<RequestInit, "signal">) => Promise<TopUps.TopUpReceipt>
}

const defaultMaxBodyBytes = 1024 * 1024

/** Wraps a `fetch`. Throws `Misconfigured` if an option is a mistake. */
export const wrapFetch = (fetch: FetchFunction, options: PayingFetchOptions): PayingFetch =>
  Effect.runSync(make(fetch, options))

const fetchCheck = OptionCheck.options<{ readonly fetch: FetchFunction }>({
  fetch: OptionCheck.given("the fetch to wrap, such as globalThis.fetch", (value) => typeof value === "function")
})

/** Wraps a `fetch` with the services of the context (`Clock`, `Entropy`, `Hash`). */
export const make = Effect.fnUntraced(function* (
  fetch: FetchFunction,
  options: PayingFetchOptions
): Effect.fn.Return<PayingFetch, Misconfigured> {
  yield* Effect.fromResult(OptionCheck.read(fetchCheck, { fetch }, "wrapFetch"))
  const checked = yield* Effect.fromResult(OptionCheck.read(check, options, "wrapFetch"))
  const { dialects = PayerDialects.usual, maxBodyBytes = defaultMaxBodyBytes, ...rest } = checked
  const buyer = yield* Buyer.make(rest, dialects)
  const paying: FetchFunction = async (input, init) => {
    const request = OutgoingRequest.make(fetch, input, init, maxBodyBytes)
    const response = await request.sendUnpaid()
    if (response.status !== 402 || !isOurs(request, dialects)) return response
    const demand = await buyer.demandOf(response, request.signal)
    return demand === undefined
      ? response
      : request.received(buyer.pay(await request.payable(), demand, request.signal))
  }
  const quote: PayingFetch["quote"] = async (input, init) => {
    const request = OutgoingRequest.make(fetch, input, init, maxBodyBytes)
    const response = await request.sendUnpaid()
    const demand = await buyer.demandOf(response, request.signal)
    if (demand !== undefined) return buyer.quote(await request.payable(), demand, request.signal)
    await response.body?.cancel()
    return undefined
  }
  const refund: PayingFetch["refund"] = async (input, given) => {
    const { amount, ...init } = given ?? {}
    // A request without a response does not outlive the call, which the caller's signal ends.
    const over = new AbortController()
    const request = OutgoingRequest.make(fetch, input, { ...init, signal: over.signal }, maxBodyBytes)
    try {
      return await buyer.refund(request, amount, OutgoingRequest.signalOf(input, init))
    } finally {
      over.abort()
    }
  }
  const isOpen: PayingFetch["isOpen"] = async (input, init) =>
    buyer.isOpen(await OutgoingRequest.make(fetch, input, init, maxBodyBytes).payable())
  const topUp: PayingFetch["topUp"] = (order, { signal } = {}) => buyer.topUp(order, signal ?? undefined)
  return Object.assign(paying, { quote, refund, isOpen, topUp, status: buyer.status, channels: buyer.channels })
})

/**
 * The receipt on a response: the payment as the server reports it. `undefined` if there is none, or it cannot be read.
 * Not every wire format contains the payer, the amount and the payment's id; `onPayment` receives all of them. A receipt of
 * the Machine Payments Protocol may name no network, and then it is read on the response of a paying `fetch` alone. On such a
 * response a receipt of another network, amount or challenge than was paid counts as none.
 */
export const settlementOf = (
  response: Response,
  dialects: ReadonlyArray<PayerDialect> = PayerDialects.usual
): Settlement.Receipt | undefined => {
  const settlement = PaymentClient.settlementOf(response)
  if (settlement === undefined && PaymentClient.isPaid(response)) return undefined
  // A bought redirect may have led to another server, which has no say about the payment.
  if (settlement !== undefined && response.redirected) return settlement
  return PayerDialects.readReceipt(dialects, (name) => response.headers.get(name)) ?? settlement
}

/**
 * The shop's signed receipt of a response that a paying `fetch` has paid for, if the shop signs any and its fields are those of the
 * purchase. The signature is not verified: compare `exactEvm.receiptSignerOf(receipt)` of `@pontage/evm` with the address that the
 * shop publishes.
 */
export const signedReceiptOf = (response: Response): PurchaseReceipt.PurchaseReceipt | undefined =>
  PaymentClient.signedReceiptOf(response)

/**
 * The metered stream of a response that a paying `fetch` follows: its terms, what it has signed for by now, and its end. `undefined` for
 * any other response.
 */
export const streamOf = (response: Response): FollowedStream | undefined => PaymentClient.streamOf(response)

/**
 * Whether this call may be paid: a caller that sends a payment of its own handles the refusal too, and HEAD is not
 * paid, because its response has no body.
 */
const isOurs = ({ headers, method }: OutgoingRequest.OutgoingRequest, dialects: ReadonlyArray<PayerDialect>): boolean =>
  !PayerDialects.isPaid(dialects, (name) => headers.get(name)) && method.toUpperCase() !== "HEAD"
