/**
 * Smart accounts of payers (ERC-4337): a viem smart account fits as it is, and so does any other that signs user operations.
 */
import type * as EvmHex from "../primitives/EvmHex.ts"
import type { EvmSigner } from "./EvmSigner.ts"
import type { NodeRequest } from "./NodeReading.ts"

/** The operation to sign, with an empty signature; numbers are exact, and prices are zero. */
export interface OperationToSign {
  readonly sender: EvmHex.Hex
  readonly nonce: bigint
  readonly factory?: EvmHex.Hex
  readonly factoryData?: EvmHex.Hex
  readonly callData: EvmHex.Hex
  readonly callGasLimit: bigint
  readonly verificationGasLimit: bigint
  readonly preVerificationGas: bigint
  readonly maxFeePerGas: bigint
  readonly maxPriorityFeePerGas: bigint
  readonly signature: EvmHex.Hex
  readonly chainId: number
  /** The last second of the validity, since 1970, for an account that {@link EvmSmartAccount.signsValidity}. */
  readonly validUntil?: number
}

/** A call of the account, without coin. */
export interface CallToEncode {
  readonly to: EvmHex.Hex
  readonly data: EvmHex.Hex
  readonly value: bigint
}

/** The plain account behind a smart account that is its delegation (EIP-7702): it signs the authorization. */
export interface DelegatingAccount {
  readonly account: {
    readonly signAuthorization?: (terms: {
      readonly address: EvmHex.Hex
      readonly chainId: number
      readonly nonce: number
    }) => Promise<{ readonly r: EvmHex.Hex; readonly s: EvmHex.Hex; readonly yParity?: number | undefined }>
  }
  /** The code to delegate to. */
  readonly address: EvmHex.Hex
}

/** An account that signs user operations, and typed data where its code has ERC-1271. */
export interface EvmSmartAccount extends EvmSigner {
  readonly address: EvmHex.Hex
  readonly entryPoint: { readonly address: string }
  readonly encodeCalls: (calls: ReadonlyArray<CallToEncode>) => Promise<EvmHex.Hex>
  /** The factory and its calldata as long as the account is not deployed; afterwards none. */
  readonly getFactoryArgs: () => Promise<{
    readonly factory?: EvmHex.Hex | undefined
    readonly factoryData?: EvmHex.Hex | undefined
  }>
  /** For an account of EIP-7702: without its code on the chain the first payment carries its delegation. */
  readonly authorization?: DelegatingAccount | undefined
  readonly isDeployed?: () => Promise<boolean>
  /** The node that shows the payment guard, and that counts the plain account's transactions for the delegation. */
  readonly client?: { readonly request: NodeRequest }
  /** Whether its signature of an operation has `validUntil`, as a Safe's has: it needs no payment guard, so no node is asked. */
  readonly signsValidity?: true
  readonly signUserOperation: (operation: OperationToSign) => Promise<EvmHex.Hex>
}
