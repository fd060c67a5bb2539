/**
 * The course of a metered stream: what has come, what the shop asks for, and whether a further voucher is signed for it. From the
 * first demand on that nothing justifies, no voucher is signed; the body still passes.
 */
import * as Clock from "effect/Clock"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"

import type { Progress } from "../ChannelVoucher.ts"
import { retention } from "../JournalLedger.ts"
import type { PurchaseFailure } from "../OwnPurchase.ts"
import * as Purchase from "../Purchase.ts"
import type { StreamEvent } from "./EventReader.ts"
import type { StreamOutcome } from "./FollowedStream.ts"
import * as StreamAccount from "./StreamAccount.ts"
import * as StreamLimit from "./StreamLimit.ts"
import * as StreamMessages from "./StreamMessages.ts"
import * as StreamVoucher from "./StreamVoucher.ts"

/** The shop asked for what is not signed, took no voucher, or ended its stream without the rest. */
export class StreamStopped extends Data.TaggedError("StreamStopped")<{ readonly message: string }> {}

/** A stream under way. */
export interface StreamCourse {
  readonly scene: StreamVoucher.StreamScene
  readonly pool: StreamAccount.StreamPool
  readonly account: StreamAccount.StreamAccount
  readonly progress: Progress
  /** The demand that is answered next. */
  readonly need: StreamMessages.NeedVoucher | "unreadable" | undefined
  readonly receipt: StreamMessages.StreamReceipt | undefined
  /** Why nothing more is signed. */
  readonly stopped: { readonly outcome: StreamOutcome; readonly reason: unknown } | undefined
  /** The times that the last voucher was sent again. */
  readonly repeats: number
}

/** The cell of a course, which its reader and its signer share. */
export interface CourseCell {
  course: StreamCourse
}

/** The most times that one voucher is sent because the shop asks again for what it allows already. */
const mostRepeats = 3

const change = (cell: CourseCell, changes: Partial<StreamCourse>): void => {
  cell.course = { ...cell.course, ...changes }
}

/** Counts bytes that have come. */
export const takeBytes = ({ course: { account, pool } }: CourseCell, length: number): void => {
  account.bytes += BigInt(length)
  pool.arrivals++
}

/** Counts an event that has come, or keeps what it says about the payment. */
export const takeEvent = (cell: CourseCell, { data, name }: StreamEvent): void => {
  const { account, pool, receipt } = cell.course
  if (name === "payment-need-voucher") {
    change(cell, { need: StreamMessages.readNeed(data) ?? "unreadable" })
  } else if (name === "payment-receipt") {
    change(cell, { receipt: receipt ?? StreamMessages.readReceipt(data) })
  } else if (!name.startsWith("payment-")) {
    account.events++
    pool.arrivals++
  }
}

const stopped = ({ course: { scene } }: CourseCell, message: string): StreamStopped =>
  new StreamStopped({
    message: `the metered stream of ${new URL(scene.order.quote.url).host} ${message}; no further voucher was signed for it`
  })

/** Ends the signing. The first reason stays. */
export const stop = (cell: CourseCell, outcome: StreamOutcome, reason: unknown): void =>
  change(cell, { stopped: cell.course.stopped ?? { outcome, reason } })

const isOver = ({ course: { receipt, stopped } }: CourseCell): boolean => receipt !== undefined || stopped !== undefined

/** Milliseconds of the monotonic clock, by which seconds are counted: the time of day may be set meanwhile. */
export const monotonicMillis = /* @__PURE__ */ Effect.map(Clock.monotonicTimeNanos, (nanos) =>
  Number(nanos / 1_000_000n)
)

/** The part of a window that may be signed at `now`, in milliseconds of the monotonic clock, by what has come alone. */
export const due = ({ course: { account, pool } }: CourseCell, now: number): bigint =>
  StreamAccount.allowance(pool, account, now)

/** Answers the demands of server-sent events, one after the other. */
export const answerEvents = Effect.fnUntraced(function* (cell: CourseCell): Effect.fn.Return<void> {
  while (cell.course.need !== undefined && !isOver(cell)) {
    const { need } = cell.course
    change(cell, { need: undefined })
    yield* guarded(cell, answered(cell, need))
  }
})

/** Signs for what has come of a body without events. */
export const answerBytes = (cell: CourseCell): Effect.Effect<void> =>
  isOver(cell) ? Effect.void : guarded(cell, StreamVoucher.inTurn(cell.course.scene, extended(cell, 0n, 0n)))

/** Turns a failure into the end of the signing, and reports the end. */
const guarded = Effect.fnUntraced(function* (cell: CourseCell, step: Effect.Effect<void, PurchaseFailure>) {
  const before = cell.course.stopped
  yield* Effect.catch(step, (failure) =>
    Effect.sync(() => stop(cell, failure._tag === "PaymentDeclined" ? "limit" : "stopped", failure))
  )
  const { scene, stopped: after } = cell.course
  if (after === undefined || after === before) return
  yield* Purchase.reportTrouble(scene.context, after.reason)
  if (after.outcome === "limit") yield* Effect.ignore(ended(cell))
})

/** Tells the shop that no further voucher comes, so that its stream does not wait for one. A shop that does not hear it waits. */
const ended = Effect.fnUntraced(function* ({ course: { progress, scene } }: CourseCell) {
  const headers = yield* StreamVoucher.again(scene, progress.ceiling, true)
  yield* StreamVoucher.posted(scene, scene.terms.voucherUrl, headers, progress.ceiling)
})

const answered = (
  cell: CourseCell,
  need: StreamMessages.NeedVoucher | "unreadable"
): Effect.Effect<void, PurchaseFailure> => {
  const { progress, scene } = cell.course
  if (need === "unreadable") {
    return Effect.sync(() => stop(cell, "stopped", stopped(cell, "asks for a voucher in a form that cannot be read")))
  }
  const required = BigInt(need.requiredCumulative)
  if (need.channelId !== scene.offered.id) {
    return Effect.sync(() => stop(cell, "stopped", stopped(cell, "asks for a voucher of another channel")))
  }
  if (required <= progress.ceiling) return StreamVoucher.inTurn(scene, repeated(cell))
  const extending = StreamVoucher.inTurn(scene, extended(cell, required, BigInt(need.acceptedCumulative)))
  return Effect.andThen(arrived(cell, required), extending)
}

/** Milliseconds between two looks whether what is paid for has come, and the most looks. */
const lookPause = 50
const mostLooks = 20

/** Waits until what has come covers the earlier windows, for a second at most: a shop's demand may overtake its last events. */
const arrived = Effect.fnUntraced(function* (cell: CourseCell, required: bigint) {
  for (let look = 0; look < mostLooks; look++) {
    const step = due(cell, yield* monotonicMillis)
    const { pool, scene } = cell.course
    if ((yield* StreamVoucher.ceilingOf(scene, step, required, pool.isShared)).next >= required) return
    yield* Effect.sleep(lookPause)
  }
})

/** Sends the highest voucher again: the shop asks for what it allows already. */
const repeated = Effect.fnUntraced(function* (cell: CourseCell): Effect.fn.Return<void, PurchaseFailure> {
  const { progress, repeats, scene } = cell.course
  if (repeats === mostRepeats) {
    return stop(cell, "stopped", stopped(cell, "asks again and again for a voucher that it has"))
  }
  change(cell, { repeats: repeats + 1 })
  yield* sent(cell, yield* StreamVoucher.again(scene, progress.ceiling))
})

/** Signs the next voucher, if what has come and the limits allow it, and posts it. */
const extended = Effect.fnUntraced(function* (
  cell: CourseCell,
  required: bigint,
  accepted: bigint
): Effect.fn.Return<void, PurchaseFailure> {
  const { account, pool, progress, scene } = cell.course
  const now = yield* Clock.currentTimeMillis
  const found = due(cell, yield* monotonicMillis)
  // Without a demand only a whole window is signed: a part of one lets no shop go on.
  const allowed = required > 0n || found === scene.terms.window ? found : 0n
  const { arrivals } = pool
  const room = StreamLimit.roomOf(scene.order, account.total)
  const isCut = room.amount !== undefined && room.amount < allowed
  const wanted = isCut ? (room.amount ?? 0n) : allowed
  const { next, signed, step } = yield* StreamVoucher.ceilingOf(scene, wanted, required, pool.isShared)
  if (allowed === 0n) {
    return required === 0n
      ? undefined
      : stop(cell, "stopped", stopped(cell, "asks for a voucher before it sends what it has one for"))
  }
  if (accepted > signed)
    return stop(cell, "stopped", stopped(cell, "says that it has a voucher which was never signed"))
  if (isCut && (step === 0n || required === 0n || next < required)) return stop(cell, "limit", room.declined)
  if (next < required) return stop(cell, "stopped", stopped(cell, "asks for more than one window ahead"))
  if (now >= progress.entry.at + retention) return stop(cell, "limit", stopped(cell, "has run for a day"))
  const { headers } = yield* StreamVoucher.sign(scene, progress, step, (further) => {
    account.total += step
    account.seen = arrivals
    change(cell, { progress: further, repeats: 0 })
  })
  yield* sent(cell, headers)
})

/** Posts a voucher of this stream. */
const sent = Effect.fnUntraced(function* (cell: CourseCell, headers: Parameters<typeof StreamVoucher.post>[1]) {
  const { progress, scene } = cell.course
  const posted = yield* StreamVoucher.post(scene, headers, progress.ceiling)
  if (posted._tag === "Refused") return stop(cell, "stopped", stopped(cell, `is not paid on: ${posted.message}`))
  if (posted.answer?.transaction !== undefined) yield* StreamVoucher.deposited(scene, progress.entry.id)
  return undefined
})
