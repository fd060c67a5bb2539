/**
 * Signers of payers. A viem account fits as it is; `fromEip1193` wraps a browser wallet. The wallet computes the digest from
 * the typed data, so its owner sees the terms before signing.
 */
import { type SignedPayment, SigningFailed, type SigningRequest } from "@pontage/core"
import type * as Effect from "effect/Effect"

import type * as EvmAddress from "../primitives/EvmAddress.ts"
import type * as EvmHex from "../primitives/EvmHex.ts"
import * as Eip3009 from "../transfer/Eip3009.ts"

/** Signs EIP-712 typed data for one account. */
export interface EvmSigner {
  readonly address: string
  readonly signTypedData: (data: Eip3009.TypedData) => Promise<string>
  /** User operations, of a smart account that signs them (`exactEvm.smartAccount`). */
  readonly operations?: OperationSigner
}

/** Signs payments as user operations (ERC-4337) for one account. */
export interface OperationSigner {
  /** Whether the account signs nothing else: its code has no ERC-1271. */
  readonly isOnly: boolean
  /** The reason, for people, why an offer of these further terms takes no operation of the account. */
  readonly objection: (extra: Readonly<Record<string, unknown>>) => string | undefined
  /** Signs what the core has decided on, for the account at this address. */
  readonly sign: (sender: EvmAddress.Address, request: SigningRequest) => Effect.Effect<SignedPayment, SigningFailed>
}

/** The method in use of a browser wallet (EIP-1193). */
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
    const result = await provider.request({ method: "eth_signTypedData_v4", params: [address, Eip3009.toJson(data)] })
    if (typeof result === "string") return result
    throw new SigningFailed({
      message: `the wallet of ${address} returned ${typeof result} instead of a signature's text`
    })
  }
})
