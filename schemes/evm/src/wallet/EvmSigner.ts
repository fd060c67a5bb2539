/**
 * Who signs for a payer. A viem account fits as it is; a wallet in a browser (EIP-1193) is wrapped in one call. The wallet
 * computes the digest from the typed data, so its owner sees what is signed.
 */
import { SigningFailed } from "@pontage/core"

import type * as EvmHex from "../primitives/EvmHex.ts"
import * as Eip3009 from "../transfer/Eip3009.ts"

/** Signs EIP-712 typed data for one account. */
export interface EvmSigner {
  readonly address: string
  readonly signTypedData: (data: Eip3009.TypedData) => Promise<string>
}

/** The one method of a browser wallet that is used (EIP-1193). */
export interface Eip1193Provider {
  readonly request: (call: {
    readonly method: "eth_signTypedData_v4"
    readonly params: [address: EvmHex.Hex, typedData: string]
  }) => Promise<unknown>
}

/** A browser wallet's account as a signer: `fromEip1193(window.ethereum, address)`. */
export const fromEip1193 = (provider: Eip1193Provider, address: EvmHex.Hex): EvmSigner => ({
  address,
  signTypedData: async (data) => {
    const answer = await provider.request({ method: "eth_signTypedData_v4", params: [address, Eip3009.toJson(data)] })
    if (typeof answer === "string") return answer
    throw new SigningFailed({ message: `the wallet of ${address} answered something that is no text` })
  }
})
