/**
 * Payments that were claimed and that nobody asks to settle. Anybody may have submitted what was signed, so the end of a
 * validity ends nothing: a scheme is asked for each one, and only a final block that shows it unused has it expire. One that
 * somebody else has sent goes into a lane, which has an end for it (`OrphanedPayments`), once its transfer is final and
 * keeps no place there for long. Of which nothing is known stays as it is, in no lane, and is asked for again.
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"

import type { ChainUnavailable, FacilitatorUnavailable } from "../../protocol/ProtocolError.ts"
import type { ChainHead, Conclusion, SchemeFacilitator } from "../../scheme/SchemeFacilitator.ts"
import type { LaneChoice } from "../queue/LaneChoice.ts"
import type { PaymentStore, ProvenUnused, StoredPayment, UnwantedPlace } from "../store/PaymentStore.ts"
import * as PaymentReading from "./PaymentReading.ts"
import { observedPaymentOf } from "./TrackedTransaction.ts"

/** The records, the lanes, and when this process began to settle (Unix milliseconds). */
export interface Options {
  readonly store: PaymentStore["Service"]
  readonly choice: LaneChoice
  readonly startedAt: number
}

/** They are asked for this long after their validity, in seconds: till then whoever wants them settled may come. */
const delay = 300
/** Between rounds. */
const pause = Duration.seconds(60)
/** So many records are read at once, and so many of them asked for at the same time. */
const pageSize = 100
const concurrency = 8
/** A round ends after so many answers that prove nothing; the next one goes on behind them. */
const unprovenAtMost = 200
/** More than any payer holds: a transfer that has been made needs nothing of the balance. */
const plenty = 2n ** 256n

/** Where the next round goes on; from the beginning where that is not known. */
interface Memory {
  after: UnwantedPlace | undefined
}

/**
 * Looks after the payments of these halves as long as the scope lasts. Each has rounds of its own: a chain that cannot be asked
 * keeps no other from its ends.
 */
export const watch = (
  options: Options,
  schemes: ReadonlyArray<SchemeFacilitator>
): Effect.Effect<void, never, Scope.Scope> =>
  Effect.forEach(schemes, (scheme) => Effect.forkScoped(rounds(options, scheme)), { discard: true })

const rounds = (options: Options, scheme: SchemeFacilitator): Effect.Effect<never> =>
  Effect.suspend(() => {
    const memory: Memory = { after: undefined }
    return Effect.forever(
      Effect.andThen(Effect.sleep(pause), Effect.catchCause(round(options, scheme, memory), tell(scheme)))
    )
  })

const tell =
  ({ network }: SchemeFacilitator) =>
  (cause: Cause.Cause<ChainUnavailable | FacilitatorUnavailable>): Effect.Effect<void> =>
    Cause.hasInterruptsOnly(cause)
      ? Effect.interrupt
      : Effect.logWarning(`payments on ${network} that nobody settles could not be brought to their ends`, cause)

const round = Effect.fnUntraced(function* (
  options: Options,
  scheme: SchemeFacilitator,
  memory: Memory
): Effect.fn.Return<void, ChainUnavailable | FacilitatorUnavailable> {
  const now = Math.floor((yield* Clock.currentTimeMillis) / 1000)
  let unproven = 0
  while (unproven < unprovenAtMost) {
    const page = yield* options.store.unwanted(scheme.network, now - delay, pageSize, memory.after)
    unproven += yield* conclude(options, scheme, page.filter(isOf(scheme)))
    const last = page.length < pageSize ? undefined : page.at(-1)
    memory.after = last && { validBefore: last.authorization.validBefore, serial: last.serial }
    if (last === undefined) return
  }
})

const isOf =
  ({ scheme }: SchemeFacilitator) =>
  ({ requirements }: StoredPayment): boolean =>
    requirements.scheme === scheme.name

/** Has those end whose ends are proven; returns how many are left. */
const conclude = Effect.fnUntraced(function* (
  options: Options,
  scheme: SchemeFacilitator,
  page: ReadonlyArray<StoredPayment>
): Effect.fn.Return<number, ChainUnavailable | FacilitatorUnavailable> {
  if (page.length === 0) return 0
  const chainHead = yield* scheme.chainHead
  const ends = yield* Effect.forEach(page, (stored) => endOf(options, scheme, stored, chainHead), { concurrency })
  const unused = ends.flatMap((end, index): ReadonlyArray<ProvenUnused> => {
    const { paymentId } = page[index] ?? {}
    return paymentId === undefined || end?._tag !== "Unused" ? [] : [{ paymentId, at: end.at }]
  })
  if (unused.length > 0) yield* options.store.expireUnwanted(unused)
  const settled = page.filter((_, index) => {
    const end = ends[index]
    return end?._tag === "Settled" && end.block.number <= chainHead.final
  })
  yield* Effect.forEach(settled, (stored) => toLane(options, scheme, stored), { discard: true })
  return page.length - unused.length - settled.length
})

/** What is proven of a payment; `undefined` where the chain or the record cannot be read. */
const endOf = Effect.fnUntraced(function* (
  { startedAt }: Options,
  scheme: SchemeFacilitator,
  stored: StoredPayment,
  { head }: ChainHead
): Effect.fn.Return<Conclusion | undefined> {
  const conclusion = yield* Effect.result(
    Effect.flatMap(PaymentReading.ofRecord(scheme, stored), (payment) =>
      scheme.conclude(observedPaymentOf({ stored, payment, concluded: false }, head.number, startedAt))
    )
  )
  if (Result.isSuccess(conclusion)) return conclusion.success
  const message = `nothing is known of the end of ${stored.paymentId}, which nobody settles`
  return yield* Effect.as(Effect.logDebug(message, conclusion.failure), undefined)
})

const toLane = Effect.fnUntraced(function* (
  { choice, store }: Options,
  scheme: SchemeFacilitator,
  { paymentId }: StoredPayment
) {
  yield* store.queue(paymentId, yield* choice.laneFor(scheme), { available: plenty })
})
