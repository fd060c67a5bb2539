/**
 * Buyers: `fetch` with a wallet and limits. Where a server responds with 402, it signs, pays and asks again.
 */
import type { SchemeClient } from "@pontage/core"
import { channelEvm, type EvmAsset, type EvmSmartAccount, exactEvm } from "@pontage/evm"
import { wrapFetch } from "@pontage/fetch"
import { exactTon, type TonSigner } from "@pontage/ton"
import { exactTron } from "@pontage/tron"

/** Pays on the local EVM chain. */
export const buyer = (privateKey: string) =>
  wrapFetch(globalThis.fetch, {
    schemes: [exactEvm.client({ signer: exactEvm.localSigner(privateKey), network: "eip155:31337" })],
    limits: { perRequest: "$0.05", perDay: "$2" }
  })

/** Pays on the local EVM chain in a token without transfer authorizations by Permit2, which the account has approved. */
export const permitBuyer = (privateKey: string, token: EvmAsset.CustomAsset, rpcUrl: string) =>
  buyerWith(
    exactEvm.client({
      signer: exactEvm.localSigner(privateKey),
      network: "eip155:31337",
      assets: [token],
      rpcUrl
    })
  )

/**
 * Pays on the local EVM chain by a smart account, which owns no coin either: by transfer authorizations, and by user operations in
 * tokens without them.
 */
export const accountBuyer = (account: EvmSmartAccount.EvmSmartAccount, token: EvmAsset.CustomAsset) =>
  buyerWith(exactEvm.client({ account, network: "eip155:31337", assets: [token] }))

/** Pays through a channel on the local EVM chain, and follows answers that are sold by the unit while they are sent. */
export const streamBuyer = (privateKey: string, rpcUrl: string) =>
  wrapFetch(globalThis.fetch, {
    schemes: [channelEvm.client({ signer: exactEvm.localSigner(privateKey), network: "eip155:31337", rpcUrl })],
    limits: { perRequest: "$0.01", perStream: "$0.05", perDay: "$2" }
  })

/** Pays on the local TON chain, with a wallet that holds no TON. */
export const tonBuyer = (signer: TonSigner.TonKeyPair, rpcUrl: string) =>
  buyerWith(exactTon.client({ signer, network: "ton:local", rpcUrl }))

/** Pays on the local TRON chain; the fees of the chain are the payer's own. */
export const tronBuyer = (privateKey: string, rpcUrl: string) =>
  buyerWith(exactTron.client({ signer: exactTron.localSigner(privateKey), network: "tron:local", rpcUrl }))

/** Pays shops that are paid on another network, from money on the local EVM chain and without coin on either. */
export const crossBuyer = (privateKey: string, bridges: EvmBridges) =>
  wrapFetch(globalThis.fetch, {
    schemes: [
      exactEvm.client({
        signer: exactEvm.localSigner(privateKey),
        network: "eip155:31337",
        routes: exactEvm.routes({ bridges })
      })
    ],
    limits: { perRequest: "$20", perDay: "$40" }
  })

/** Both ends of bridges beside the known ones. */
type EvmBridges = NonNullable<NonNullable<Parameters<typeof exactEvm.routes>[0]>["bridges"]>

const buyerWith = (scheme: SchemeClient) =>
  wrapFetch(globalThis.fetch, { schemes: [scheme], limits: { perRequest: "$0.05", perDay: "$2" } })
