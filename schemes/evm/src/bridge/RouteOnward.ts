/**
 * The onward part of payments by routes: reads the message of a payment from its transaction, and its delivery from the other chain.
 */
import { keccak_256 } from "@noble/hashes/sha3.js"
import { ChainUnavailable, type ChainHead, type DeliveryObservation, type Departure, type Onward } from "@pontage/core"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

import * as EvmFinality from "../evidence/EvmFinality.ts"
import * as EvmTransferEvidence from "../evidence/EvmTransferEvidence.ts"
import type * as EvmRpc from "../node/EvmRpc.ts"
import type { SignedAuthorization } from "../payment/ExactEvmReading.ts"
import * as EvmHex from "../primitives/EvmHex.ts"
import * as BridgeRoute from "../route/BridgeRoute.ts"
import * as EvmRevert from "../transfer/EvmRevert.ts"
import type { BridgeCrossing } from "./BridgeCrossing.ts"
import * as CctpOnward from "./CctpOnward.ts"
import * as DeliveryEvidence from "./DeliveryEvidence.ts"
import * as DeliveryPush from "./DeliveryPush.ts"
import * as OftCalls from "./OftCalls.ts"
import * as RouteQuotes from "./RouteQuotes.ts"

/** The onward part. Without a served crossing a route's delivery is not watched: its record says so. */
export const make = (rpc: EvmRpc.Shape, served: RouteQuotes.ServedRoutes | undefined): Onward<SignedAuthorization> => ({
  destination: ({ payload: { route } }) => route?.network,
  observe: (departure) => observe(rpc, served, departure)
})

const observe = Effect.fnUntraced(function* (
  rpc: EvmRpc.Shape,
  served: RouteQuotes.ServedRoutes | undefined,
  departure: Departure<SignedAuthorization>
): Effect.fn.Return<DeliveryObservation, ChainUnavailable> {
  const { attempt, payment, transaction } = departure
  const { authorization, route } = payment.payload
  const crossing = route && served && (yield* RouteQuotes.crossingOf(served, route.network, route.route))
  if (route === undefined || served === undefined || crossing === undefined) {
    return blocked("this facilitator is not configured for its route any more; configure the route again")
  }
  const receipt = yield* EvmTransferEvidence.canonicalReceipt(rpc, EvmHex.fromTrusted(transaction))
  if (receipt === undefined) return yield* unshown(rpc, `the transaction ${transaction}`)
  if (crossing.attester !== undefined) {
    return yield* CctpOnward.observe(crossing, crossing.attester, departure, route, receipt)
  }
  const bridged = BridgeRoute.messageIn(authorization, receipt.logs)
  const message = bridged && OftCalls.sentIn(crossing.near.endpoint, bridged.guid, receipt.logs)
  if (bridged === undefined || message === undefined) return yield* unshown(rpc, `the message of ${transaction}`)
  const { chain, far } = crossing
  const head = yield* chain.chainHead
  const state = yield* OftCalls.stateOf(chain.rpc, far.endpoint, message, "latest")
  const since = receipt.time
  if (DeliveryEvidence.isDelivered(state, message)) return yield* delivered(crossing, message, since, head)
  if (!DeliveryEvidence.isAttested(state)) return underway("the bridge's verifiers have not attested it yet")
  const payTo = route.route.recipient
  if (state.attested !== hashOf(message)) return blocked("the bridge's verifiers have attested another content")
  if (state.attestedUpTo < message.nonce) return underway("an earlier message of the bridge has to be attested first")
  const isEarly = (yield* Clock.currentTimeMillis) < 1000 * (since + served.pushAfterSeconds)
  if (isEarly) return underway("it is attested, and the bridge's own executor is waited for")
  const refusal = yield* trial(crossing, message)
  if (refusal !== undefined) return blocked(`${chain.network} would refuse it now: ${refusal}`)
  const terms = { amount: bridged.arriving, payTo, attempt, since }
  return { _tag: "Ready", push: DeliveryPush.make(chain.network, far, { kind: "oft", ...message }, terms) }
})

const underway = (reason: string): DeliveryObservation => ({ _tag: "Underway", reason })
const blocked = (reason: string): DeliveryObservation => ({ _tag: "Blocked", reason })

const unshown = ({ network }: EvmRpc.Shape, what: string) =>
  Effect.fail(new ChainUnavailable({ network, message: `the node of ${network} does not show ${what}` }))

/** The hash that the verifiers attest: of the message's name and its content. */
const hashOf = ({ content, guid }: OftCalls.Message): EvmHex.Hex =>
  EvmHex.fromBytes(keccak_256(EvmHex.toBytes(`${guid}${content.slice(2)}`)))

const delivered = Effect.fnUntraced(function* (
  { chain, far }: BridgeCrossing,
  message: OftCalls.Message,
  since: number,
  head: ChainHead
): Effect.fn.Return<DeliveryObservation, ChainUnavailable> {
  const { amount, block, transaction } = yield* DeliveryEvidence.find(chain.rpc, far, message.guid, since)
  const final = yield* EvmFinality.isFinal(chain.rpc, head, block, (at) =>
    Effect.map(OftCalls.stateOf(chain.rpc, far.endpoint, message, at), (state) =>
      DeliveryEvidence.isDelivered(state, message)
    )
  )
  return { _tag: "Delivered", transaction, block, amount, final }
})

/** Tries a delivery; the reason why it would fail now, if it would. */
const trial = ({ chain: { lagGuard }, far }: BridgeCrossing, message: OftCalls.Message) =>
  EvmRevert.refusal(lagGuard, { to: far.endpoint, data: OftCalls.encodeDelivery(message), gas: DeliveryPush.gas })
