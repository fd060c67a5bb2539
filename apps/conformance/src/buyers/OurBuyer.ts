/**
 * Our paying `fetch`.
 */
import { mppPayer } from "@pontage/core"
import * as BaseSepolia from "@pontage/devnet/BaseSepolia"
import { exactEvm } from "@pontage/evm"
import { settlementOf, wrapFetch } from "@pontage/fetch"

import type { Buyer, ReadReceipt } from "./Buyer.ts"

/** Wraps a `fetch`. */
export const make: Buyer = ({ crypto, key, send }) =>
  wrapFetch(send, {
    schemes: [exactEvm.client({ signer: exactEvm.localSigner(key, crypto), network: BaseSepolia.network })]
  })

/** Wraps a `fetch` that pays by the Machine Payments Protocol alone. */
export const makeMpp: Buyer = ({ key, send }) =>
  wrapFetch(send, {
    dialects: [mppPayer],
    schemes: [exactEvm.client({ signer: exactEvm.localSigner(key), network: BaseSepolia.network })]
  })

/** For every dialect. */
export const receiptOf: ReadReceipt = (response) => settlementOf(response)?.transaction
