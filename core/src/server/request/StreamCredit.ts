/**
 * The windows of a metered response, from the facilitator's ledger: each is an execution of its own, whose lease is renewed until it is
 * charged or given back. Between two windows the response waits for its buyer's next voucher.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as FiberSet from "effect/FiberSet"
import * as Option from "effect/Option"
import * as Result from "effect/Result"

import type { ChannelStanding, Claim, Facilitator, PaymentRequest } from "../../facilitator/Facilitator.ts"
import * as Entropy from "../../platform/Entropy.ts"
import type { MeterSource, MeterWindow } from "../http/StreamMeter.ts"
import type { MeteredTerms } from "../route/MeteredTerms.ts"
import * as ExecutionLeases from "./ExecutionLeases.ts"
import * as StreamEnds from "./StreamEnds.ts"

/** The draw that has begun a metered response. */
export interface MeteredDraw {
  readonly executions: ExecutionLeases.ExecutionLeases
  readonly entropy: Parameters<typeof Entropy.identifier>[0]
  readonly request: PaymentRequest
  readonly claim: Claim
  readonly paymentId: string
  readonly amount: bigint
  readonly first: Pick<ExecutionLeases.GrantedExecution, "finish">
  readonly terms: MeteredTerms
  /** Whether its buyer sends further vouchers. */
  readonly follows: boolean
  readonly below: 400 | 500
}

/** Longest wait for a charge; its report goes on without the response. */
const chargePatience = "10 seconds"

/** The longest wait of one call, in milliseconds. */
const longestWait = 20_000

/** Pause between two looks at the channel of a response. A withdrawal takes three times as long at least. */
const looks = "5 minutes"

/** Pause before a call is repeated that the facilitator did not answer. */
const pause = "500 millis"

/** Makes the windows. */
export const make = (draw: MeteredDraw): MeterSource =>
  sourceOf(draw, StreamEnds.of(draw.executions.facilitator).begin())

const sourceOf = (draw: MeteredDraw, stream: number): MeterSource => ({
  unit: draw.terms.unit,
  tick: draw.terms.tick,
  below: draw.below,
  first: windowOf(draw.first, draw.amount),
  window: draw.terms.window,
  next: (need) => (draw.follows ? next(draw, { need, stream }) : Effect.succeed("budget")),
  closed: closed(draw),
  receipt: Effect.fnUntraced(function* (sums) {
    const { executions, paymentId } = draw
    const asked = executions.facilitator.credits?.standing(paymentId) ?? Effect.undefined
    const found = yield* Effect.timeoutOption(Effect.result(asked), chargePatience)
    const standing = Option.getOrUndefined(Option.flatMap(found, Result.getSuccess))
    return {
      ...sums,
      channelId: standing?.channelId ?? "",
      owed: standing?.owed ?? sums.charged,
      at: yield* Clock.currentTimeMillis
    }
  })
})

/** A response that waits for its reader asks for no window, and would learn of a withdrawal only after it. */
const closed = ({ executions, paymentId }: MeteredDraw): Effect.Effect<void> => {
  const asked = executions.facilitator.credits?.isClosed(paymentId) ?? Effect.succeed(false)
  const look = Effect.delay(
    Effect.orElseSucceed(asked, () => false),
    looks
  )
  const looking = Effect.asVoid(Effect.repeat(look, { until: (isClosed) => isClosed }))
  return Effect.flatMap(FiberSet.run(executions.leases, looking), (fiber) =>
    Effect.onInterrupt(Fiber.join(fiber), () => Fiber.interrupt(fiber))
  )
}

const windowOf = ({ finish }: Pick<ExecutionLeases.GrantedExecution, "finish">, amount: bigint): MeterWindow => ({
  amount,
  charge: (charge) =>
    Effect.map(
      Effect.timeoutOption(finish("served", charge), chargePatience),
      Option.match({ onNone: () => "unknown", onSome: (isRecorded) => (isRecorded ? "charged" : "refused") })
    ),
  release: (outcome) => Effect.asVoid(finish(outcome))
})

/** The need's listener, and the stream's number among the facilitator's. */
interface Waiting {
  readonly need: Parameters<MeterSource["next"]>[0]
  readonly stream: number
}

const next = Effect.fnUntraced(function* (
  draw: MeteredDraw,
  { need, stream }: Waiting
): Effect.fn.Return<Effect.Success<ReturnType<MeterSource["next"]>>> {
  const { credits } = draw.executions.facilitator
  const idle = draw.terms.idleSeconds * 1_000
  if (credits === undefined) return "closed"
  const ends = StreamEnds.of(draw.executions.facilitator)
  const claim = { ...draw.claim, id: Entropy.identifier(draw.entropy) }
  let known: { readonly required: bigint; readonly accepted: bigint; readonly channelId: string } | undefined
  let until = (yield* Clock.currentTimeMillis) + idle
  let silent = false
  for (;;) {
    const left = until - (yield* Clock.currentTimeMillis)
    if (left <= 0) return silent ? "closed" : "idle"
    const asked = { paymentId: draw.paymentId, claimId: claim.id, amount: draw.terms.window, known: known?.required }
    const reserving = credits.reserve({ ...asked, waitMillis: Math.min(left, longestWait) })
    const waiting = Effect.result(giveBackIfLeft(draw.executions.facilitator, asked, reserving))
    const ended = known === undefined ? Effect.never : ends.ended(known.channelId, stream, known.accepted)
    const credit = yield* Effect.raceFirst(waiting, Effect.as(ended, "budget" as const))
    if (credit === "budget") return credit
    silent = Result.isFailure(credit)
    if (Result.isFailure(credit)) {
      if (credit.failure._tag === "ValidationError") return "closed"
      yield* Effect.sleep(pause)
      continue
    }
    if (credit.success._tag === "Closed") return "closed"
    if (credit.success._tag === "Granted") return yield* begun(draw, claim, credit.success.paymentId)
    const { required, standing } = credit.success
    if (known !== undefined && standing.accepted > known.accepted) until = (yield* Clock.currentTimeMillis) + idle
    if (required !== known?.required) need(voucherOf(standing, required))
    known = { required, accepted: standing.accepted, channelId: standing.channelId }
  }
})

const voucherOf = ({ accepted, balance, channelId }: ChannelStanding, required: bigint) => ({
  channelId,
  requiredCumulative: required,
  acceptedCumulative: accepted,
  deposit: balance
})

/** A buyer that leaves while the window is reserved gets it back at once. */
const giveBackIfLeft = <A, E>(
  facilitator: Facilitator["Service"],
  { claimId, paymentId }: { readonly paymentId: string; readonly claimId: string },
  reserving: Effect.Effect<A, E>
): Effect.Effect<A, E> =>
  Effect.onInterrupt(reserving, () => Effect.ignore(facilitator.finish(paymentId, claimId, "notRun")))

const begun = ({ executions, request, terms }: MeteredDraw, claim: Claim, paymentId: string) =>
  Effect.map(ExecutionLeases.start(executions, { request, claim, paymentId, isDraw: true }), (execution) =>
    windowOf(execution, terms.window)
  )
