/**
 * The options that every scheme facilitator of this family has, because each sends transactions of its own, and their check.
 */
import * as OptionCheck from "@pontage/core/OptionCheck"

import * as EvmNetwork from "../primitives/EvmNetwork.ts"
import * as EvmAsset from "../transfer/EvmAsset.ts"
import type { EvmTransactionSigner } from "../wallet/EvmTransactionSigner.ts"

/** The options. */
export interface SenderOptions {
  /**
   * The account that sends transactions and pays their gas, or several that share the load. A viem local account fits. No other scheme
   * may send from them.
   */
  readonly signer: EvmTransactionSigner | ReadonlyArray<EvmTransactionSigner>
  readonly rpcUrl: string
  /** `eip155:<chain id>`, or a name such as `base`; default the network that the RPC serves. */
  readonly network?: string
  /** Tokens to settle beside the known ones; no other token is ever settled. */
  readonly assets?: ReadonlyArray<EvmAsset.CustomAsset>
  /** The maximum price of a unit of gas, in wei; default 500 gwei. While the chain costs more, nothing is sent. */
  readonly maxFeePerGas?: bigint
  /**
   * Blocks behind the head from which a block counts as final; default 64. The node has to know the state that many blocks
   * back.
   */
  readonly finalityDepth?: number
  /**
   * The limit of losses by failed payments in 24 hours, in wei; default 0.1 ether, and about as much in other coins
   * (`EvmSpendLimits`). Above it only payers that have settled a payment here in the last 24 hours are served.
   */
  readonly lossBudget?: bigint
  /** The part of `lossBudget` that the payers of one caller may use, in wei; default its share by `callers`, else a quarter. */
  readonly lossBudgetPerCaller?: bigint
  /** The names of the callers who share `lossBudget`: half of it is held for them in equal parts (`CallerShares`). */
  readonly callers?: ReadonlyArray<string>
  /** Milliseconds of a payer's ban after its payment failed on the chain by its own fault; default one hour. */
  readonly banMillis?: number
  /** Timeout of a request to the RPC, in milliseconds; default 10 000. */
  readonly rpcTimeoutMillis?: number
  /** Called with the method of each request to the RPC, for counting. */
  readonly onRequest?: (method: string) => void
}

/** The checks of the options, for the table of a scheme; `roles` is the name by which users know it. */
export const checksOf = (roles: "channelEvm" | "exactEvm"): OptionCheck.Table<SenderOptions> => {
  const signer = OptionCheck.having<EvmTransactionSigner>(
    `a signer, such as ${roles}.localSigner(privateKey) or a viem local account`,
    "address",
    "signTransaction"
  )
  return {
    signer: OptionCheck.either(signer, OptionCheck.list(signer)),
    rpcUrl: OptionCheck.nodeUrl(EvmNetwork.nodeExample),
    network: OptionCheck.optional(OptionCheck.text),
    assets: OptionCheck.optional(EvmAsset.check),
    maxFeePerGas: OptionCheck.optional(OptionCheck.amount(1n)),
    finalityDepth: OptionCheck.optional(OptionCheck.whole()),
    lossBudget: OptionCheck.optional(OptionCheck.amount(1n)),
    lossBudgetPerCaller: OptionCheck.optional(OptionCheck.amount(1n)),
    callers: OptionCheck.optional(OptionCheck.list(OptionCheck.text)),
    banMillis: OptionCheck.optional(OptionCheck.whole()),
    rpcTimeoutMillis: OptionCheck.optional(OptionCheck.whole(1)),
    onRequest: OptionCheck.optional(OptionCheck.callable())
  }
}
