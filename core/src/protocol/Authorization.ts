/**
 * What a signed payment says, in the words all schemes share. A scheme reads it from the signed bytes; the core compares
 * it with the offer and claims it, so that no scheme repeats these checks and none forgets one.
 */
import type { RequestBinding } from "./PaymentPayload.ts"

/** The common terms of a signed authorization. */
export interface Authorization {
  /** Who pays, in the family's wire form. */
  readonly payer: string
  /** Who is paid, in the family's wire form. */
  readonly payTo: string
  /** The token, in the family's wire form. */
  readonly asset: string
  /** In the smallest unit of the asset. */
  readonly amount: bigint
  /** The single-use key that the chain itself consumes (EVM: the EIP-3009 nonce), canonical. */
  readonly nonce: string
  /** Unix seconds: the chain refuses it at or before this instant. 0 where the family has no such bound. */
  readonly validAfter: number
  /** Unix seconds: the chain refuses it at or after this instant. */
  readonly validBefore: number
  /** The request it was signed for; only where the scheme has proven that `nonce` was derived from it. */
  readonly binding: RequestBinding | undefined
}
