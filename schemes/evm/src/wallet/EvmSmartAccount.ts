/**
 * Smart accounts of payers (ERC-4337): a viem smart account fits as it is, and so does any other that signs user operations.
 */
import type * as EvmHex from "../primitives/EvmHex.ts"
import type { EvmSigner } from "./EvmSigner.ts"

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
}

/** A call of the account, without coin. */
export interface CallToEncode {
  readonly to: EvmHex.Hex
  readonly data: EvmHex.Hex
  readonly value: bigint
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
  readonly signUserOperation: (operation: OperationToSign) => Promise<EvmHex.Hex>
}
