/**
 * The scheme facilitator of `exact` on EVM: it reads and verifies authorizations, signs the transactions that submit them, and
 * takes only the token's own events as proof.
 */
import {
  type Asset,
  AssetTable,
  ChainUnavailable,
  Delivery,
  type FacilitatorScheme,
  invalid,
  OwnTransfer,
  type ObservedPayment,
  type Onward,
  type Payment,
  type SchemeFacilitator
} from "@pontage/core"
import * as Effect from "effect/Effect"

import * as RouteBytes from "../bridge/RouteBytes.ts"
import * as RouteOnward from "../bridge/RouteOnward.ts"
import * as EvmConclusion from "../evidence/EvmConclusion.ts"
import * as EvmObservation from "../evidence/EvmObservation.ts"
import type * as EvmTransferEvidence from "../evidence/EvmTransferEvidence.ts"
import * as InventoryOnward from "../inventory/InventoryOnward.ts"
import * as InventoryQuotes from "../inventory/InventoryQuotes.ts"
import * as ServedInventory from "../inventory/ServedInventory.ts"
import type * as EvmLagGuard from "../node/EvmLagGuard.ts"
import * as EvmTime from "../node/EvmTime.ts"
import * as ExactEvm from "../payment/ExactEvm.ts"
import { type SignedAuthorization, read } from "../payment/ExactEvmReading.ts"
import * as OnwardPlaces from "../payment/OnwardPlaces.ts"
import * as EvmAddress from "../primitives/EvmAddress.ts"
import * as EvmHex from "../primitives/EvmHex.ts"
import * as EvmSpendLimits from "../sending/EvmSpendLimits.ts"
import * as EvmAsset from "../transfer/EvmAsset.ts"
import * as EvmTransferCall from "../transfer/EvmTransferCall.ts"
import * as GuardContract from "../transfer/GuardContract.ts"
import * as OperationCall from "../transfer/OperationCall.ts"
import * as Permit2 from "../transfer/Permit2.ts"
import * as PermitCall from "../transfer/PermitCall.ts"
import * as EvmLane from "./EvmLane.ts"
import { connect, type ExactEvmChain } from "./ExactEvmChain.ts"
import type { Options } from "./ExactEvmOptions.ts"
import * as ExactEvmPreparation from "./ExactEvmPreparation.ts"
import * as ExactEvmVerification from "./ExactEvmVerification.ts"
import * as OperationPayers from "./OperationPayers.ts"
import * as PermitPayers from "./PermitPayers.ts"
import * as RoutePayers from "./RoutePayers.ts"

/**
 * Makes the scheme facilitator. It checks first that the RPC serves the network, that the signers are plain accounts, and that
 * the batch settler, if one is given, has our contract's code.
 */
export const facilitator = (options: Options): FacilitatorScheme => Effect.map(connect(options), schemeFacilitator)

const schemeFacilitator = (chain: ExactEvmChain): SchemeFacilitator<SignedAuthorization> => {
  const { network, rpc, signers, chainHead } = chain
  const knownCallOf = makeCallOf(chain)
  const pricedCallOf: ExactEvmPreparation.CallOf = (payment) => {
    const { route } = payment.payload
    const call = knownCallOf(payment)
    return route === undefined ? call : Effect.flatMap(call, (known) => RoutePayers.pricedCall(chain, known, route))
  }
  return {
    scheme: ExactEvm.scheme,
    network,
    lanes: [...signers.keys()],
    ...extraOf(chain),
    gasCeiling: EvmSpendLimits.gasCeiling(network),
    ...(chain.batches && { batches: limitsOf(chain.batches) }),
    read: (requirements, json) => read(network, chain.assets.find, requirements, json),
    recall: (requirements, json) => read(network, EvmAsset.retired, requirements, json),
    verify: (payment) => ExactEvmVerification.verify(chain, knownCallOf, payment),
    balance: ({ payload }) => balance(chain.lagGuard, payload),
    nextSlot: (lane, counting) => EvmLane.nextSlot(chain, lane, counting),
    time: EvmTime.make(rpc),
    chainHead,
    isCanonical: (block) => EvmLane.isCanonical(rpc, block),
    prepare: (payments, slot, chainHead, maximumCost, replaced) =>
      replaced === undefined
        ? ExactEvmPreparation.prepare(chain, pricedCallOf, payments, slot, chainHead, maximumCost)
        : ExactEvmPreparation.prepareReplacement(chain, payments, slot, chainHead, replaced, ({ payload }, before) =>
            RoutePayers.valueNow(chain, payload, before)
          ),
    release: (payments) => ExactEvmPreparation.release(chain, payments),
    noop: (slot, chainHead) => ExactEvmPreparation.noop(chain, slot, chainHead),
    submit: (prepared) =>
      Effect.flatMap(RouteBytes.outdated(chain.lagGuard, prepared), (outdated) =>
        outdated === undefined ? EvmLane.submit(rpc, prepared) : Effect.succeed(outdated)
      ),
    observe: (observedPayments, attempts) =>
      Effect.flatMap(
        EvmObservation.observe(
          chain,
          observedPayments.map((observedPayment) => ({
            ...soughtOf(chain, observedPayment),
            call: knownCallOf(observedPayment.payment),
            isPush: Delivery.isPush(observedPayment.payment.requirements)
          })),
          attempts
        ),
        (observation) =>
          Effect.as(recordOutcomes(chain, observedPayments, observation), {
            inclusion: observation.inclusion,
            observations: observation.observations
          })
      ),
    conclude: (observedPayment) =>
      Effect.map(EvmConclusion.conclude(chain.lagGuard, chainHead, soughtOf(chain, observedPayment)), (conclusion) =>
        conclusion._tag === "Unused" ? { ...conclusion, ...reasonOf(chain, observedPayment) } : conclusion
      ),
    ...quotesOf(chain),
    onward: onwardOf(chain),
    signers: EvmLane.balances(chain)
  }
}

/** The quotes of all ways to other networks, and the reasons why there is none. */
const quotesOf = ({ inventory, routes }: ExactEvmChain): Pick<SchemeFacilitator, "quotes" | "unquoted"> => {
  const reports = [...(routes ? [routes.report] : []), ...(inventory ? [InventoryQuotes.make(inventory)] : [])]
  const all = Effect.all(reports, { concurrency: "unbounded" })
  return reports.length === 0
    ? {}
    : {
        quotes: Effect.map(all, (found) => found.flatMap(({ quotes }) => quotes)),
        unquoted: Effect.map(all, (found) => found.flatMap(({ unquoted }) => unquoted))
      }
}

/** The money of a payment goes on by a bridge, or the operator brings its own. */
const onwardOf = (chain: ExactEvmChain): Onward<SignedAuthorization> => {
  const { inventory, routes, rpc } = chain
  const bridged = RouteOnward.make(rpc, routes?.served)
  return {
    destination: (payment) => payment.payload.inventory?.network ?? bridged.destination(payment),
    place: OnwardPlaces.of,
    stock: ({ payload }) => inventory && ServedInventory.stockOf(inventory, payload),
    observe: (departure) => {
      const signed = departure.payment.payload.inventory
      return signed === undefined
        ? bridged.observe(departure)
        : InventoryOnward.observe(chain, inventory, departure, signed)
    }
  }
}

/** The terms of the ways to pay beside authorizations, for payers. */
const extraOf = ({ operations, servesPermit2 }: ExactEvmChain): Pick<SchemeFacilitator, "extra"> => {
  const extra = {
    ...(operations && { userOperations: offerOf(operations) }),
    ...(servesPermit2 && { permit2: { proxy: EvmAddress.checksum(Permit2.proxy) } })
  }
  return Object.keys(extra).length === 0 ? {} : { extra }
}

/** The terms of user operations for payers. */
const offerOf = ({ delegations, entryPoints, minimumAmount, needsGuard }: OperationCall.ServedOperations) => ({
  entryPoints: [...entryPoints].map(EvmAddress.checksum),
  guard: EvmAddress.checksum(GuardContract.address),
  ...(needsGuard && { needsGuard }),
  minimumAmount: `${minimumAmount}`,
  ...(delegations && { delegates: [...delegations.delegates].map(EvmAddress.checksum) })
})

const limitsOf = ({ maximum, maximumCost, windowMillis }: NonNullable<ExactEvmChain["batches"]>) => ({
  maximum,
  maximumCost,
  windowMillis
})

/** Records the outcome of each payment with the losses, and a failure even before it is reported. */
const recordOutcomes = (
  { callContext: { accounts }, losses }: ExactEvmChain,
  observedPayments: ReadonlyArray<ObservedPayment<SignedAuthorization>>,
  { against, lost, observations }: EvmObservation.CostedObservation
) =>
  Effect.forEach(
    observedPayments,
    ({ payment }, index) => {
      if (observations[index]?._tag === "Settled") {
        // The payment may have deployed its payer's account.
        accounts.forget(payment.payload.authorization.from)
        return losses.settle(payment)
      }
      const error = against[index]
      return error === undefined ? losses.absolve(payment) : losses.lose(payment, error, lost)
    },
    { discard: true }
  )

/** The reason why our transaction for the payment has not moved the money, where there was one. */
const reasonOf = ({ failures }: ExactEvmChain, { payment }: ObservedPayment<SignedAuthorization>) => {
  const known = failures.find(expectedOf(payment))
  return known === undefined ? {} : { reason: known.failure.error }
}

/** The call is cached with the payment, so that its signature is checked once. */
const makeCallOf =
  (chain: ExactEvmChain): ExactEvmPreparation.CallOf =>
  ({ payload }) => {
    const { cache, token } = payload
    if (cache.call !== undefined) return Effect.succeed(cache.call)
    if (AssetTable.isRetired(token)) return Effect.fail(notConfigured(token))
    return Effect.map(madeCall(chain, payload), (call) => (cache.call = call))
  }

const madeCall = (chain: ExactEvmChain, held: SignedAuthorization): ReturnType<ExactEvmPreparation.CallOf> => {
  const { callContext, lagGuard, operations, servesPermit2 } = chain
  const { authorization, operation, permit, route, signature, token } = held
  if (route !== undefined) return RoutePayers.callOf(chain, held, route)
  if (operation !== undefined) {
    return OperationCall.make(operations, operation, authorization.value)
  }
  const domain = EvmAsset.domain(token)
  if (permit === undefined) return EvmTransferCall.make(callContext, domain, authorization, signature)
  if (!servesPermit2) return Effect.fail(permitsUnserved)
  return PermitCall.make(callContext, domain, permit, signature, PermitPayers.submitsApproval(lagGuard, held))
}

const permitsUnserved = invalid(
  "unsupported_authorization",
  "permit_unserved",
  "transfers by Permit2 are not settled here; pay by another way of the offer"
)

/** Its EIP-712 domain is unknown, so its signature cannot be checked: that says nothing about the payment. */
const notConfigured = ({ address, network }: Asset) =>
  new ChainUnavailable({
    network,
    message: `the token ${address} is no longer configured; its payments are only watched`
  })

const expectedOf = ({ payload }: Payment<SignedAuthorization>) => OperationPayers.expectedTransfer(payload)

const soughtOf = (
  { signers }: ExactEvmChain,
  observedPayment: ObservedPayment<SignedAuthorization>
): EvmTransferEvidence.SoughtAuthorization => {
  const { earliest, payment, since, unprepared } = observedPayment
  return {
    expected: expectedOf(payment),
    since,
    isOwn: (block, byUs) => OwnTransfer.isOwn(observedPayment, block, byUs),
    isOurs: (sender, time) =>
      sender !== undefined &&
      OwnTransfer.isSigner(observedPayment, signers, EvmAddress.checksum(sender)) &&
      OwnTransfer.isSince(observedPayment, time),
    ...(unprepared === true && earliest !== undefined && { earliest })
  }
}

/** The amount that a payment can move: the payer's balance, or what Permit2 may take of it. */
const balance = Effect.fnUntraced(function* (guard: EvmLagGuard.EvmLagGuard, held: SignedAuthorization) {
  const [owned, allowance = owned] = yield* Effect.all([owns(guard, held), PermitPayers.allowance(guard, held)], {
    concurrency: "unbounded"
  })
  return owned < allowance ? owned : allowance
})

const owns = Effect.fnUntraced(function* (
  { judge, rpc }: EvmLagGuard.EvmLagGuard,
  { authorization, token }: SignedAuthorization
) {
  const data: EvmHex.Hex = `0x70a08231${authorization.from.slice(2).padStart(64, "0")}`
  const outcome = yield* judge(
    (block) => rpc.call({ to: EvmAsset.domain(token).verifyingContract, data, gas: 100_000n }, block),
    (answer) => answer._tag === "Returned" && EvmHex.isBytes32(answer.data) && BigInt(answer.data) < authorization.value
  )
  if (outcome._tag === "Returned" && EvmHex.isBytes32(outcome.data)) return BigInt(outcome.data)
  return yield* new ChainUnavailable({
    network: rpc.network,
    message: `${token.symbol} returned no valid amount from balanceOf`
  })
})
