/**
 * The options of the scheme facilitator of payment channels, and their check: unknown keys and values of another type are refused by
 * name.
 */
import * as OptionCheck from "@pontage/core/OptionCheck"

import * as SenderOptions from "../exact/SenderOptions.ts"
import * as MinimumPrice from "../sending/MinimumPrice.ts"
import type { EvmSigner } from "../wallet/EvmSigner.ts"

/** A key of the facilitator that authorizes claims and refunds for shops that have none of their own. */
export interface LentAuthorizer {
  /** The key. It signs no transactions: give it another one than `signer`. */
  readonly signer: EvmSigner
  /**
   * The callers for whom it signs, by name; default all. A caller that may have it sign can close the channels that name it: where
   * the facilitator has callers of its own, name those with registered payees alone.
   */
  readonly callers?: (caller: string) => boolean
}

/** Options of `channelEvm.facilitator`. */
export interface Options extends SenderOptions.SenderOptions, MinimumPrice.MinimumOptions {
  /** The facilitator's own key for claims and refunds; default none, then each shop signs with its own. */
  readonly authorizer?: LentAuthorizer
  /**
   * The least deposit, in the token's smallest unit; default 10 000, a cent of a dollar token. Each deposit costs gas. A higher
   * `minimumPrice` holds for deposits too.
   */
  readonly minimumDeposit?: bigint
}

const authorizer = OptionCheck.having<EvmSigner>(
  "a signer, such as channelEvm.localSigner(privateKey) or a viem local account",
  "address",
  "signTypedData"
)

/** The check of {@link Options}. */
export const check = OptionCheck.options<Options>({
  ...SenderOptions.checksOf("channelEvm"),
  ...MinimumPrice.checks,
  authorizer: OptionCheck.optional(
    OptionCheck.options<LentAuthorizer>({
      signer: authorizer,
      callers: OptionCheck.optional(OptionCheck.callable())
    })
  ),
  minimumDeposit: OptionCheck.optional(OptionCheck.amount(1n))
})
