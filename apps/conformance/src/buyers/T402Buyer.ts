/**
 * A paying `fetch` from the other peer's client classes, as its README spells it out.
 */
import { t402Client, t402HTTPClient } from "@t402/core/client"
import { registerExactEvmScheme } from "@t402/evm/exact/client"
import { privateKeyToAccount } from "viem/accounts"

import type { Buyer, ReadReceipt } from "./Buyer.ts"

/** Wraps a `fetch`. */
export const make: Buyer = ({ key, send }) => {
  const core = new t402Client()
  registerExactEvmScheme(core, { signer: privateKeyToAccount(key) })
  const client = new t402HTTPClient(core)
  return async (url, init) => {
    const response = await send(url, init)
    if (response.status !== 402) return response
    const body: unknown = await response.json()
    const required = client.getPaymentRequiredResponse((name) => response.headers.get(name), body)
    const payment = client.encodePaymentSignatureHeader(await client.createPaymentPayload(required))
    return send(url, { ...init, headers: { ...Object.fromEntries(new Headers(init?.headers)), ...payment } })
  }
}

/** As its HTTP client reads it. */
export const receiptOf: ReadReceipt = ({ headers, ok }) =>
  ok
    ? new t402HTTPClient(new t402Client()).getPaymentSettleResponse((name) => headers.get(name)).transaction
    : undefined
