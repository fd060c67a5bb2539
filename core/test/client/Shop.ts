/**
 * A shop without a network: it plays the responses it is given to paid requests, one after another, the last one for ever.
 */
import * as Effect from "effect/Effect"

import type { PayableRequest } from "../../src/client/PayableRequest.ts"
import { NoResponse } from "../../src/client/PurchaseResponse.ts"
import type { PaymentRequired } from "../../src/protocol/PaymentRequired.ts"
import type { PaymentRequirements } from "../../src/protocol/PaymentRequirements.ts"
import type { Settlement } from "../../src/protocol/Settlement.ts"
import type { HeaderFields } from "../../src/wire/pontage/Dialect.ts"
import { protocolSeller } from "../../src/wire/pontage/ProtocolSeller.ts"
import * as Wallet from "./Wallet.ts"

export type Reply = () => Effect.Effect<Response, NoResponse>

/** A refusal of the dialect, or something like one. */
export const refusal = (
  status: number,
  body: Partial<PaymentRequired> & { readonly accepts?: ReadonlyArray<PaymentRequirements> } = {},
  headers: Readonly<Record<string, string>> = {}
): Response => {
  const full = { error: "pay", accepts: [Wallet.offer()], ...body }
  return new Response(JSON.stringify(full), {
    status,
    headers: { ...protocolSeller.refusal(full).headers, ...headers }
  })
}

export const receipt = {
  success: true,
  transaction: "0xabc",
  network: Wallet.network,
  payer: "0x4444444444444444444444444444444444444444",
  amount: "10000",
  paymentId: "pay_0123456789abcdefghijkl"
} as const

/** A response with a receipt, which has the scheme's own facts if there are some. */
export const paid = (body = "the report", status = 200, extra?: Settlement["extra"]): Reply =>
  reply(() => {
    const said = { ...receipt, ...(extra && { extra }) }
    return new Response(body, { status, headers: { ...protocolSeller.receiptHeaders(said, { now: 0 }) } })
  })

export const reply =
  (make: () => Response): Reply =>
  () =>
    Effect.sync(make)

export const refuse = (...args: Parameters<typeof refusal>): Reply => reply(() => refusal(...args))

export const reset: Reply = () => Effect.fail(new NoResponse({ cause: new Error("ECONNRESET") }))

export const never: Reply = () => Effect.never

export interface Shop {
  /** The request that a caller makes; the same every time unless it is named otherwise. */
  readonly request: (changes?: Partial<PayableRequest>) => PayableRequest
  /** The values of the payment headers that arrived, in order. */
  readonly payments: Array<string>
  /** The headers that paid, in order. */
  readonly headers: Array<HeaderFields>
  readonly urls: Array<string>
}

export const make = (...replies: ReadonlyArray<Reply>): Shop => {
  const payments: Array<string> = []
  const headers: Array<HeaderFields> = []
  const urls: Array<string> = []
  const request: Shop["request"] = (changes = {}) => ({
    method: "GET",
    url: "https://shop.example/report",
    body: Effect.succeed(new Uint8Array()),
    send: (url, added) =>
      Effect.suspend(() => {
        const next = replies[Math.min(payments.length, replies.length - 1)] ?? never
        payments.push(Object.values(added).join())
        headers.push(added)
        urls.push(url)
        return next()
      }),
    ...changes
  })
  return { request, payments, headers, urls }
}
