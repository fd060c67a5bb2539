/**
 * Signers of payers. A viem account fits as it is; `fromEip1193` wraps a browser wallet. The wallet computes the digest from
 * the typed data, so its owner sees the terms before signing.
 */
import { type Network, type SignedPayment, SigningFailed, type SigningRequest } from "@pontage/core"
import * as Effect from "effect/Effect"

import * as EvmSignature from "../crypto/EvmSignature.ts"
import type * as EvmAddress from "../primitives/EvmAddress.ts"
import * as EvmHex from "../primitives/EvmHex.ts"
import * as Eip3009 from "../transfer/Eip3009.ts"

/**
 * Data that is signed for payments: a transfer authorization (EIP-3009), a transfer by Permit2, an approval of Permit2 (EIP-2612),
 * and of a channel a deposit, a voucher, a refund or a batch of claims. Amounts and times are `bigint`s.
 */
export interface TypedData {
  readonly domain: {
    readonly name: string
    readonly version?: string
    readonly chainId: number
    readonly verifyingContract: EvmHex.Hex
  }
  readonly types: Readonly<Record<string, ReadonlyArray<{ readonly name: string; readonly type: string }>>>
  readonly primaryType: string
  readonly message: Readonly<Record<string, unknown>>
}

/** Signs EIP-712 typed data for one account. */
export interface EvmSigner {
  readonly address: string
  readonly signTypedData: (data: TypedData) => Promise<string>
  /** User operations, of a smart account that signs them (`exactEvm.smartAccount`). */
  readonly operations?: OperationSigner
}

/** Signs payments as user operations (ERC-4337) for one account. */
export interface OperationSigner {
  /** Whether the account signs nothing else: its code has no ERC-1271. */
  readonly isOnly: boolean
  /** The reason, for people, why an offer of these further terms takes no operation of the account. */
  readonly objection: (extra: Readonly<Record<string, unknown>>) => string | undefined
  /** The reason, for people, that a node shows against operations on a network: the client's node, or else the account's own. */
  readonly chainObjection: (network: Network.Network, rpcUrl: string | undefined) => Effect.Effect<string | undefined>
  /** Signs what the core has decided on, for the account at this address, where no chain objects. */
  readonly sign: (
    sender: EvmAddress.Address,
    request: SigningRequest,
    rpcUrl: string | undefined
  ) => Effect.Effect<SignedPayment, SigningFailed>
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

/** A signer's signature of typed data; fails where its wallet does not sign, or returns something else. */
export const signatureOf = Effect.fnUntraced(function* (
  signer: EvmSigner,
  data: TypedData
): Effect.fn.Return<EvmHex.Hex, SigningFailed> {
  const signature = yield* Effect.tryPromise({
    try: () => signer.signTypedData(data),
    catch: (cause) => new SigningFailed({ message: `the wallet of ${signer.address} did not sign`, cause })
  })
  if (isSignature(signature)) return signature
  const message = `the wallet of ${signer.address} returned something that is not a signature`
  return yield* new SigningFailed({ message })
})

/** Only the payer's account defines the form of its signatures; but none is empty, and none is longer than the accepted maximum. */
const isSignature = (text: string): text is EvmHex.Hex =>
  EvmHex.isHex(text) && text !== "0x" && text.length <= 2 + 2 * EvmSignature.maximumBytes
