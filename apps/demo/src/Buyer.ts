/**
 * A buyer: `fetch` with a wallet and limits. Where a server answers 402, it signs, pays and asks again.
 */
import { exactEvm } from "@pontage/evm"
import { wrapFetch } from "@pontage/fetch"
import { type Hex } from "viem"
import { privateKeyToAccount } from "viem/accounts"

export const buyer = (privateKey: Hex) =>
  wrapFetch(globalThis.fetch, {
    schemes: [exactEvm.client({ signer: privateKeyToAccount(privateKey), network: "eip155:31337" })],
    limits: { perRequest: "$0.05", perDay: "$2" }
  })
