import * as BaseSepolia from "@pontage/devnet/BaseSepolia"
/**
 * Our paying `fetch`.
 */
import { exactEvm } from "@pontage/evm"
import { settlementOf, wrapFetch } from "@pontage/fetch"

import type { Buyer, ReadReceipt } from "./Buyer.ts"

/** Wraps a `fetch`. */
export const make: Buyer = ({ crypto, key, send }) =>
  wrapFetch(send, {
    schemes: [exactEvm.client({ signer: exactEvm.localSigner(key, crypto), network: BaseSepolia.network })]
  })

/** For every dialect. */
export const receiptOf: ReadReceipt = (response) => settlementOf(response)?.transaction
