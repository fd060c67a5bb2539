/**
 * The scheme facilitator of deliveries on an EVM chain, `bridgeEvm.deliveries`: it delivers messages of LayerZero and of CCTP that
 * no other party has delivered. A delivery is a transaction that anybody can send, and its only proof is the token's own transfer.
 */
import {
  type ChainUnavailable,
  type Conclusion,
  type FacilitatorScheme,
  invalid,
  Misconfigured,
  type ObservedPayment,
  OwnTransfer,
  type Payment,
  type PaymentObservation,
  type SchemeFacilitator,
  type ValidationError
} from "@pontage/core"
import * as OptionCheck from "@pontage/core/OptionCheck"
import * as Effect from "effect/Effect"

import type * as DeliveryEvidence from "../bridge/DeliveryEvidence.ts"
import * as DeliveryPush from "../bridge/DeliveryPush.ts"
import * as DeliveryWork from "../bridge/DeliveryWork.ts"
import * as EvmObservation from "../evidence/EvmObservation.ts"
import * as EvmTransferEvidence from "../evidence/EvmTransferEvidence.ts"
import * as EvmLane from "../exact/EvmLane.ts"
import { type EvmSender, senderOf } from "../exact/EvmSender.ts"
import * as EvmTime from "../node/EvmTime.ts"
import * as EvmAddress from "../primitives/EvmAddress.ts"
import * as EvmBridges from "../route/EvmBridges.ts"
import * as EvmSpendLimits from "../sending/EvmSpendLimits.ts"
import { check, type Options } from "./DeliveryOptions.ts"
import * as DeliverySending from "./DeliverySending.ts"

/** The chain of the deliveries. */
interface DeliveryChain extends EvmSender {
  readonly bridges: EvmBridges.EvmBridges
}

/** Makes the scheme facilitator. It checks that the RPC serves the network, and that the signers are plain accounts. */
export const deliveries = (options: Options): FacilitatorScheme => Effect.map(connect(options), schemeFacilitator)

const connect = Effect.fnUntraced(function* (
  options: Options
): Effect.fn.Return<DeliveryChain, Misconfigured | ChainUnavailable> {
  yield* Effect.fromResult(OptionCheck.read(check, options, "bridgeEvm.deliveries"))
  const bridges = yield* Effect.fromResult(EvmBridges.table(options.bridges ?? []))
  return { ...(yield* senderOf(options, "bridgeEvm.deliveries")), bridges }
})

type Delivery = Payment<DeliveryPush.DeliveryPush>
type Observed = ObservedPayment<DeliveryPush.DeliveryPush>

const schemeFacilitator = (chain: DeliveryChain): SchemeFacilitator<DeliveryPush.DeliveryPush> => {
  const { bridges, chainHead, network, rpc, signers } = chain
  const bridgeOf = (at: EvmAddress.Address) => bridges.on(network).find(({ bridge }) => bridge === at)
  return {
    scheme: DeliveryPush.scheme,
    network,
    isInternal: true,
    lanes: [...signers.keys()],
    gasCeiling: EvmSpendLimits.gasCeiling(network),
    read: (requirements, json) => DeliveryPush.read((at) => bridgeOf(at)?.token, requirements, json),
    verify: (payment) => verify(chain, payment),
    // The message holds the money, and can be delivered once.
    balance: ({ authorization }) => Effect.succeed(authorization.amount),
    nextSlot: (lane, counting) => EvmLane.nextSlot(chain, lane, counting),
    time: EvmTime.make(rpc),
    chainHead,
    isCanonical: (block) => EvmLane.isCanonical(rpc, block),
    prepare: (payments, slot, head, _cost, replaced) =>
      replaced === undefined
        ? Effect.flatMap(callOfFirst(chain, payments), (call) => DeliverySending.prepare(chain, call, slot, head))
        : DeliverySending.prepareReplacement(chain, slot, head, replaced),
    noop: (slot, head) => DeliverySending.noop(chain, slot, head),
    submit: (prepared) => EvmLane.submit(rpc, prepared),
    observe: (observedPayments, attempts) => observe(chain, observedPayments, attempts),
    conclude: (observed) => conclude(chain, observed),
    signers: EvmLane.balances(chain)
  }
}

const callOfFirst = Effect.fnUntraced(function* (chain: DeliveryChain, [first]: ReadonlyArray<Delivery>) {
  if (first === undefined) return yield* new Misconfigured({ message: "there is no delivery to prepare" })
  return (yield* workOf(chain, first)).call
})

const workOf = ({ bridges, rpc }: DeliveryChain, { payload }: Delivery) => DeliveryWork.make(rpc, bridges, payload)

const verify = Effect.fnUntraced(function* (
  chain: DeliveryChain,
  payment: Delivery
): Effect.fn.Return<void, ValidationError | ChainUnavailable> {
  const name = DeliveryPush.nameOf(payment.payload.message)
  const { call, isDelivered } = yield* workOf(chain, payment)
  const { judge, rpc } = chain.lagGuard
  if (yield* judge(isDelivered, (found) => found)) {
    return yield* invalid("already_used", "delivered", `the message ${name} was delivered before`)
  }
  const outcome = yield* judge(
    (block) => rpc.call(call, block),
    ({ _tag }) => _tag === "Reverted"
  )
  if (outcome._tag === "Returned") return
  const text = `the message ${name} cannot be delivered now: ${outcome.message}`
  return yield* invalid("unsupported_authorization", "delivery_reverted", text)
})

/** The delivery of a message, whichever party has made it; `undefined` while it is not delivered. */
const arrivalOf = Effect.fnUntraced(function* (chain: DeliveryChain, payment: Delivery) {
  const { arrival, isDelivered } = yield* workOf(chain, payment)
  return (yield* isDelivered("latest")) ? yield* arrival : undefined
})

const settledBy = (
  { block, sender, transaction }: DeliveryEvidence.Arrival,
  { signers }: DeliveryChain,
  observed: Observed
): Extract<PaymentObservation, { readonly _tag: "Settled" }> => ({
  _tag: "Settled",
  transaction,
  block,
  external: sender === undefined || !OwnTransfer.isSigner(observed, signers, EvmAddress.checksum(sender))
})

const observe = Effect.fnUntraced(function* (
  chain: DeliveryChain,
  observedPayments: ReadonlyArray<Observed>,
  attempts: Parameters<SchemeFacilitator["observe"]>[1]
) {
  const included = yield* EvmObservation.includedOf(chain.rpc, attempts, observedPayments.length)
  const observations = yield* Effect.forEach(observedPayments, (observed) => seenOf(chain, observed, included))
  return { inclusion: included?.inclusion, observations }
})

type Included = Effect.Success<ReturnType<typeof EvmObservation.includedOf>>

/** Failed only by our own reverted transaction in a final block: then a further attempt is made under another nonce. */
const seenOf = Effect.fnUntraced(function* (
  chain: DeliveryChain,
  observed: Observed,
  included: Included
): Effect.fn.Return<PaymentObservation, ChainUnavailable> {
  const arrival = yield* arrivalOf(chain, observed.payment)
  if (arrival !== undefined) return settledBy(arrival, chain, observed)
  if (included === undefined || included.receipt.status === "success") return { _tag: "Pending" }
  const { block, transaction } = included.inclusion
  if (block.number > (yield* chain.chainHead).final) return { _tag: "Pending" }
  const text = `the delivery by ${transaction} reverted; it is tried again`
  return EvmTransferEvidence.failed(transaction, invalid("unsupported_authorization", "delivery_reverted", text))
})

const conclude = Effect.fnUntraced(function* (
  chain: DeliveryChain,
  observed: Observed
): Effect.fn.Return<Conclusion, ChainUnavailable> {
  const arrival = yield* arrivalOf(chain, observed.payment)
  return arrival === undefined ? { _tag: "Pending" } : settledBy(arrival, chain, observed)
})
