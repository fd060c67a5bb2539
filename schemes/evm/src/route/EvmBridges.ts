/**
 * The known bridges: for each chain the token that a bridge carries, and its contract there. A bridge comes from this table and
 * never from a counterparty: a facilitator pays the price of a message to it, and a payer's money is handed to it.
 */
import { Misconfigured, type Network } from "@pontage/core"
import * as OptionCheck from "@pontage/core/OptionCheck"
import * as Result from "effect/Result"

import * as CctpDeployments from "../primitives/CctpDeployments.ts"
import * as EvmAddress from "../primitives/EvmAddress.ts"
import * as EvmNetwork from "../primitives/EvmNetwork.ts"
import * as OftDeployments from "../primitives/OftDeployments.ts"
import type * as RouteRouters from "./RouteRouters.ts"

/** A bridge's contract on one chain that the operator adds: an OFT of LayerZero, or CCTP's messenger. */
export interface CustomBridge {
  /** Default `oft`. */
  readonly kind?: RouteRouters.RouteKind
  /** `eip155:<chain id>`, or a name such as `base`. */
  readonly network: string
  /** The token's address. */
  readonly asset: string
  /** The OFT that sends the token, the token itself where it is its own OFT; or Circle's `TokenMessengerV2`. */
  readonly bridge: string
  /** The chain's number on the bridge: LayerZero's endpoint id, or CCTP's domain. */
  readonly endpointId: number
}

/** The check of the bridges that an operator adds. */
export const check: OptionCheck.Check<ReadonlyArray<CustomBridge>> = OptionCheck.list(
  OptionCheck.options<CustomBridge>({
    kind: OptionCheck.optional(OptionCheck.oneOf("oft", "cctp")),
    network: OptionCheck.text,
    asset: OptionCheck.text,
    bridge: OptionCheck.text,
    endpointId: OptionCheck.whole(0, 2 ** 32 - 1)
  })
)

/** A bridge's contract on one chain. */
export interface EvmBridge {
  readonly kind: RouteRouters.RouteKind
  readonly network: Network.Network
  readonly token: EvmAddress.Address
  readonly bridge: EvmAddress.Address
  readonly endpointId: number
}

/** The bridges of all chains. */
export interface EvmBridges {
  /** Those of a chain. */
  readonly on: (network: string) => ReadonlyArray<EvmBridge>
  /** That of a token; `undefined` where none is known. */
  readonly of: (network: string, token: EvmAddress.Address) => EvmBridge | undefined
}

const known: ReadonlyArray<CustomBridge> = [
  ...OftDeployments.deployments.map(([chainId, asset, bridge, endpointId]) => ({
    network: `eip155:${chainId}`,
    asset,
    bridge,
    endpointId
  })),
  ...CctpDeployments.deployments.map(([chainId, asset, domain]) => ({
    kind: "cctp" as const,
    network: `eip155:${chainId}`,
    asset,
    bridge: CctpDeployments.messenger,
    endpointId: domain
  }))
]

/** Builds the table; an operator's line replaces ours for the same token. */
export const table = (custom: ReadonlyArray<CustomBridge>): Result.Result<EvmBridges, Misconfigured> =>
  Result.map(Result.all([...known, ...custom].map(read)), (bridges) => {
    const byToken = new Map(bridges.map((one) => [`${one.network} ${one.token}`, one]))
    return {
      on: (network) => [...byToken.values()].filter((one) => one.network === network),
      of: (network, token) => byToken.get(`${network} ${token}`)
    }
  })

const read = ({
  asset,
  bridge,
  endpointId,
  kind = "oft",
  network
}: CustomBridge): Result.Result<EvmBridge, Misconfigured> => {
  const [on, token, at] = [EvmNetwork.fromText(network), EvmAddress.fromText(asset), EvmAddress.fromText(bridge)]
  if (on === undefined) return wrong(`network: "${network}" ${EvmNetwork.fault}`)
  if (token === undefined) return wrong(`asset: "${asset}" is not an address`)
  if (at === undefined) return wrong(`bridge: "${bridge}" is not an address`)
  return Result.succeed({ kind, network: on, token, bridge: at, endpointId })
}

const wrong = (what: string) => Result.fail(new Misconfigured({ message: `bridges: ${what}` }))
