/**
 * The peer's older paying `fetch`, which speaks only the protocol's first version.
 */
import { type Chain, createWalletClient, http, publicActions } from "viem"
import { privateKeyToAccount } from "viem/accounts"
import { baseSepolia } from "viem/chains"
import { decodeXPaymentResponse, wrapFetchWithPayment } from "x402-fetch"

import type { Buyer, ReadReceipt } from "./Buyer.ts"

/** Without what only this chain's type says, which the older package's types do not know. */
const chain: Chain = baseSepolia

/** Wraps a `fetch`. */
export const make: Buyer = ({ key, rpcUrl, send }) => {
  const account = privateKeyToAccount(key)
  const wallet = createWalletClient({ account, chain, transport: http(rpcUrl) }).extend(publicActions)
  return wrapFetchWithPayment(send, wallet)
}

/** The older version's header. */
export const receiptOf: ReadReceipt = ({ headers }) => {
  const receipt = headers.get("X-PAYMENT-RESPONSE")
  return receipt === null ? undefined : decodeXPaymentResponse(receipt).transaction
}
