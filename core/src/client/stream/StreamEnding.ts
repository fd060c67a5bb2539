/**
 * The end of a metered stream in the payer's books. The shop's sum counts as far as the vouchers of the stream cover it; without one
 * that fits, all that they allow counts as charged, since the shop can claim it.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Result from "effect/Result"

import type { Settlement } from "../../protocol/Settlement.ts"
import { larger } from "../ChannelFunds.ts"
import * as Purchase from "../Purchase.ts"
import { StreamBroken, type StreamEnd } from "./FollowedStream.ts"
import * as StreamAccount from "./StreamAccount.ts"
import { type CourseCell, StreamStopped } from "./StreamCourse.ts"
import * as StreamLimit from "./StreamLimit.ts"
import * as StreamVoucher from "./StreamVoucher.ts"

/** How the body ended: to its end, by the caller, or with its connection. */
export type BodyEnd = "ended" | "cancelled" | "broken"

/** The charge of a stream, and the shop's fault in saying it. */
interface Charge {
  readonly charged: bigint
  readonly units: bigint | undefined
  readonly fault: StreamStopped | undefined
}

/** Writes the end of a stream, reports what is wrong with it, and tells the listener of payments its sum. */
export const conclude = Effect.fnUntraced(function* (
  cell: CourseCell,
  isEvents: boolean,
  how: BodyEnd,
  reason: unknown
): Effect.fn.Return<StreamEnd & { readonly settlement: Settlement; readonly broken: unknown }> {
  const { account, pool, scene } = cell.course
  const { charged, fault, units } = isEvents ? receiptOf(cell, how) : yield* stateOf(cell, how)
  const change = StreamAccount.leave(pool, account, charged)
  const broken = how === "broken" ? brokenBy(cell, isEvents, reason, charged) : reason
  const end =
    how === "ended"
      ? outcomeOf(cell, fault, isEvents)
      : { outcome: how, reason: broken, ...(how === "broken" && !isEvents && limitOf(cell)) }
  const troubles = how === "ended" ? new Set([fault, end.reason]) : new Set<unknown>()
  for (const trouble of troubles) {
    // The reason why the signing had ended is reported already.
    if (trouble !== undefined && trouble !== cell.course.stopped?.reason) {
      yield* Purchase.reportTrouble(scene.context, trouble)
    }
  }
  const settlement = settlementOf(cell, charged)
  const booked = book(cell, change, settlement)
  yield* Effect.catch(booked, (error) => Purchase.reportTrouble(scene.context, error))
  yield* Purchase.announce(scene.context, settlement)
  return { ...end, charged, signed: account.total, units, settlement, broken }
})

/** The error of the body. The caller's own abort stays as it is. */
const brokenBy = (cell: CourseCell, isEvents: boolean, cause: unknown, charged: bigint): unknown => {
  const { account, scene, stopped } = cell.course
  if (cause instanceof Error && cause.name === "AbortError") return cause
  const { bytes, total: signed } = account
  const limit = (isEvents ? undefined : limitOf(cell)?.reason) ?? stopped?.reason
  const why = limit ?? cause
  const advice =
    limit === undefined
      ? "ask the shop for the rest, or for all of it again"
      : "what came is paid for; ask for the rest once this is changed"
  const message = `the metered stream of ${new URL(scene.order.quote.url).host} broke off after ${bytes} bytes, of the ${signed} that is signed for it ${charged} is charged (${why instanceof Error ? why.message : String(why)}); ${advice}`
  return new StreamBroken({ message, bytes, charged, signed, cause: why })
}

/** The end of a body without events by the payer's limit: its shop breaks it off when no voucher comes. */
const limitOf = ({
  course: { account, scene, stopped }
}: CourseCell): Pick<StreamEnd, "outcome" | "reason"> | undefined => {
  if (stopped?.outcome === "limit") return stopped
  const room = StreamLimit.roomOf(scene.order, account.total)
  const isUsedUp = room.amount !== undefined && room.amount < account.terms.tick
  const isAll = account.bytes * account.terms.tick + account.terms.tick > account.total
  return isUsedUp && isAll ? { outcome: "limit", reason: room.declined } : undefined
}

const faultOf = ({ course: { scene } }: CourseCell, fault: string): StreamStopped =>
  new StreamStopped({ message: `the metered stream of ${new URL(scene.order.quote.url).host} ${fault}` })

/** The outcome of a body that came to its end. One without events does not say whether it is whole where the limit is used up. */
const outcomeOf = (
  cell: CourseCell,
  fault: StreamStopped | undefined,
  isEvents: boolean
): Pick<StreamEnd, "outcome" | "reason"> => {
  const { receipt, stopped } = cell.course
  if (isEvents && fault === undefined && receipt?.end === undefined) return { outcome: "complete", reason: undefined }
  if (stopped !== undefined) return stopped
  if (fault !== undefined) return { outcome: "stopped", reason: fault }
  if (isEvents) {
    return { outcome: "stopped", reason: faultOf(cell, `was ended by the shop: ${receipt?.end?.slice(0, 40)}`) }
  }
  return limitOf(cell) ?? { outcome: "complete", reason: undefined }
}

/** The charge by the receipt in the stream. */
const receiptOf = (cell: CourseCell, how: BodyEnd): Charge => {
  const { account, pool, receipt, scene } = cell.course
  const all = (fault?: string): Charge => ({
    charged: account.total,
    units: undefined,
    fault: fault === undefined ? undefined : faultOf(cell, fault)
  })
  if (receipt === undefined) return all(how === "ended" ? "ended without a receipt" : undefined)
  if (receipt.reference !== scene.offered.id) return all("ended with a receipt of another channel")
  const charged = BigInt(receipt.chargedAmount)
  if (charged > StreamAccount.mostCharged(pool, account)) {
    return all(`ended with a receipt of ${charged}, and ${account.total} was signed for it`)
  }
  const units = receipt.units === undefined ? undefined : BigInt(receipt.units)
  const most = account.measure === "events" ? account.events : units
  const isTooMuch = most !== undefined && charged > most * account.terms.tick
  const fault = `has charged ${charged} for ${most} units at ${account.terms.tick}`
  return { charged, units, fault: isTooMuch ? faultOf(cell, fault) : undefined }
}

/** The charge of a body without events: what the shop says of the channel afterwards. */
const stateOf = Effect.fnUntraced(function* (cell: CourseCell, how: BodyEnd): Effect.fn.Return<Charge> {
  const { account, progress, scene, stopped } = cell.course
  const all: Charge = { charged: account.total, units: undefined, fault: undefined }
  if (how === "cancelled" || stopped?.outcome === "stopped") return all
  const asking = Effect.gen(function* () {
    const headers = yield* StreamVoucher.again(scene, progress.ceiling)
    const posted = yield* how === "ended"
      ? StreamVoucher.post(scene, headers, progress.ceiling)
      : once(StreamVoucher.posted(scene, scene.terms.voucherUrl, headers, progress.ceiling))
    const { next } = yield* StreamVoucher.ceilingOf(scene, 0n, 0n, false)
    if (posted?._tag !== "Accepted" || posted.answer === undefined) return all
    const unused = larger(next - BigInt(posted.answer.channelState.chargedCumulativeAmount), 0n)
    const charged = larger(account.total - unused, 0n)
    return { charged, units: charged / account.terms.tick, fault: undefined }
  })
  return yield* Effect.catch(StreamVoucher.inTurn(scene, asking), () => Effect.succeed(all))
})

/** A body that broke off waits for one answer alone: its connection may be gone with it. */
const once = <A>(asking: Effect.Effect<A>) =>
  Effect.map(Effect.timeoutOption(asking, "30 seconds"), Option.getOrUndefined)

/** The receipt of the whole stream; the deposit's transaction is that of the first window's receipt. */
const settlementOf = ({ course: { progress, scene } }: CourseCell, charged: bigint): Settlement => {
  const { paymentId = "", payer = "", receipt } = progress.entry
  const { network } = scene.order.quote.asset
  const transaction = receipt?.transaction ?? ""
  return { success: true, transaction, network, payer, amount: `${charged}`, paymentId }
}

/** Changes the channel's charges to what was charged, so that the next voucher is no higher than it must be. */
const book = Effect.fnUntraced(function* (
  { course: { progress, scene } }: CourseCell,
  change: bigint,
  receipt: Settlement
) {
  const { context, offered } = scene
  const at = yield* Clock.currentTimeMillis
  const { entry } = progress
  const drawing = context.journal.draw(entry.id, ({ channels }) => {
    const known = channels.get(offered.id)
    const charged = known && larger(BigInt(known.charged) + change, BigInt(known.claimed))
    const lines = known === undefined ? [] : [{ ...known, charged: `${charged}`, at }]
    return Result.succeed([undefined, [...lines, { ...entry, receipt }]])
  })
  yield* Effect.ensuring(drawing, context.journal.letGo(entry.id))
})
