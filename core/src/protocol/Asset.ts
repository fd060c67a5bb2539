/**
 * Assets: the tokens a payment may be made in, as a scheme knows them.
 */
import type { Network } from "./Network.ts"

/**
 * The properties of a token. They come from a scheme's own table or from the operator's configuration, never from a
 * counterparty, and servers check them against the chain at start.
 */
export interface Asset {
  readonly network: Network
  /** The token contract in the family's wire form (EVM: EIP-55). */
  readonly address: string
  /** Symbol for people: `USDC`. */
  readonly symbol: string
  /** Digits after the point: one whole token is `10^decimals` of the smallest unit. */
  readonly decimals: number
  /** Whether one whole token is one dollar, so that a dollar price maps to it 1:1. */
  readonly dollar: boolean
  /** Facts that a payer needs to sign for it, sent as `extra` (EVM: `name` and `version` of the EIP-712 domain). */
  readonly extra: Readonly<Record<string, string>>
}
