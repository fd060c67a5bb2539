/**
 * Our paying `fetch`.
 */
import { exactEvm } from "@pontage/evm"
import { wrapFetch } from "@pontage/fetch"
import { privateKeyToAccount } from "viem/accounts"

import * as BaseSepolia from "./BaseSepolia.ts"
import type { Buyer } from "./Buyer.ts"

/** Wraps a `fetch`. */
export const make: Buyer = ({ key, send }) =>
  wrapFetch(send, { schemes: [exactEvm.client({ signer: privateKeyToAccount(key), network: BaseSepolia.network })] })
