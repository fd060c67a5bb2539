/**
 * The proof, by a node of the payer's own, that a network has the payment guard. Without the guard's code its call does nothing and
 * succeeds, so that an operation which relies on it would have no end, and could be settled long after the payer's limits forgot it.
 */
import type { Network } from "@pontage/core"
import * as Effect from "effect/Effect"

import * as EvmNetwork from "../primitives/EvmNetwork.ts"
import * as OwnCode from "../primitives/OwnCode.ts"
import * as GuardContract from "../transfer/GuardContract.ts"
import * as NodeReading from "./NodeReading.ts"

/** The reason, for people, why the guard is not proven on a network; `undefined` once it is. */
export type GuardProof = (network: Network.Network, rpcUrl: string | undefined) => Effect.Effect<string | undefined>

/** Milliseconds until a node that says nothing has shown nothing: a client of a library may wait for ever. */
const timeout = 10_000

/** Makes the proof: it asks the node of the URL, or else the account's own client, until one has shown the guard on the network. */
export const make = (client: { readonly request: NodeReading.NodeRequest } | undefined): GuardProof => {
  const proven = new Set<Network.Network>()
  return Effect.fnUntraced(function* (network, rpcUrl) {
    if (proven.has(network)) return undefined
    const request =
      rpcUrl === undefined ? client && ((call: NodeReading.NodeCall) => client.request(call)) : NodeReading.at(rpcUrl)
    const fault = request === undefined ? withoutNode : yield* faultOf(request, network)
    if (fault === undefined) proven.add(network)
    return fault && `a user operation has no end without the payment guard: ${fault}`
  })
}

const withoutNode = "give exactEvm.client rpcUrl, or an account with a client, to see that it is there"

/** The reason why a node does not show the guard. */
const faultOf = (request: NodeReading.NodeRequest, network: Network.Network): Effect.Effect<string | undefined> =>
  Effect.tryPromise(async () => {
    const chainId = await NodeReading.chainId(request)
    if (chainId !== EvmNetwork.chainId(network)) {
      return `the node is of ${EvmNetwork.fromChainId(chainId)}; give rpcUrl of ${network}`
    }
    const { address, contract } = GuardContract
    const fault = OwnCode.objection(await NodeReading.code(request, address), contract, address, network)
    return fault && `${fault}, or pay by exactEvm.safeAccount`
  }).pipe(
    Effect.timeoutOrElse({ duration: timeout, orElse: () => Effect.succeed(silent) }),
    Effect.catch(() => Effect.succeed(silent))
  )

const silent = "the node did not show it; repeat the request, or give another rpcUrl"
