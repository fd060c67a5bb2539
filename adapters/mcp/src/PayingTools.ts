/**
 * Tools that are paid for: called as the SDK's client calls them, they answer likewise. Only a result that asks for a
 * payment is acted on, everything else passes through untouched.
 */
import type { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { Buyer, MetaPayer, type Misconfigured, OptionCheck, type PaymentClient, type Settlement } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"

import * as OutgoingCall from "./OutgoingCall.ts"
import * as ServerAddress from "./ServerAddress.ts"

/**
 * What paying for tools needs. Only `schemes` is required, and on a transport without a URL a name for the `server`.
 */
export interface PayingToolsOptions extends Buyer.BuyerOptions {
  /**
   * What the server is called in `allow.hosts`, limits per host, quotes and the journal: a name of your choice where the
   * transport has no URL (stdio). A transport over HTTP goes by its own URL, and must be `https` (or this machine).
   */
  readonly server?: string
}

const check = OptionCheck.options<PayingToolsOptions>({
  ...Buyer.keys,
  server: OptionCheck.optional(OptionCheck.text)
})

/**
 * The tools of a server, paid for. Beside what `Client.callTool` rejects with, `callTool` rejects with the tagged errors of
 * paying: `PaymentDeclined` (your rules), `PaymentError` and `ValidationError` (the server's no), `SettlementPending` (not
 * known yet; call again), `SigningFailed`, and the rest of `PaymentClient.PayFailure`.
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

/** Pays for the tools of a client. Throws `Misconfigured` where an option is a mistake. */
export const payTools = (client: Client, options: PayingToolsOptions): PayingTools =>
  Effect.runSync(make(client, options))

/** The same with the services of the context (`Clock`, `Entropy`, `Hash`). */
export const make = Effect.fnUntraced(function* (
  client: Client,
  options: PayingToolsOptions
): Effect.fn.Return<PayingTools, Misconfigured> {
  const { server, ...rest } = yield* Effect.fromResult(OptionCheck.read(check, options))
  const buyer = yield* Buyer.make(rest, [MetaPayer.metaPayer])
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
 * The receipt on a tool's result: what the server says it was paid. `undefined` where it says nothing, or nothing that can
 * be read.
 */
export const receiptOf = (result: MetaPayer.ToolAnswer): Settlement.Receipt | undefined => MetaPayer.receiptOf(result)
