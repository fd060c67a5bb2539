/**
 * The seller's half of `exact` on EVM: the assets of a network, and their proof at start.
 */
import { Misconfigured, type SchemeServer } from "@pontage/core"
import * as OptionCheck from "@pontage/core/OptionCheck"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"

import * as EvmCrypto from "../crypto/EvmCrypto.ts"
import * as EvmRpc from "../node/EvmRpc.ts"
import * as ExactEvm from "../payment/ExactEvm.ts"
import * as ExactEvmReading from "../payment/ExactEvmReading.ts"
import * as EvmNetwork from "../primitives/EvmNetwork.ts"
import * as EvmAccountCode from "../transfer/EvmAccountCode.ts"
import * as EvmAsset from "../transfer/EvmAsset.ts"
import * as EvmTransferCall from "../transfer/EvmTransferCall.ts"
import type * as ContractPayers from "./ContractPayers.ts"
import * as EvmChainCheck from "./EvmChainCheck.ts"
import * as ExactEvmUse from "./ExactEvmUse.ts"

/** Where the chain can be asked. It is asked at start, and for no request that a facilitator has an answer to. */
export interface Options {
  readonly rpcUrl: string
  /** `eip155:<chain id>`; left out, it is the EVM network that the routes name. */
  readonly network?: string
  /** Tokens to be paid in beyond the known ones. */
  readonly assets?: ReadonlyArray<EvmAsset.CustomAsset>
  /**
   * Which accounts with code may pay, as the facilitator has it; default those it takes. Their signatures only the chain can
   * judge. With `none` the shop refuses every signature that is not the payer's own by itself, for a millisecond of its own
   * processor each, and its facilitator never hears of it.
   */
  readonly contractPayers?: ContractPayers.ContractPayers
}

const check = OptionCheck.options<Options>({
  rpcUrl: OptionCheck.text,
  network: OptionCheck.optional(OptionCheck.text),
  assets: OptionCheck.optional(EvmAsset.check),
  contractPayers: OptionCheck.optional(OptionCheck.oneOf("known", "any", "none"))
})

/** The seller's half. Throws `Misconfigured` when the network or an asset is not one. */
export const server = (options: Options): SchemeServer => {
  const { assets, contractPayers, network, rpcUrl } = Result.getOrThrow(
    OptionCheck.read(check, options, "exactEvm.server")
  )
  const table = Result.getOrThrow(EvmAsset.table(assets ?? []))
  const chain = network === undefined ? undefined : EvmNetwork.fromText(network)
  if (network !== undefined && chain === undefined) {
    throw new Misconfigured({ message: `exactEvm.server: network "${network}" is not of the form eip155:<chain id>` })
  }
  return {
    scheme: ExactEvm.scheme,
    network: chain,
    asset: table.find,
    assetNames: table.names,
    read: (requirements, payload) => ExactEvmReading.read(requirements.network, table.find, requirements, payload),
    inspect: Effect.fnUntraced(function* (requirements, json) {
      const { authorization, payload } = yield* ExactEvmReading.read(
        requirements.network,
        table.find,
        requirements,
        json
      )
      yield* contractPayers === "none"
        ? provePlain(payload)
        : Effect.fromResult(EvmTransferCall.signatureOf(payload.signature))
      return authorization
    }),
    useOf: Effect.fnUntraced(function* (requirements, payload, since) {
      const read = yield* ExactEvmReading.read(requirements.network, table.find, requirements, payload)
      const rpc = yield* EvmRpc.make({ url: rpcUrl, network: requirements.network })
      return yield* ExactEvmUse.find(rpc, read.payload, since)
    }),
    prove: Effect.fnUntraced(function* (provenNetwork, used) {
      const rpc = yield* EvmRpc.make({ url: rpcUrl, network: provenNetwork })
      yield* EvmChainCheck.network(rpc, provenNetwork)
      yield* Effect.forEach(used, (token) => EvmChainCheck.asset(rpc, token), { discard: true })
    })
  }
}

/** Only a plain account's signature is taken, so nothing has to be asked. */
const provePlain = Effect.fnUntraced(function* ({
  authorization,
  signature,
  token
}: ExactEvmReading.SignedAuthorization) {
  const judges = { crypto: yield* EvmCrypto.EvmCrypto, codeOf: EvmAccountCode.never }
  yield* Effect.catchTag(
    EvmTransferCall.make(judges, EvmAsset.domain(token), authorization, signature),
    "ChainUnavailable",
    Effect.die
  )
})
