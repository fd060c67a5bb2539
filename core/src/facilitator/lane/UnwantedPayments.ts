/**
 * Claimed payments that no caller asks to settle. Anyone may have submitted the signed bytes, so the end of the validity ends nothing:
 * the scheme concludes each payment, and only a final block that shows it unused ends it. A payment that a third party has
 * sent goes into a lane, which ends it (`SetAsidePayments`), once its transfer is final and it takes no place there for long. A payment
 * without proof stays as it is, in no lane, and is concluded again.
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
import * as Stock from "../store/Stock.ts"
import * as PaymentReading from "./PaymentReading.ts"
import { observedPaymentOf } from "./TrackedTransaction.ts"

/** The records, the lanes, and the start of this process (Unix milliseconds). */
export interface Options {
  readonly store: PaymentStore["Service"]
  readonly choice: LaneChoice
  readonly startedAt: number
}

/** Seconds between the end of a validity and the first conclusion: until then a call to settle may come. */
const delay = 300
/** The pause between rounds. */
const pause = Duration.seconds(60)
/** The records of one read, and the payments that are concluded at once. */
const pageSize = 100
const concurrency = 8
/** A round ends after this number of conclusions without proof; the next one goes on behind them. */
const unprovenAtMost = 200
/** More than any balance: a transfer that was made needs nothing of it. */
const plenty = 2n ** 256n

/** The place where the next round goes on; `undefined` is the beginning. */
interface Memory {
  after: UnwantedPlace | undefined
}

/**
 * Watches the payments of these schemes while the scope lasts. Each scheme has its own rounds: an unavailable chain delays no other.
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
      Effect.andThen(Effect.sleep(pause), Effect.catchCause(round(options, scheme, memory), logFailure(scheme)))
    )
  })

const logFailure =
  ({ network }: SchemeFacilitator) =>
  (cause: Cause.Cause<ChainUnavailable | FacilitatorUnavailable>): Effect.Effect<void> =>
    Cause.hasInterruptsOnly(cause)
      ? Effect.interrupt
      : Effect.logWarning(`unwanted payments on ${network} could not be concluded`, cause)

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

/** Ends the payments with a proof; returns the number of the others. */
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
    return paymentId === undefined || end?._tag !== "Unused" ? [] : [{ ...end, paymentId }]
  })
  if (unused.length > 0) yield* options.store.endUnwanted(unused)
  const settled = page.filter((_, index) => {
    const end = ends[index]
    return end?._tag === "Settled" && end.block.number <= chainHead.final
  })
  yield* Effect.forEach(settled, (stored) => toLane(options, scheme, stored), { discard: true })
  return page.length - unused.length - settled.length
})

/** The conclusion about a payment; `undefined` if the chain or the record cannot be read. */
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
  const message = `the unwanted payment ${stored.paymentId} could not be concluded`
  return yield* Effect.as(Effect.logDebug(message, conclusion.failure), undefined)
})

const toLane = Effect.fnUntraced(function* (
  { choice, store }: Options,
  scheme: SchemeFacilitator,
  { paymentId }: StoredPayment
) {
  yield* store.queue(paymentId, yield* choice.laneFor(scheme), { available: plenty, stock: Stock.unlimited })
})
