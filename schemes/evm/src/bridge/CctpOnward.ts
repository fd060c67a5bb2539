/** The delivery of a payment over CCTP: its message from its transaction, its attestation from the issuer, and its state on the other chain. */
import { ChainUnavailable, type DeliveryObservation, type Departure } from "@pontage/core"
import * as Effect from "effect/Effect"

import * as EvmFinality from "../evidence/EvmFinality.ts"
import type * as EvmTransferEvidence from "../evidence/EvmTransferEvidence.ts"
import type { SignedAuthorization } from "../payment/ExactEvmReading.ts"
import type { SignedRoute } from "../payment/RouteReading.ts"
import * as EvmRevert from "../transfer/EvmRevert.ts"
import type { BridgeCrossing } from "./BridgeCrossing.ts"
import type * as CctpAttester from "./CctpAttester.ts"
import * as CctpCalls from "./CctpCalls.ts"
import * as CctpDelivery from "./CctpDelivery.ts"
import * as CctpSent from "./CctpSent.ts"
import * as DeliveryPush from "./DeliveryPush.ts"

/** Observes a departed payment, whose receipt is this one. */
export const observe = Effect.fnUntraced(function* (
  crossing: BridgeCrossing,
  attester: CctpAttester.CctpAttester,
  { attempt, payment: { payload }, transaction }: Departure<SignedAuthorization>,
  { route }: SignedRoute,
  receipt: EvmTransferEvidence.TimedReceipt
): Effect.fn.Return<DeliveryObservation, ChainUnavailable> {
  const { chain, far, near } = crossing
  const sent = CctpSent.find(near.endpoint, payload.authorization, route, receipt.logs)
  if (sent === undefined) {
    const message = `CCTP's transmitter shows no message of the payment in ${transaction}`
    return yield* new ChainUnavailable({ network: payload.token.network, message })
  }
  const attestation = yield* attester.attestationOf(near.endpointId, transaction, sent)
  if (attestation._tag === "Underway") return attestation
  const { read } = attestation
  const head = yield* chain.chainHead
  if (yield* CctpCalls.isDelivered(chain.rpc, far.endpoint, read.nonce, "latest")) {
    const { amount, block, transaction: by } = yield* CctpDelivery.find(chain.rpc, far, attestation, receipt.time)
    const final = yield* EvmFinality.isFinal(chain.rpc, head, block, (at) =>
      CctpCalls.isDelivered(chain.rpc, far.endpoint, read.nonce, at)
    )
    return { _tag: "Delivered", transaction: by, block, amount, final }
  }
  if (read.messenger !== far.bridge || read.fee > read.maxFee) {
    return { _tag: "Blocked", reason: "the issuer has attested a message that is not the payment's" }
  }
  const refusal = yield* trial(crossing, attestation)
  // The attestation may be over: the issuer makes another one, and refuses to while it is not.
  if (refusal !== undefined && read.expires !== 0n) yield* Effect.ignore(attester.attestAgain(read.nonce))
  if (refusal !== undefined) return { _tag: "Blocked", reason: `${chain.network} would refuse it now: ${refusal}` }
  const terms = { amount: read.amount - read.fee, payTo: route.recipient, attempt, since: receipt.time }
  const { attestation: signatures, message } = attestation
  const pushed = { kind: "cctp", attestation: signatures, message, read } as const
  // The transmitter takes a message's nonce once, whichever of its attestations comes with it.
  return { _tag: "Ready", push: { ...DeliveryPush.make(chain.network, far, pushed, terms), renewable: true } }
})

/** Tries a delivery; the reason why it would fail now, if it would. */
const trial = ({ chain: { lagGuard }, far }: BridgeCrossing, message: CctpCalls.AttestedMessage) =>
  EvmRevert.refusal(lagGuard, { to: far.endpoint, data: CctpCalls.encodeDelivery(message), gas: DeliveryPush.gas })
