/**
 * The scheme server of payment channels: a shop's offers of `batch-settlement`. The facilitator in the shop's process keeps the ledger
 * (`ChannelStore`) and claims; its key authorizes that, and stands in each offer.
 */
import type { SchemeServer } from "@pontage/core"
import { Misconfigured } from "@pontage/core"
import * as OptionCheck from "@pontage/core/OptionCheck"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

import * as ExactEvmServer from "../exact/ExactEvmServer.ts"
import { scheme } from "../payment/ChannelScheme.ts"
import * as EvmNetwork from "../primitives/EvmNetwork.ts"
import * as EvmAsset from "../transfer/EvmAsset.ts"
import * as ChannelContract from "../voucher/ChannelContract.ts"
import * as ChannelState from "../voucher/ChannelState.ts"

/** Options of `channelEvm.server`. */
export interface Options {
  readonly rpcUrl: string
  /** `eip155:<chain id>`, or a name such as `base`; default the EVM network that the routes name. */
  readonly network?: string
  /** Tokens to be paid in beside the known ones; each needs transfer authorizations (ERC-3009). */
  readonly assets?: ReadonlyArray<EvmAsset.CustomAsset>
  /** The deposit that offers ask for, in the token's smallest unit; default 100 000, ten cents of a dollar token. */
  readonly deposit?: bigint
  /**
   * Seconds from a payer's request to withdraw until it can take the money, 900 to 2 592 000; default 86 400. In this time the shop
   * has to claim: it should be longer than any outage.
   */
  readonly withdrawDelay?: number
}

const check = OptionCheck.options<Options>({
  rpcUrl: OptionCheck.nodeUrl(EvmNetwork.nodeExample),
  network: OptionCheck.optional(OptionCheck.text),
  assets: OptionCheck.optional(EvmAsset.check),
  deposit: OptionCheck.optional(OptionCheck.amount(1n)),
  withdrawDelay: OptionCheck.optional(
    OptionCheck.whole(ChannelContract.minimumWithdrawDelay, ChannelContract.maximumWithdrawDelay)
  )
})

const decodeTerms = Schema.decodeUnknownOption(ChannelState.ReceiptTerms)

/** The receipt of a draw of which a part is not charged: its payer signs the next voucher on top of the smaller sum. */
const receipt: NonNullable<SchemeServer["draws"]>["receipt"] = (facts, uncharged) => {
  const terms = Option.getOrUndefined(decodeTerms(facts))
  const owed = terms?.channelState.chargedCumulativeAmount
  if (terms === undefined || owed === undefined) return facts
  return {
    ...facts,
    chargedAmount: `${(terms.chargedAmount ?? uncharged) - uncharged}`,
    channelState: ChannelState.onWire({ ...terms.channelState, chargedCumulativeAmount: owed - uncharged })
  }
}

/** Makes the scheme server. Throws `Misconfigured` for an invalid network or asset. */
export const server = (options: Options): SchemeServer => {
  const {
    deposit = 100_000n,
    withdrawDelay = 86_400,
    ...rest
  } = Result.getOrThrow(OptionCheck.read(check, options, "channelEvm.server"))
  const { asset, assetNames, network, prove } = ExactEvmServer.server(rest)
  return {
    scheme,
    draws: { receipt },
    network,
    asset,
    assetNames,
    extra: () => ({ withdrawDelay, minDeposit: `${deposit}` }),
    prove: (provenNetwork, used) => {
      const without = used.find((token) => !EvmAsset.hasAuthorizations(token))
      return without === undefined
        ? prove(provenNetwork, used)
        : Effect.fail(
            new Misconfigured({
              message: `channelEvm.server: the token ${without.symbol} has no transfer authorizations (ERC-3009), which deposits need`
            })
          )
    }
  }
}
