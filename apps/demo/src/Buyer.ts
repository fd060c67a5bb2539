/**
 * Buyers: `fetch` with a wallet and limits. Where a server responds with 402, it signs, pays and asks again.
 */
import type { SchemeClient } from "@pontage/core"
import { type EvmSmartAccount, exactEvm } from "@pontage/evm"
import { wrapFetch } from "@pontage/fetch"
import { exactTon, type TonSigner } from "@pontage/ton"
import { exactTron } from "@pontage/tron"

/** Pays on the local EVM chain. */
export const buyer = (privateKey: string) =>
  wrapFetch(globalThis.fetch, {
    schemes: [exactEvm.client({ signer: exactEvm.localSigner(privateKey), network: "eip155:31337" })],
    limits: { perRequest: "$0.05", perDay: "$2" }
  })

/** Pays on the local EVM chain by a smart account, which owns no coin either: by transfer authorizations, or by user operations. */
export const accountBuyer = (account: EvmSmartAccount.EvmSmartAccount, pays?: "userOperations") =>
  buyerWith(exactEvm.client({ signer: exactEvm.smartAccount(account, pays && { pays }), network: "eip155:31337" }))

/** Pays on the local TON chain, with a wallet that holds no TON. */
export const tonBuyer = (signer: TonSigner.TonKeyPair, rpcUrl: string) =>
  buyerWith(exactTon.client({ signer, network: "ton:local", rpcUrl }))

/** Pays on the local TRON chain; the fees of the chain are the payer's own. */
export const tronBuyer = (privateKey: string, rpcUrl: string) =>
  buyerWith(exactTron.client({ signer: exactTron.localSigner(privateKey), network: "tron:local", rpcUrl }))

const buyerWith = (scheme: SchemeClient) =>
  wrapFetch(globalThis.fetch, { schemes: [scheme], limits: { perRequest: "$0.05", perDay: "$2" } })
