/**
 * The context that the modules of the channels' facilitator share: a node that serves the network, the signers, the tokens, the losses,
 * and the key that authorizes claims for shops.
 */
import { type ChainUnavailable, Misconfigured } from "@pontage/core"
import * as OptionCheck from "@pontage/core/OptionCheck"
import * as Effect from "effect/Effect"

import { EvmCrypto } from "../crypto/EvmCrypto.ts"
import { type EvmSender, senderOf } from "../exact/EvmSender.ts"
import type { SigningChain } from "../exact/ExactEvmPreparation.ts"
import * as EvmAddress from "../primitives/EvmAddress.ts"
import * as MinimumPrice from "../sending/MinimumPrice.ts"
import * as EvmAccountCode from "../transfer/EvmAccountCode.ts"
import * as ChannelContract from "../voucher/ChannelContract.ts"
import type { EvmSigner } from "../wallet/EvmSigner.ts"
import type { ChannelWork } from "./ChannelJob.ts"
import * as ChannelMinimum from "./ChannelMinimum.ts"
import { check, type Options } from "./ChannelOptions.ts"

/** The facilitator's key for claims and refunds. */
export interface Authorizer {
  readonly address: EvmAddress.Address
  readonly signer: EvmSigner
  readonly signsFor: (caller: string) => boolean
}

/** The shared context. */
export interface ChannelChain extends Omit<EvmSender, "losses">, SigningChain<ChannelWork> {
  readonly authorizer: Authorizer | undefined
  readonly minimumDeposit: bigint
  /** The least price of the network, which a deposit has too. */
  readonly minimum: MinimumPrice.Minimum
  /** The least sums of claims, refunds and payouts. */
  readonly least: ReturnType<typeof ChannelMinimum.make>
}

const defaultMinimumDeposit = 10_000n

const wrong = (what: string) => Effect.fail(new Misconfigured({ message: `channelEvm.facilitator: ${what}` }))

/** Connects. It checks that the RPC serves the network, that it has the contract, and that the signers are plain accounts. */
export const connect = Effect.fnUntraced(function* (
  options: Options
): Effect.fn.Return<ChannelChain, Misconfigured | ChainUnavailable> {
  yield* Effect.fromResult(OptionCheck.read(check, options, "channelEvm.facilitator"))
  const sender = yield* senderOf(options, "channelEvm.facilitator")
  const { lagGuard, network, rpc } = sender
  for (const address of [ChannelContract.address, ChannelContract.erc3009Collector]) {
    if ((yield* rpc.getCode(address)) === "0x")
      return yield* wrong(`${network} has no contract of payment channels at ${EvmAddress.checksum(address)}`)
  }
  const minimum = yield* Effect.fromResult(MinimumPrice.make(options, network, sender.assets, "channelEvm"))
  return {
    ...sender,
    minimum,
    least: ChannelMinimum.make(minimum),
    callContext: { crypto: yield* EvmCrypto, accounts: EvmAccountCode.make(lagGuard) },
    batches: undefined,
    authorizer: yield* authorizerOf(options),
    minimumDeposit: options.minimumDeposit ?? defaultMinimumDeposit
  }
})

const authorizerOf = ({ authorizer }: Options): Effect.Effect<Authorizer | undefined, Misconfigured> => {
  if (authorizer === undefined) return Effect.succeed(undefined)
  const { callers = () => true, signer } = authorizer
  const address = EvmAddress.fromText(signer.address)
  return address === undefined
    ? wrong(`authorizer: the signer's address "${signer.address}" is not an address`)
    : Effect.succeed({ address, signer, signsFor: callers })
}
