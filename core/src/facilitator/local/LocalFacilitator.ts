/**
 * The facilitator in this process. It works in the order of trust: decode, identify, look into its own records. Only an
 * unknown payment is compared with the offer and with the chain, and then claimed.
 */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Result from "effect/Result"

import * as BoundedMap from "../../platform/BoundedMap.ts"
import * as OptionCheck from "../../protocol/OptionCheck.ts"
import type { PaymentFailure } from "../../protocol/PaymentFailure.ts"
import { protocolVersion } from "../../protocol/PaymentPayload.ts"
import { Misconfigured } from "../../protocol/ProtocolError.ts"
import { isSettled } from "../../protocol/Settlement.ts"
import type { Sellable } from "../../protocol/Supported.ts"
import { invalid } from "../../protocol/ValidationError.ts"
import * as FacilitatorSchemeRegistry from "../../scheme/FacilitatorSchemeRegistry.ts"
import type { SchemeFacilitator } from "../../scheme/SchemeFacilitator.ts"
import { CurrentCaller, maySee } from "../Caller.ts"
import { ChannelStore } from "../channel/ChannelStore.ts"
import * as Checkpoint from "../Checkpoint.ts"
import * as DeliveryWatch from "../delivery/DeliveryWatch.ts"
import {
  type ChannelCredits,
  type Claim,
  Facilitator,
  type PaymentRequest,
  type Settled,
  type Verified
} from "../Facilitator.ts"
import * as SettlementEngine from "../lane/SettlementEngine.ts"
import * as SpendLimits from "../lane/SpendLimits.ts"
import * as Admission from "../queue/Admission.ts"
import * as LaneChoice from "../queue/LaneChoice.ts"
import * as Execution from "../store/Execution.ts"
import { LaneLeases, layerSole } from "../store/LaneLeases.ts"
import * as MemoryPaymentStore from "../store/MemoryPaymentStore.ts"
import { PaymentStore, type StoredPayment, toRecord, toSettled } from "../store/PaymentStore.ts"
import * as Presentation from "../store/Presentation.ts"
import * as ChainClock from "./ChainClock.ts"
import * as ChannelClaims from "./ChannelClaims.ts"
import * as ChannelCredit from "./ChannelCredit.ts"
import * as ChannelDraws from "./ChannelDraws.ts"
import * as ChannelHealth from "./ChannelHealth.ts"
import * as ChannelSettling from "./ChannelSettling.ts"
import * as ChannelStates from "./ChannelStates.ts"
import * as ChannelWatch from "./ChannelWatch.ts"
import * as IntakeGate from "./IntakeGate.ts"
import {
  claimKnown,
  type IntakeContext,
  verifyPayment,
  giveBack,
  isAnswerOwed,
  notFinal,
  present,
  type Presented,
  provenRefusal,
  take,
  takeAnswer,
  type Taken,
  ungivenAtMost
} from "./PaymentIntake.ts"
import { isAwaited, pending, transfer, verifyAgain } from "./PaymentTransfer.ts"

/** Options of a facilitator in this process. Its schemes come from the context (`FacilitatorSchemeRegistry`). */
export interface Options {
  /** Time that `settle` waits for the chain before it returns `SettlementPending`, in milliseconds; default 25 000. */
  readonly settleTimeoutMillis?: number
  /** Spend limits for any 24 hours; default the scheme's own for its network. Above the limit nothing new is sent. */
  readonly gasCeilings?: SpendLimits.SpendLimits
  /**
   * Time that a closing facilitator waits for settlements under way, in milliseconds; default 25 000 in memory, else 0,
   * since recorded payments continue after the next start.
   */
  readonly drainMillis?: number
  /** The gate that a watcher may close; default always open. */
  readonly intake?: IntakeGate.IntakeGate
  /** When payment channels are claimed, where the context has a `ChannelStore`: on all networks, or by a function on each one. */
  readonly channels?: ChannelWatch.ForNetworks
}

/** Options of a self-contained facilitator: its schemes as a plain value, its records in memory. */
export interface MemoryOptions extends Options {
  /** One per network: `exactEvm.facilitator({ signer, rpcUrl })`. */
  readonly schemes: ReadonlyArray<FacilitatorSchemeRegistry.FacilitatorScheme>
}

const keys: OptionCheck.Table<Options> = {
  settleTimeoutMillis: OptionCheck.optional(OptionCheck.whole()),
  gasCeilings: OptionCheck.optional(SpendLimits.check),
  drainMillis: OptionCheck.optional(OptionCheck.whole()),
  intake: OptionCheck.optional(IntakeGate.check),
  channels: OptionCheck.optional(ChannelWatch.checkForNetworks)
}

const check = OptionCheck.options<Options>(keys)

const checkOfMemory = OptionCheck.options<MemoryOptions>({ schemes: FacilitatorSchemeRegistry.check, ...keys })

/** Admission to the lanes' queues, for monitoring: each lane's throughput, and the rejections. */
export class LaneAdmission extends Context.Service<LaneAdmission, Admission.Admission>()(
  "@pontage/core/LaneAdmission"
) {}

/** The facilitator as a layer, over a payment store and the schemes of the context. */
export const layer = (
  options: Options
): Layer.Layer<
  Facilitator | LaneAdmission,
  Misconfigured,
  FacilitatorSchemeRegistry.FacilitatorSchemeRegistry | PaymentStore | LaneLeases
> => opened(options, 0)

const opened = (options: Options, drainMillis: number) =>
  Layer.effectContext(
    Effect.gen(function* () {
      const checked = yield* Effect.fromResult(OptionCheck.read(check, options, "LocalFacilitator"))
      const admission = Admission.make(yield* PaymentStore)
      const making = make({ ...checked, drainMillis: checked.drainMillis ?? drainMillis })
      const facilitator = yield* Effect.provideService(making, LaneAdmission, admission)
      return Context.make(Facilitator, facilitator).pipe(Context.add(LaneAdmission, admission))
    })
  )

/** Makes a facilitator from plain options: it registers their schemes and keeps its records in memory. */
export const layerMemory = (options: MemoryOptions) =>
  Layer.unwrap(
    Effect.map(
      Effect.fromResult(OptionCheck.read(checkOfMemory, options, "LocalFacilitator")),
      ({ schemes, ...rest }) =>
        opened(rest, 25_000).pipe(
          Layer.provide(layerSole),
          Layer.provideMerge(Layer.merge(MemoryPaymentStore.layer, FacilitatorSchemeRegistry.layer(schemes)))
        )
    )
  )

/** Makes a facilitator for the schemes of the context. */
export const make = Effect.fnUntraced(function* (options: Options) {
  yield* Effect.fromResult(OptionCheck.read(check, options, "LocalFacilitator"))
  const store = yield* PaymentStore
  const registry = yield* FacilitatorSchemeRegistry.FacilitatorSchemeRegistry
  const facilitators = registry.schemes
  yield* Effect.fromResult(separateLanes(facilitators))
  const leases = yield* LaneLeases
  const ledger = Option.getOrUndefined(yield* Effect.serviceOption(ChannelStore))
  const given = options.gasCeilings ?? {}
  const ceilings = ledger === undefined ? given : ChannelClaims.withShare(given, facilitators)
  const engine = yield* SettlementEngine.make({
    store,
    leases,
    schemes: facilitators,
    admission: Option.getOrUndefined(yield* Effect.serviceOption(LaneAdmission)),
    limits: SpendLimits.orDefault(ceilings, facilitators),
    drainMillis: options.drainMillis ?? 0
  })
  yield* DeliveryWatch.watch({ store, leases, schemes: facilitators })
  const patience = Duration.millis(options.settleTimeoutMillis ?? 25_000)
  const intake = options.intake ?? IntakeGate.make()
  const clocks = ChainClock.make()
  yield* Effect.forkScoped(
    Effect.forEach(facilitators, (facilitator) => Effect.ignore(clocks.demand(facilitator)), { discard: true })
  )
  const context: IntakeContext = {
    store,
    registry,
    engine,
    intake,
    clocks,
    patience,
    arriving: new Map(),
    undelivered: BoundedMap.oldestOut(ungivenAtMost)
  }
  const channels = yield* channelsOf(context, ledger, options.channels ?? {})
  return Facilitator.of({
    verify: (request) => inVerify(verify(context, channels.settling, request)),
    settle: (request, claim) => inSettle(settle(context, channels, request, claim)),
    claim: (request, claim) => inClaim(claimOnly(context, channels, request, claim)),
    finish: Effect.fnUntraced(function* (paymentId, claimId, outcome, charge) {
      const draw = channels.draws?.finish(paymentId, claimId, outcome, charge)
      if (draw !== undefined) return yield* draw
      const { name } = yield* CurrentCaller
      yield* Checkpoint.pass("finishing")
      const stored = yield* store.finish(paymentId, claimId, outcome, name)
      yield* Checkpoint.pass("finished")
      return stored === undefined ? yield* unknownPayment(paymentId) : yield* recordOf(store, stored)
    }),
    payment: Effect.fnUntraced(function* (paymentId) {
      const stored = yield* store.find(paymentId)
      return stored !== undefined && maySee(yield* CurrentCaller, stored) ? yield* recordOf(store, stored) : undefined
    }),
    supported: supportedBy(
      facilitators.filter(({ isInternal }) => isInternal !== true),
      channels
    ),
    ...(channels.credit && { credits: creditsOf(context, channels.credit) })
  })
})

/** The credit of channels, as callers ask for it. */
const creditsOf = (context: IntakeContext, credit: ChannelCredit.ChannelCredit): ChannelCredits => ({
  ...credit,
  voucher: Effect.fnUntraced(function* (request) {
    const presented = yield* present(context, request)
    const draws = presented.facilitator.channels?.draws
    return draws === undefined ? yield* noClaims : yield* credit.voucher(presented, draws)
  })
})

const supportedBy = (facilitators: ReadonlyArray<SchemeFacilitator>, { draws }: Channels) =>
  Effect.map(
    Effect.forEach(facilitators, (one) => kindOf(one, draws), { concurrency: "unbounded" }),
    (kinds) => ({
      kinds,
      signers: signersOf(facilitators)
    })
  )

const kindOf = Effect.fnUntraced(function* (
  { channels, extra, network, quotes, scheme, unquoted }: SchemeFacilitator,
  draws: Channels["draws"]
) {
  const [quoted, left = []] = yield* Effect.all([quotes ?? Effect.undefined, unquoted ?? Effect.undefined], {
    concurrency: "unbounded"
  })
  const kind: Sellable["kinds"][number] = {
    protocolVersion,
    scheme: scheme.name,
    network,
    ...(extra !== undefined && { extra }),
    ...(quoted !== undefined && { quotes: quoted }),
    ...(left.length > 0 && { unquoted: left }),
    ...(draws !== undefined && channels?.draws !== undefined && { draws: true })
  }
  return kind
})

/** The channels of a facilitator: requests to settle, and with a ledger the draws, which a watch claims. */
interface Channels {
  readonly settling: ChannelSettling.ChannelSettling
  readonly draws: ChannelDraws.ChannelDraws | undefined
  readonly credit: ChannelCredit.ChannelCredit | undefined
}

const channelsOf = Effect.fnUntraced(function* (
  context: IntakeContext,
  ledger: ChannelStore["Service"] | undefined,
  given: ChannelWatch.ForNetworks
) {
  const networks = context.registry.schemes.map(({ network }) => network)
  const optionsOf = yield* Effect.fromResult(ChannelWatch.forNetworks(given, networks))
  const settling = ChannelSettling.make(context)
  if (ledger === undefined) return { settling, draws: undefined, credit: undefined } satisfies Channels
  const drawing = { intake: context, settling, ledger, health: yield* ChannelHealth.make, states: ChannelStates.make() }
  yield* Effect.forkScoped(ChannelWatch.run(drawing, ChannelClaims.make(context, settling, ledger), optionsOf))
  const draws = yield* ChannelDraws.make(drawing, (network) => ChannelWatch.leastClaimOf(optionsOf(network)))
  return { settling, draws, credit: ChannelCredit.make(drawing, draws) } satisfies Channels
})

/** A claim for a message about a channel; without a ledger a message buys nothing. */
const draw = (
  { draws }: Channels,
  presented: Presented,
  claim: Claim
): Effect.Effect<Settled, PaymentFailure> | undefined => {
  const { channels } = presented.facilitator
  if (channels === undefined) return undefined
  return draws === undefined || channels.draws === undefined
    ? Effect.fail(noClaims)
    : draws.take(presented, channels.draws, claim)
}

/** One worker numbers a signer's transactions, so two schemes cannot send from it. */
const separateLanes = (facilitators: ReadonlyArray<SchemeFacilitator>): Result.Result<void, Misconfigured> => {
  const lanes = facilitators.flatMap((facilitator) => LaneChoice.lanesOf(facilitator))
  const twice = lanes.find((lane, index) => lanes.indexOf(lane) !== index)
  return twice === undefined
    ? Result.void
    : Result.fail(
        new Misconfigured({ message: `schemes: two of them send from the signer ${twice}; give each its own` })
      )
}

const signersOf = (facilitators: ReadonlyArray<SchemeFacilitator>) => {
  const signers: Record<string, ReadonlyArray<string>> = {}
  for (const { lanes, network } of facilitators)
    signers[network] = [...new Set([...(signers[network] ?? []), ...lanes])]
  return signers
}

/** Made once: creating a span at each call captures a stack trace, which costs more than the span. */
const inVerify = Effect.withSpan("Facilitator.verify")
const inSettle = Effect.withSpan("Facilitator.settle")
const inClaim = Effect.withSpan("Facilitator.claim")

/** Names the payment in the span of the call. */
const annotated = ({ paymentId, payment: { requirements } }: Presented) =>
  Effect.annotateCurrentSpan({
    "payment.id": paymentId,
    "payment.network": requirements.network,
    "payment.scheme": requirements.scheme
  })

const verify = Effect.fnUntraced(function* (
  context: IntakeContext,
  channels: ChannelSettling.ChannelSettling,
  request: PaymentRequest
): Effect.fn.Return<Verified, PaymentFailure> {
  const presented = yield* present(context, request)
  yield* annotated(presented)
  if (presented.facilitator.channels !== undefined)
    return yield* channels.verify(presented, presented.facilitator.channels)
  const known = yield* context.store.find(presented.paymentId)
  const { payer } = presented.authorization
  if (known === undefined) {
    if (presented.refusal !== undefined) return yield* presented.refusal
    yield* context.intake.passNew(presented.facilitator.network)
    yield* context.engine.judge(presented.facilitator, presented)
    return yield* Effect.as(verifyPayment(context, presented), { payer })
  }
  if (!Presentation.isOf(presented, known)) return yield* Presentation.used(known, presented.caller)
  if (known.status === "accepted") return yield* Effect.as(verifyKnown(context, presented, known), { payer })
  yield* provenRefusal(known)
  // Servers that verify before they settle would never get the answer that they are owed.
  return isAnswerOwed(context, known) ? { payer } : yield* Presentation.used(known, presented.caller)
})

/**
 * A payment that was settled after its intake still answers the caller that is owed: a settlement delivers it. If bytes were signed
 * for it here, a refusal may be due to our own transfer, also while the payment waits for another transaction, because a
 * reorganisation may have let the first one in. Only the lane finds that out.
 */
const verifyKnown = (
  context: IntakeContext,
  presented: Presented,
  known: StoredPayment
): Effect.Effect<void, PaymentFailure> =>
  Effect.catch(Effect.asVoid(verifyPayment(context, presented)), (refusal) =>
    isAnswerOwed(context, known)
      ? Effect.flatMap(isExplained(context, presented, refusal), (is) => (is ? Effect.void : Effect.fail(refusal)))
      : Effect.fail(refusal)
  )

/**
 * Whether our own transfer, or another party's of a bound payment, may explain this refusal. An unbound payment that another party
 * has sent is not refused while it waits in its lane, which sends it if a reorganisation takes that transfer back.
 */
const isExplained = Effect.fnUntraced(function* (
  context: IntakeContext,
  { authorization, facilitator, payment, paymentId }: Presented,
  refusal: PaymentFailure
) {
  const now = yield* context.store.find(paymentId)
  if (now === undefined || !isAnswerOwed(context, now)) return false
  if (now.status !== "accepted" || now.since !== undefined) return true
  const isBound = authorization.binding !== undefined
  if (!isBound && now.lane === undefined) return false
  const isByAnother = yield* context.engine.isSettledByAnother(facilitator, now, payment, refusal)
  return isByAnother && !isBound ? yield* notFinal(now) : isByAnother
})

/** Claims without a transfer. A payment that was left alone is verified again before a handler runs for it. */
const claimOnly = Effect.fnUntraced(function* (
  context: IntakeContext,
  channels: Channels,
  request: PaymentRequest,
  claim: Claim
) {
  const presented = yield* present(context, request)
  yield* annotated(presented)
  const drawn = draw(channels, presented, claim)
  if (drawn !== undefined) return yield* drawn
  const taken = yield* take(context, presented, claim, false)
  yield* Effect.annotateCurrentSpan("payment.state", taken.stored.status)
  if (taken.execution === "granted" && !taken.renewed) {
    yield* Effect.onError(verifyAgain(context, taken), () => giveBack(context, taken.stored.paymentId, claim))
  }
  // A handler that runs keeps its claim, also if the other chain has taken the delivery back meanwhile.
  const isNew = taken.execution === "granted" && !taken.renewed
  if (isNew && isSettled(taken.stored.status) && isAwaited(taken.stored, claim)) {
    yield* giveBack(context, taken.stored.paymentId, claim)
    return yield* pending(context, taken.stored)
  }
  return settledOf(taken, yield* context.store.now)
})

/** Updates of the payment are collected from before its intake, so that its end is not missed. */
const settle = (context: IntakeContext, channels: Channels, request: PaymentRequest, claim: Claim | undefined) =>
  Effect.flatMap(present(context, request), (presented) => {
    const own = presented.facilitator.channels
    if (own === undefined)
      return context.engine.whileWaiting(presented.paymentId, (update) =>
        settlePresented(context, presented, claim, update)
      )
    const drawn = claim && draw(channels, presented, claim)
    return Effect.andThen(annotated(presented), drawn ?? channels.settling.settle(presented, own))
  })

const settlePresented = Effect.fnUntraced(function* (
  context: IntakeContext,
  presented: Presented,
  claim: Claim | undefined,
  update: SettlementEngine.SettlementRequest["update"]
) {
  yield* annotated(presented)
  const taken = yield* take(context, presented, claim, true)
  if (claim !== undefined && taken.execution !== "granted") return settledOf(taken, yield* context.store.now)
  const stored = yield* Effect.onError(transfer(context, taken, update, claim), () =>
    giveBack(context, taken.stored.paymentId, claim)
  )
  yield* Effect.annotateCurrentSpan("payment.state", stored.status)
  const execution = yield* confirmed(context, taken, claim, stored)
  if (claim !== undefined) yield* Checkpoint.pass("responded")
  return settledOf({ ...taken, stored, execution }, yield* context.store.now)
})

/**
 * A claim that waited may have lost the execution meanwhile: to its lease, or to a call of its own that gave up; or too
 * little of its lease is left to begin. It claims again, now that the money has moved. Of several waiting callers without
 * a claim, one gets the answer.
 */
const confirmed = Effect.fnUntraced(function* (
  context: IntakeContext,
  { execution, fresh, presented, stored: before }: Taken,
  claim: Claim | undefined,
  stored: StoredPayment
) {
  if (claim === undefined) {
    const isTheirs = yield* takeAnswer(context, stored.paymentId, Checkpoint.pass("responded"))
    return isTheirs ? undefined : yield* Presentation.used(stored)
  }
  if (stored === before) return execution
  if (fresh && Execution.isFirm(stored.execution, claim.id, yield* context.store.now)) return execution
  return (yield* claimKnown(context, presented, claim)).execution
})

const noClaims = invalid(
  "unsupported_scheme",
  "channel_claim",
  "a message about a channel buys no execution where no ledger of channels is kept; have it verified or settled"
)

const settledOf = ({ execution, stored }: Taken, now: number): Settled => toSettled(stored, execution, now)

const recordOf = (store: IntakeContext["store"], stored: StoredPayment) =>
  Effect.map(store.now, (now) => toRecord(stored, now))

const unknownPayment = (paymentId: string) =>
  invalid("malformed", "unknown_payment", `no payment ${paymentId} is known here`)
