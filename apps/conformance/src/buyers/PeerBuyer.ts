/**
 * The peer's paying `fetch`, with both versions of its protocol registered, as its own helper does it.
 */
import { registerExactEvmScheme } from "@x402/evm/exact/client"
import { wrapFetchWithPayment, x402Client, x402HTTPClient } from "@x402/fetch"
import { privateKeyToAccount } from "viem/accounts"

import type { Buyer, ReadReceipt } from "./Buyer.ts"

/** Wraps a `fetch`. */
export const make: Buyer = ({ key, send }) => {
  const client = new x402Client()
  registerExactEvmScheme(client, { signer: privateKeyToAccount(key) })
  return wrapFetchWithPayment(send, client)
}

/** Both versions' headers, as its HTTP client reads them. */
export const receiptOf: ReadReceipt = ({ headers, ok }) =>
  ok
    ? new x402HTTPClient(new x402Client()).getPaymentSettleResponse((name) => headers.get(name)).transaction
    : undefined
