/**
 * The options of the scheme facilitator of payment channels, and their check: unknown keys and values of another type are refused by
 * name.
 */
import * as OptionCheck from "@pontage/core/OptionCheck"

import * as EvmNetwork from "../primitives/EvmNetwork.ts"
import * as EvmAsset from "../transfer/EvmAsset.ts"
import type { EvmSigner } from "../wallet/EvmSigner.ts"
import type { EvmTransactionSigner } from "../wallet/EvmTransactionSigner.ts"

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
export interface Options {
  /** The account that sends transactions and pays their gas, or several. No other scheme may send from them. */
  readonly signer: EvmTransactionSigner | ReadonlyArray<EvmTransactionSigner>
  readonly rpcUrl: string
  /** `eip155:<chain id>`, or a name such as `base`; default the network that the RPC serves. */
  readonly network?: string
  /** Tokens beside the known ones; channels in no other token are served. */
  readonly assets?: ReadonlyArray<EvmAsset.CustomAsset>
  /** The facilitator's own key for claims and refunds; default none, then each shop signs with its own. */
  readonly authorizer?: LentAuthorizer
  /** The least deposit, in the token's smallest unit; default 10 000, a cent of a dollar token. Each deposit costs gas. */
  readonly minimumDeposit?: bigint
  /** The maximum price of a unit of gas, in wei; default 500 gwei. While the chain costs more, nothing is sent. */
  readonly maxFeePerGas?: bigint
  /** Blocks behind the head from which a block counts as final; default 64. */
  readonly finalityDepth?: number
  /** The limit of losses by failed transactions in 24 hours, in wei; default as for `exactEvm.facilitator`. */
  readonly lossBudget?: bigint
  /** The part of `lossBudget` for one caller, in wei; default its share by `callers`, else a quarter. */
  readonly lossBudgetPerCaller?: bigint
  /** The names of the callers who share `lossBudget`. */
  readonly callers?: ReadonlyArray<string>
  /** Milliseconds of the ban of a payer whose deposit failed on the chain by its own fault; default one hour. */
  readonly banMillis?: number
  /** Timeout of a request to the RPC, in milliseconds; default 10 000. */
  readonly rpcTimeoutMillis?: number
  /** Called with the method of each request to the RPC, for counting. */
  readonly onRequest?: (method: string) => void
}

const sender = OptionCheck.having<EvmTransactionSigner>(
  "a signer, such as channelEvm.localSigner(privateKey) or a viem local account",
  "address",
  "signTransaction"
)

const authorizer = OptionCheck.having<EvmSigner>(
  "a signer, such as channelEvm.localSigner(privateKey) or a viem local account",
  "address",
  "signTypedData"
)

/** The check of {@link Options}. */
export const check = OptionCheck.options<Options>({
  signer: OptionCheck.either(sender, OptionCheck.list(sender)),
  rpcUrl: OptionCheck.nodeUrl(EvmNetwork.nodeExample),
  network: OptionCheck.optional(OptionCheck.text),
  assets: OptionCheck.optional(EvmAsset.check),
  authorizer: OptionCheck.optional(
    OptionCheck.options<LentAuthorizer>({
      signer: authorizer,
      callers: OptionCheck.optional(OptionCheck.callable())
    })
  ),
  minimumDeposit: OptionCheck.optional(OptionCheck.amount(1n)),
  maxFeePerGas: OptionCheck.optional(OptionCheck.amount(1n)),
  finalityDepth: OptionCheck.optional(OptionCheck.whole()),
  lossBudget: OptionCheck.optional(OptionCheck.amount(1n)),
  lossBudgetPerCaller: OptionCheck.optional(OptionCheck.amount(1n)),
  callers: OptionCheck.optional(OptionCheck.list(OptionCheck.text)),
  banMillis: OptionCheck.optional(OptionCheck.whole()),
  rpcTimeoutMillis: OptionCheck.optional(OptionCheck.whole(1)),
  onRequest: OptionCheck.optional(OptionCheck.callable())
})
