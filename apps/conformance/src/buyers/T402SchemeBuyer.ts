import * as BaseSepolia from "@pontage/devnet/BaseSepolia"
/**
 * The first peer's paying `fetch` with the other peer's scheme classes in it, but for the name of the version's field.
 */
import type { SchemeNetworkClient as T402SchemeClient } from "@t402/core/types"
import { ExactEvmScheme } from "@t402/evm/exact/client"
import { ExactEvmSchemeV1 } from "@t402/evm/exact/v1/client"
import type { SchemeNetworkClient } from "@x402/core/types"
import { wrapFetchWithPayment, x402Client } from "@x402/fetch"
import { privateKeyToAccount } from "viem/accounts"

import type { Buyer } from "./Buyer.ts"

/** Wraps a `fetch`. Spend controls ask the scheme for its known tokens, which these cannot tell. */
export const make: Buyer = ({ key, send }) => {
  const signer = privateKeyToAccount(key)
  const schemes = [
    { network: BaseSepolia.network, client: renamed(new ExactEvmScheme(signer)) },
    { network: legacyNetwork, client: renamed(new ExactEvmSchemeV1(signer)), x402Version: 1 }
  ] as const
  return wrapFetchWithPayment(send, x402Client.fromConfig({ schemes: [...schemes], spendControls: false }))
}

const renamed = (scheme: T402SchemeClient): SchemeNetworkClient => ({
  scheme: scheme.scheme,
  createPaymentPayload: async (x402Version, requirements) => {
    const { t402Version: _, ...payment } = await scheme.createPaymentPayload(x402Version, requirements)
    return { x402Version, ...payment }
  }
})

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- newer network names contain a colon, older ones do not
const legacyNetwork = BaseSepolia.legacyNetwork as `${string}:${string}`
