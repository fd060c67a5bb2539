/**
 * The buyers of the channel matrix: our client, whose calls of one channel take turns, and the published one, whose calls do not.
 */
import * as BaseSepolia from "@pontage/devnet/BaseSepolia"
import { channelEvm, exactEvm } from "@pontage/evm"
import { wrapFetch } from "@pontage/fetch"
import { toClientEvmSigner } from "@x402/evm"
import { BatchSettlementEvmScheme } from "@x402/evm/batch-settlement/client"
import { wrapFetchWithPayment, x402Client } from "@x402/fetch"
import { createPublicClient, type Hex, http } from "viem"
import { privateKeyToAccount } from "viem/accounts"

import { named } from "../PeerVersions.ts"

/** Requests that a deposit is made for: all of a trial. */
const requestsPerDeposit = 30

/** The parts of a buyer. */
export interface Purse {
  readonly key: Hex
  readonly rpcUrl: string
}

const makeOurs = ({ key, rpcUrl }: Purse): typeof fetch =>
  wrapFetch(fetch, {
    schemes: [
      channelEvm.client({
        signer: exactEvm.localSigner(key),
        network: BaseSepolia.network,
        rpcUrl,
        requestsPerDeposit
      })
    ]
  })

const makePeer = ({ key, rpcUrl }: Purse): typeof fetch => {
  const signer = toClientEvmSigner(privateKeyToAccount(key), createPublicClient({ transport: http(rpcUrl) }))
  const scheme = new BatchSettlementEvmScheme(signer, {
    depositStrategy: () => `${BigInt(requestsPerDeposit) * BaseSepolia.amount}`
  })
  const client = x402Client.fromConfig({
    schemes: [{ network: BaseSepolia.network, client: scheme }],
    spendControls: false
  })
  return wrapFetchWithPayment(fetch, client)
}

/** The buyers, in the order of the table. `takesTurns`: a call is sent when the one before it has its response. */
export const buyers = {
  ours: { title: "our client", make: makeOurs, takesTurns: true },
  peer: { title: named("@x402/fetch"), make: makePeer, takesTurns: false }
} as const
