/**
 * The terms of a signed payment, in the words that all schemes share. A scheme reads them from the signed bytes; the core
 * compares them with the offer and claims the payment, so that no scheme repeats these checks and none forgets one.
 */
import type { RequestBinding } from "./PaymentPayload.ts"

/** The common terms of a signed authorization. */
export interface Authorization {
  /** The payer's address in the family's wire form. */
  readonly payer: string
  /** The recipient's address in the family's wire form. */
  readonly payTo: string
  /** The token, in the family's wire form. */
  readonly asset: string
  /** Amount in the smallest unit of the asset. */
  readonly amount: bigint
  /** The single-use key that the chain itself consumes (EVM: the EIP-3009 nonce), canonical. */
  readonly nonce: string
  /** Unix seconds: the chain refuses it at or before this instant. 0 where the family has no such bound. */
  readonly validAfter: number
  /** Unix seconds: the chain refuses it at or after this instant. */
  readonly validBefore: number
  /** The request that it was signed for; present only if the scheme has checked that `nonce` was derived from it. */
  readonly binding: RequestBinding | undefined
  /** Present if the money goes on to another network: then `amount` is more than arrives there. */
  readonly arrival?: Arrival
}

/** The end of a payment on another network, beside the one that the presented offer asks for; both in the asset's smallest unit. */
export interface Arrival {
  /** The least amount that arrives, as it was signed. */
  readonly amount: bigint
  /** The amount that the offer asks to arrive: its price, without the fee of the way. */
  readonly asked: bigint
}
