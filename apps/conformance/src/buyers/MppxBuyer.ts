/**
 * The paying `fetch` of the Machine Payments Protocol's own package, for its method `evm`.
 */
import * as BaseSepolia from "@pontage/devnet/BaseSepolia"
import { Receipt } from "mppx"
import { evm, Mppx } from "mppx/client"
import { privateKeyToAccount } from "viem/accounts"

import type { Buyer, ReadReceipt } from "./Buyer.ts"

const { name, version } = BaseSepolia.tokenDomain

/** Wraps a `fetch`. */
export const make: Buyer = ({ key, send }) => {
  const methods = [evm({ account: privateKeyToAccount(key), authorization: { name, version } })]
  const { fetch } = Mppx.create({ fetch: send, polyfill: false, methods })
  return (url, init) => fetch(url, init)
}

/** Its receipt, as the package reads it. */
export const receiptOf: ReadReceipt = ({ headers }) => {
  const text = headers.get("payment-receipt")
  return text === null ? undefined : Receipt.deserialize(text).reference
}
