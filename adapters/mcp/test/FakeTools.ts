/**
 * A shop of tools with fake chains and facilitator and a real gate, and payments as any payer of the transport writes
 * them.
 */
import type { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { type CallToolResult, CallToolResultSchema } from "@modelcontextprotocol/sdk/types.js"
import type { Seller } from "@pontage/core"

import * as FakeFacilitator from "../../../core/test/server/FakeFacilitator.ts"
import * as FakeScheme from "../../../core/test/server/FakeScheme.ts"
import { sellTools, type ToolShop } from "../src/index.ts"

export const terms = { network: "eip155:8453", price: "$0.01", payTo: FakeScheme.alice } as const

export const options = (facilitator: {
  readonly layer: Seller.SellerOptions["facilitator"]
}): Seller.SellerOptions => ({
  origin: "https://shop.example",
  facilitator: facilitator.layer,
  schemes: [FakeScheme.evm()],
  secret: "s".repeat(32)
})

export interface FakeTools {
  readonly shop: ToolShop
  readonly facilitator: ReturnType<typeof FakeFacilitator.make>
}

export const make = (says?: Parameters<typeof FakeFacilitator.make>[0]): FakeTools => {
  const facilitator = FakeFacilitator.make(says)
  return { facilitator, shop: sellTools(options(facilitator)) }
}

/** A payment request as it travels. */
export interface PaymentRequest {
  readonly x402Version: number
  readonly error: string
  readonly resource: unknown
  readonly accepts: ReadonlyArray<{ readonly extra: Readonly<Record<string, unknown>> }>
}

export const requestIn = (result: CallToolResult): PaymentRequest => {
  if (result.isError !== true) throw new Error(`expected a refusal, got ${JSON.stringify(result)}`)
  return result.structuredContent as unknown as PaymentRequest
}

/** A payment for the first offer, bound to its request where it has a challenge. */
export const paymentFor = ({ accepts: [accepted], resource }: PaymentRequest, salt = "A".repeat(22)) => ({
  "x402/payment": {
    x402Version: 2,
    payload: {
      signature: "0x00",
      ...(accepted?.extra["challenge"] !== undefined && { binding: { challenge: accepted.extra["challenge"], salt } })
    },
    resource,
    accepted
  }
})

/** Calls a tool as the SDK does. */
export const call = async (
  client: Client,
  name: string,
  args: Record<string, unknown> = {},
  _meta?: Record<string, unknown>
): Promise<CallToolResult> => {
  const params = { name, arguments: args, ...(_meta !== undefined && { _meta }) }
  return CallToolResultSchema.parse(await client.request({ method: "tools/call", params }, CallToolResultSchema))
}

/** Asks, and pays what is asked. */
export const buy = async (client: Client, name: string, args: Record<string, unknown> = {}): Promise<CallToolResult> =>
  call(client, name, args, paymentFor(requestIn(await call(client, name, args))))
