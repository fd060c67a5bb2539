/** The options of the scheme facilitator of deliveries, and their check. */
import * as OptionCheck from "@pontage/core/OptionCheck"

import * as EvmNetwork from "../primitives/EvmNetwork.ts"
import * as EvmBridges from "../route/EvmBridges.ts"
import type { EvmTransactionSigner } from "../wallet/EvmTransactionSigner.ts"

/** Options of `bridgeEvm.deliveries`. */
export interface Options {
  /** The account that sends deliveries and pays their gas; no other scheme may send from it. */
  readonly signer: EvmTransactionSigner | ReadonlyArray<EvmTransactionSigner>
  readonly rpcUrl: string
  /** `eip155:<chain id>`, or a name such as `polygon`; default the network that the RPC serves. */
  readonly network?: string
  /** Bridges beside the known ones. */
  readonly bridges?: ReadonlyArray<EvmBridges.CustomBridge>
  /** The maximum price of a unit of gas, in wei; default 500 gwei. */
  readonly maxFeePerGas?: bigint
  /** Blocks behind the head from which a block counts as final; default 64. */
  readonly finalityDepth?: number
  /** Timeout of a request to the RPC, in milliseconds; default 10 000. */
  readonly rpcTimeoutMillis?: number
  /** Called with the method of each request to the RPC, for counting. */
  readonly onRequest?: (method: string) => void
}

const signer = OptionCheck.having<EvmTransactionSigner>(
  "a signer, such as exactEvm.localSigner(privateKey) or a viem local account",
  "address",
  "signTransaction"
)

/** The check of {@link Options}. */
export const check = OptionCheck.options<Options>({
  signer: OptionCheck.either(signer, OptionCheck.list(signer)),
  rpcUrl: OptionCheck.nodeUrl(EvmNetwork.nodeExample),
  network: OptionCheck.optional(OptionCheck.text),
  bridges: OptionCheck.optional(EvmBridges.check),
  maxFeePerGas: OptionCheck.optional(OptionCheck.amount(1n)),
  finalityDepth: OptionCheck.optional(OptionCheck.whole()),
  rpcTimeoutMillis: OptionCheck.optional(OptionCheck.whole(1)),
  onRequest: OptionCheck.optional(OptionCheck.callable())
})
