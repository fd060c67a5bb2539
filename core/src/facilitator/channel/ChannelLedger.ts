/**
 * A channel store over records: the methods as reads and writes of one transaction each, so that every store follows the
 * same rules. A store of your own gives the records and the transactions.
 */
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"

import type { FacilitatorUnavailable } from "../../protocol/ProtocolError.ts"
import type {
  ClaimRow,
  Draw,
  DrawEnd,
  DrawLimits,
  DrawRecord,
  DrawVerdict,
  NewChannel,
  RefundOrder,
  RefundVerdict,
  Standing
} from "./Channel.ts"
import * as ChannelBooks from "./ChannelBooks.ts"
import { ChannelStore } from "./ChannelStore.ts"

/**
 * The records inside one transaction; `E` is the database's failure. `channel` locks the record until the transaction ends:
 * transactions on one channel follow each other.
 */
export interface ChannelRecords<E> {
  readonly channel: (channelId: string) => Effect.Effect<Standing | undefined, E>
  readonly draw: (channelId: string, name: string) => Effect.Effect<DrawRecord | undefined, E>
  readonly drawOf: (channelId: string, claimId: string) => Effect.Effect<DrawRecord | undefined, E>
  readonly reserved: (channelId: string) => Effect.Effect<ReadonlyArray<DrawRecord>, E>
  /** Creates a channel unless it is there. */
  readonly create: (standing: Standing) => Effect.Effect<void, E>
  readonly putChannel: (standing: Standing) => Effect.Effect<void, E>
  /** Writes a draw under its name, in place of an earlier one. */
  readonly putDraw: (draw: DrawRecord) => Effect.Effect<void, E>
  /** Writes the state, the charge and the lease of a draw that is on record under this name and claim. */
  readonly changeDraw: (draw: DrawRecord) => Effect.Effect<void, E>
}

/** A place of records: runs steps in one transaction, at a time in Unix milliseconds, and reads beside transactions. */
export interface ChannelPlace<E> {
  readonly transact: <A>(
    steps: (records: ChannelRecords<E>, now: number) => Effect.Effect<A, E>
  ) => Effect.Effect<A, FacilitatorUnavailable>
  readonly find: (channelId: string) => Effect.Effect<Standing | undefined, FacilitatorUnavailable>
  readonly findDraw: (
    channelId: string,
    claimId: string
  ) => Effect.Effect<DrawRecord | undefined, FacilitatorUnavailable>
  /** Calls `take` with each channel of a network whose `unclaimedSince` is set, the oldest first. */
  readonly unclaimed: (
    network: string,
    take: (standing: Standing, now: number) => void
  ) => Effect.Effect<void, FacilitatorUnavailable>
  /** Calls `take` with the terms of each channel of a network. */
  readonly configs: (
    network: string,
    take: (config: Schema.Json) => void
  ) => Effect.Effect<void, FacilitatorUnavailable>
  readonly forget: (before: number) => Effect.Effect<number, FacilitatorUnavailable>
}

/** Makes the store. */
export const make = <E>(place: ChannelPlace<E>): ChannelStore["Service"] => {
  const end = (channelId: string, claimId: string, amount: bigint | undefined) =>
    place.transact((records, now) => ended(records, now, { channelId, claimId, amount }))
  return ChannelStore.of({
    open: (channel) =>
      place.transact((records, now) =>
        Effect.gen(function* () {
          const { known, standing } = yield* entered(records, now, channel)
          // Without its lapsed draws: a refund is first judged by what this returns.
          const free = yield* current(records, now, standing)
          if (free === standing && standing !== known) yield* records.putChannel(standing)
          return free
        })
      ),
    find: place.find,
    accept: (draw, claimId, limits, channel) =>
      place.transact((records, now) => accepted(records, now, draw, { claimId, deposit: 0n, limits, channel })),
    judge: (draw, deposit, limits) =>
      place.transact((records, now) =>
        Effect.gen(function* () {
          const standing = yield* records.channel(draw.channelId)
          const asked = { claimId: undefined, deposit, limits, channel: undefined }
          return standing === undefined ? unknown : (yield* judged(records, now, draw, standing, asked)).verdict
        })
      ),
    // Nearly every request is a new draw: no transaction is opened to find that out.
    renew: (channelId, claimId, lease) =>
      Effect.flatMap(place.findDraw(channelId, claimId), (open) =>
        open?.state === "reserved"
          ? place.transact((records, now) => renewed(records, now, { channelId, claimId, lease }))
          : Effect.succeed(false)
      ),
    commit: end,
    release: (channelId, claimId) => end(channelId, claimId, undefined),
    advance: (channelId, signed) =>
      place.transact((records) =>
        Effect.gen(function* () {
          const standing = yield* records.channel(channelId)
          if (standing === undefined) return { _tag: "Unknown" as const }
          const verdict = ChannelBooks.advanceVerdict(standing, signed)
          const next = verdict === "Kept" ? ChannelBooks.advanced(standing, signed) : standing
          if (next !== standing) yield* records.putChannel(next)
          return { _tag: verdict, standing: next }
        })
      ),
    refund: (order) => place.transact((records, now) => refunded(records, now, order)),
    observed: (states) => each(place, states, ChannelBooks.observed),
    publish: (rows) => each(place, rows, (standing, { maximum }) => ChannelBooks.published(standing, maximum)),
    configs: place.configs,
    due: (policy) =>
      Effect.suspend(() => {
        const rows: Array<ClaimRow> = []
        const take = (standing: Standing, now: number) => {
          const row = ChannelBooks.dueRow(standing, policy, now)
          if (row !== undefined) rows.push(row)
        }
        return Effect.map(place.unclaimed(policy.network, take), () => [
          ...rows.filter(({ urgent }) => urgent),
          ...rows.filter(({ urgent }) => !urgent)
        ])
      }),
    watched: (network) =>
      Effect.suspend(() => {
        const ids: Array<string> = []
        const take = (standing: Standing) => {
          if (ChannelBooks.isLookedAt(standing)) ids.push(standing.channelId)
        }
        return Effect.as(place.unclaimed(network, take), ids)
      }),
    claimed: (rows, block) =>
      each(place, rows, (standing, { total }, now) => ChannelBooks.claimed(standing, total, block, now)),
    forget: place.forget
  })
}

const refunded = Effect.fnUntraced(function* <E>(
  records: ChannelRecords<E>,
  now: number,
  order: RefundOrder
): Effect.fn.Return<RefundVerdict | undefined, E> {
  const known = yield* records.channel(order.channelId)
  if (known === undefined) return undefined
  const standing = yield* current(records, now, known)
  const verdict = ChannelBooks.refunded(standing, order, now)
  if (verdict.standing !== standing) yield* records.putChannel(verdict.standing)
  return verdict
})

/** Changes channels one transaction after another: a transaction that locks several could wait for another in a ring. */
const each = <E, A extends { readonly channelId: string }>(
  place: ChannelPlace<E>,
  items: ReadonlyArray<A>,
  change: (standing: Standing, item: A, now: number) => Standing
): Effect.Effect<void, FacilitatorUnavailable> =>
  Effect.forEach(
    items,
    (item) =>
      place.transact((records, now) =>
        Effect.flatMap(records.channel(item.channelId), (standing) => {
          if (standing === undefined) return Effect.void
          const next = change(standing, item, now)
          return next === standing ? Effect.void : records.putChannel(next)
        })
      ),
    { discard: true }
  )

/** A channel as it is on record, and as the chain's state that came makes it, not written yet. */
const entered = Effect.fnUntraced(function* <E>(
  records: ChannelRecords<E>,
  now: number,
  channel: NewChannel
): Effect.fn.Return<{ readonly known: Standing; readonly standing: Standing }, E> {
  const known = (yield* records.channel(channel.channelId)) ?? (yield* created(records, channel))
  return { known, standing: ChannelBooks.observed(known, channel, now) }
})

/** Another process may create it at the same time. */
const created = Effect.fnUntraced(function* <E>(
  records: ChannelRecords<E>,
  channel: NewChannel
): Effect.fn.Return<Standing, E> {
  const fresh = ChannelBooks.opened(channel)
  yield* records.create(fresh)
  return (yield* records.channel(channel.channelId)) ?? fresh
})

const renewed = Effect.fnUntraced(function* <E>(
  records: ChannelRecords<E>,
  now: number,
  { channelId, claimId, lease }: { readonly channelId: string; readonly claimId: string; readonly lease: number }
): Effect.fn.Return<boolean, E> {
  yield* records.channel(channelId)
  const draw = yield* records.drawOf(channelId, claimId)
  if (draw?.state !== "reserved" || draw.until <= now) return false
  yield* records.changeDraw({ ...draw, until: Math.max(draw.until, now + lease) })
  return true
})

/** The channel with lapsed draws released. They are looked for only once the first one may have lapsed. */
const current = Effect.fnUntraced(function* <E>(
  records: ChannelRecords<E>,
  now: number,
  standing: Standing
): Effect.fn.Return<Standing, E> {
  if (standing.lapses === undefined || now < standing.lapses) return standing
  const open = yield* records.reserved(standing.channelId)
  const lapsed = open.filter(({ until }) => until <= now)
  for (const draw of lapsed) yield* records.changeDraw({ ...draw, state: "lapsed" })
  const left = open.filter(({ until }) => until > now)
  const instants = left.map(({ until }) => until)
  const next = {
    ...ChannelBooks.released(standing, lapsed, left),
    lapses: instants.length > 0 ? Math.min(...instants) : undefined
  }
  yield* records.putChannel(next)
  return next
})

/** The claim that asks, a deposit that counts beside the balance, the limits, and the channel's state on the chain if it came. */
interface Asked {
  readonly claimId: string | undefined
  readonly deposit: bigint
  readonly limits: DrawLimits
  readonly channel: NewChannel | undefined
}

const unknown: DrawVerdict = { _tag: "Unknown" }

/** The verdict on a draw, and the name for one that is to be written. */
interface Judged {
  readonly verdict: Exclude<DrawVerdict, { readonly _tag: "Unknown" }>
  readonly name: string | undefined
}

const judged = Effect.fnUntraced(function* <E>(
  records: ChannelRecords<E>,
  now: number,
  draw: Draw,
  found: Standing,
  { claimId, deposit, limits }: Asked
): Effect.fn.Return<Judged, E> {
  const { amount, channelId } = draw
  const standing = yield* current(records, now, found)
  const name = ChannelBooks.nameOf(draw)
  const natural = { ...draw, maximum: ChannelBooks.owed(standing) + amount }
  // No draw that is open or charged has a voucher above the highest one.
  const isLookedFor = draw.unique === undefined && natural.maximum <= standing.signed
  const beside = isLookedFor ? yield* records.draw(channelId, ChannelBooks.nameOf(natural)) : undefined
  const owed = ChannelBooks.baseOf(standing, amount, beside !== undefined && isUsed(beside))
  const verdict = (_tag: Exclude<DrawVerdict["_tag"], "Spent" | "Unknown">): Judged => ({
    verdict: { _tag, standing, owed },
    name: undefined
  })
  const known =
    draw.unique === undefined && draw.maximum === natural.maximum ? beside : yield* records.draw(channelId, name)
  if (known?.state === "reserved") return verdict(known.claimId === claimId ? "Granted" : "Held")
  // A stranger's draw that cost nothing left its voucher as it was: the next request comes with the same one.
  if (known?.state === "charged" && (draw.unique !== undefined || known.charged > 0n))
    return { verdict: { _tag: "Spent", standing, owed, charged: known.charged }, name: undefined }
  const funded = { ...standing, balance: standing.balance + deposit }
  const obstacle = ChannelBooks.obstacle(funded, draw, owed, limits)
  return obstacle === undefined ? { verdict: { _tag: "Granted", standing, owed }, name } : verdict(obstacle)
})

const isUsed = ({ charged, state }: DrawRecord): boolean =>
  state === "reserved" || (state === "charged" && charged > 0n)

const accepted = Effect.fnUntraced(function* <E>(
  records: ChannelRecords<E>,
  now: number,
  draw: Draw,
  asked: Asked & { readonly claimId: string }
): Effect.fn.Return<DrawVerdict, E> {
  const { amount, channelId, maximum, voucher } = draw
  const { channel, claimId, limits } = asked
  const known = channel === undefined ? yield* records.channel(channelId) : undefined
  const begun = channel === undefined ? known && { known, standing: known } : yield* entered(records, now, channel)
  if (begun === undefined) return unknown
  const { name, verdict } = yield* judged(records, now, draw, begun.standing, asked)
  if (name === undefined) {
    // The standing of lapsed draws is written already, and has the chain's state.
    const isNews = begun.standing !== begun.known && verdict.standing === begun.standing
    return isNews ? yield* Effect.as(records.putChannel(begun.standing), verdict) : verdict
  }
  const until = now + limits.lease
  const standing = ChannelBooks.reserved(verdict.standing, draw, until)
  yield* records.putChannel(standing)
  yield* records.putDraw({
    channelId,
    name,
    claimId,
    amount,
    state: "reserved",
    charged: 0n,
    until,
    signed: { maximum, voucher }
  })
  return { ...verdict, standing }
})

const ended = Effect.fnUntraced(function* <E>(
  records: ChannelRecords<E>,
  now: number,
  { amount, channelId, claimId }: { channelId: string; claimId: string; amount: bigint | undefined }
): Effect.fn.Return<DrawEnd, E> {
  const found = yield* records.channel(channelId)
  if (found === undefined) return { _tag: "Lost" }
  const standing = yield* current(records, now, found)
  const draw = yield* records.drawOf(channelId, claimId)
  if (draw === undefined) return { _tag: "Lost" }
  if (draw.state === "charged") return { _tag: "Charged", standing, charged: draw.charged }
  const isLapsed = draw.state === "lapsed"
  if (draw.state === "released") return { _tag: "Released", standing }
  if (isLapsed && amount === undefined) {
    yield* records.changeDraw({ ...draw, state: "released" })
    return { _tag: "Released", standing }
  }
  if (isLapsed && !ChannelBooks.coversLate(standing, draw)) return { _tag: "Lost" }
  const [next, charged] =
    amount === undefined
      ? [standing, 0n]
      : ChannelBooks.charged(isLapsed ? ChannelBooks.resumed(standing, draw) : standing, draw, amount, now)
  if (charged > 0n) {
    yield* records.putChannel(next)
    yield* records.changeDraw({ ...draw, state: "charged", charged })
    return { _tag: "Charged", standing: next, charged }
  }
  const open = (yield* records.reserved(channelId)).filter(({ name }) => name !== draw.name)
  const without = isLapsed ? standing : ChannelBooks.released(standing, [draw], open)
  yield* records.putChannel(without)
  yield* records.changeDraw({ ...draw, state: amount === undefined ? "released" : "charged" })
  return amount === undefined
    ? { _tag: "Released", standing: without }
    : { _tag: "Charged", standing: without, charged: 0n }
})
