/**
 * A `fetch` that pays. It is called like the one it wraps and answers like it: only a refusal that asks for a payment is
 * acted on, everything else passes through untouched.
 */
import { type Misconfigured, type PayerDialect, type Settlement, PayerDialects } from "@pontage/core"
import * as Buyer from "@pontage/core/Buyer"
import * as OptionCheck from "@pontage/core/OptionCheck"
import * as PaymentClient from "@pontage/core/PaymentClient"
import * as Effect from "effect/Effect"

import * as OutgoingRequest from "./OutgoingRequest.ts"
import type { FetchFunction } from "./OutgoingRequest.ts"

/** What a paying `fetch` is made of. Only `schemes` is required. */
export interface PayingFetchOptions extends Buyer.BuyerOptions {
  /** The longest stream that is read into memory so that it can be sent again. Default 1 MiB. */
  readonly maxBodyBytes?: number
  /** The wire formats that are understood, in the order of preference; every known one where nothing is said. */
  readonly dialects?: ReadonlyArray<PayerDialect>
}

const check = OptionCheck.options<PayingFetchOptions>({
  ...Buyer.keys,
  maxBodyBytes: OptionCheck.optional(OptionCheck.whole()),
  dialects: PaymentClient.keys.dialects
})

/**
 * The wrapped function. Beside what `fetch` rejects with it rejects with the tagged errors of paying: `PaymentDeclined`
 * (your rules), `PaymentError` and `ValidationError` (the server's no), `SettlementPending` (not known yet; ask again),
 * `SigningFailed`, and the rest of `PaymentClient.PayFailure`.
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

/** Wraps a `fetch`. Throws `Misconfigured` where an option is a mistake. */
export const wrapFetch = (fetch: FetchFunction, options: PayingFetchOptions): PayingFetch =>
  Effect.runSync(make(fetch, options))

/** Wraps a `fetch` with the services of the context (`Clock`, `Entropy`, `Hash`). */
export const make = Effect.fnUntraced(function* (
  fetch: FetchFunction,
  options: PayingFetchOptions
): Effect.fn.Return<PayingFetch, Misconfigured> {
  const checked = yield* Effect.fromResult(OptionCheck.read(check, options))
  const { dialects = PayerDialects.usual, maxBodyBytes = defaultMaxBodyBytes, ...rest } = checked
  const buyer = yield* Buyer.make(rest, dialects)
  const paying: FetchFunction = async (input, init = {}) => {
    const request = OutgoingRequest.make(fetch, input, init, maxBodyBytes)
    const response = await request.sendUnpaid()
    if (response.status !== 402 || !isOurs(request, dialects)) return response
    const demand = await buyer.demandOf(response, request.signal)
    return demand === undefined ? response : buyer.pay(await request.payable(), demand, request.signal)
  }
  const quote: PayingFetch["quote"] = async (input, init = {}) => {
    const request = OutgoingRequest.make(fetch, input, init, maxBodyBytes)
    const response = await request.sendUnpaid()
    const demand = await buyer.demandOf(response, request.signal)
    if (demand !== undefined) return buyer.quote(await request.payable(), demand, request.signal)
    await response.body?.cancel()
    return undefined
  }
  return Object.assign(paying, { quote, status: buyer.status })
})

/**
 * The receipt on an answer: what the server says it was paid. `undefined` where it says nothing, or nothing that can be
 * read. Not every wire format tells the payer, the amount and the payment's id; `onPayment` is told all of them.
 */
export const settlementOf = (
  response: Response,
  dialects: ReadonlyArray<PayerDialect> = PayerDialects.usual
): Settlement.Receipt | undefined => PayerDialects.readReceipt(dialects, (name) => response.headers.get(name))

/**
 * A caller that sends a payment of its own handles the refusal too; and nothing is paid for HEAD, whose answer has nothing
 * in it.
 */
const isOurs = ({ headers, method }: OutgoingRequest.OutgoingRequest, dialects: ReadonlyArray<PayerDialect>): boolean =>
  !dialects.some(({ paymentHeader }) => headers.has(paymentHeader)) && method.toUpperCase() !== "HEAD"
