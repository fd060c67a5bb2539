/**
 * Pays for tools: they are called like the SDK's client and return the same results. Only a result that demands a
 * payment is handled, all others pass through unchanged.
 */
import type { Client } from "@modelcontextprotocol/sdk/client/index.js"
import {
  Buyer,
  MetaPayer,
  type Misconfigured,
  MppMetaPayer,
  OptionCheck,
  type PaymentClient,
  type Settlement
} from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"

import * as OutgoingCall from "./OutgoingCall.ts"
import * as ServerAddress from "./ServerAddress.ts"

/** Options for paying. Only `schemes` is required, and on a transport without a URL a name for the `server`. */
export interface PayingToolsOptions extends Buyer.BuyerOptions {
  /**
   * The server's name in `allow.hosts`, limits per host, quotes and the journal: any name if the transport has no URL
   * (stdio). A transport over HTTP uses its own URL, which must be `https` (or this machine).
   */
  readonly server?: string
}

const check = OptionCheck.options<PayingToolsOptions>({
  ...Buyer.keys,
  server: OptionCheck.optional(OptionCheck.text)
})

/**
 * The tools of a server, paid for. In addition to the errors of `Client.callTool`, `callTool` rejects with the tagged
 * errors of paying: `PaymentDeclined` (your rules), `PaymentError` and `ValidationError` (the server's refusal),
 * `SettlementPending` (outcome unknown; call again), `SigningFailed`, and the rest of `PaymentClient.PayFailure`.
 */
export interface PayingTools {
  readonly callTool: Client["callTool"]
  /**
   * The cost of the call, without paying: it is sent once, unpaid. `undefined` if no payment is demanded, and then the
   * tool has run.
   */
  readonly quote: (...parameters: OutgoingCall.CallParameters) => Promise<PaymentClient.Quotation | undefined>
  /** The state of a payment by the journal and, if given, `lookup`. */
  readonly status: (paymentId: string) => Promise<PaymentClient.PaymentStatus>
}

/** Pays for the tools of a client. Throws `Misconfigured` if an option is a mistake. */
export const payTools = (client: Client, options: PayingToolsOptions): PayingTools =>
  Effect.runSync(make(client, options))

/** The same with the services of the context (`Clock`, `Entropy`, `Hash`). */
export const make = Effect.fnUntraced(function* (
  client: Client,
  options: PayingToolsOptions
): Effect.fn.Return<PayingTools, Misconfigured> {
  const { server, ...rest } = yield* Effect.fromResult(OptionCheck.read(check, options))
  const buyer = yield* Buyer.make(rest, OutgoingCall.dialects)
  const named = server === undefined ? undefined : yield* Effect.fromResult(ServerAddress.fromName(server))
  const payable = ({ payable }: OutgoingCall.OutgoingCall) =>
    payable(Result.getOrThrow(ServerAddress.of(client.transport, named)))
  return {
    callTool: async (...parameters) => {
      const call = OutgoingCall.make(client, parameters)
      const response = await call.sendUnpaid()
      const demand = call.isPaid ? undefined : await buyer.demandOf(response, call.signal)
      if (demand === undefined) return call.outcomeOf(response)
      return call.outcomeOf(await buyer.pay(payable(call), demand, call.signal))
    },
    quote: async (...parameters) => {
      const call = OutgoingCall.make(client, parameters)
      const demand = await buyer.demandOf(await call.sendUnpaid(), call.signal)
      return demand === undefined ? undefined : buyer.quote(payable(call), demand, call.signal)
    },
    status: buyer.status
  }
})

/**
 * The receipt on a tool's result: the payment as the server reports it. `undefined` if there is none, or it cannot be
 * read.
 */
export const receiptOf = (result: MetaPayer.ToolResponse): Settlement.Receipt | undefined =>
  MetaPayer.receiptOf(result) ?? MppMetaPayer.receiptOf(result._meta)
