/** The arithmetic of a channel: what each step makes of its standing. Pure, and the same for every store. */
import type { Block } from "../../scheme/SchemeFacilitator.ts"
import type {
  Advance,
  ChannelState,
  ClaimPolicy,
  ClaimRow,
  Draw,
  DrawLimits,
  DrawRecord,
  NewChannel,
  RefundOrder,
  RefundVerdict,
  SentRefund,
  SignedMaximum,
  Standing
} from "./Channel.ts"

const least = (first: bigint, ...more: ReadonlyArray<bigint>): bigint =>
  more.reduce((low, one) => (one < low ? one : low), first)
const most = (one: bigint, other: bigint): bigint => (one > other ? one : other)

/**
 * A channel that is new to the ledger owes what the chain shows as claimed, whatever its vouchers say: a base taken from a
 * voucher would charge for what was never sold.
 */
export const opened = (channel: NewChannel): Standing => ({
  ...channel,
  signed: channel.claimed,
  voucher: undefined,
  used: channel.claimed,
  usedVoucher: undefined,
  published: channel.claimed,
  charged: channel.claimed,
  reserved: 0n,
  open: 0,
  lapses: undefined,
  unclaimedSince: undefined,
  refunds: []
})

/**
 * The money that draws may use. A refund whose nonce the chain has not reached takes its part away: its signature may be public, so that
 * anybody can send it, also once a reorganisation has taken it back.
 */
export const available = ({ balance, refundNonce, refunds }: Standing): bigint =>
  refunds.reduce((left, { amount, nonce }) => (nonce < refundNonce ? left : left - amount), balance)

/** The most that may be claimed now. */
export const claimable = ({ balance, charged, used }: Standing): bigint => least(charged, used, balance)

const owes = ({ charged, claimed }: Standing): boolean => charged > claimed

/** With the instant at which the channel began to owe, or ended; each later step keeps it. */
const aged = (before: Standing, next: Standing, now: number): Standing => ({
  ...next,
  unclaimedSince: owes(before) === owes(next) ? (before.unclaimedSince ?? (owes(next) ? now : undefined)) : now
})

/** Time for which a claimed channel is looked at, in milliseconds: a reorganisation may take the claim back, and its repetition may fail. */
const looked = 3_600_000

/** Whether the chain's state is to be read: the channel owes money, or did so lately. */
export const isLookedAt = ({ unclaimedSince }: Standing): boolean => unclaimedSince !== undefined

/** A claimed channel that the chain still shows as claimed after a while is not looked at any more. */
const settled = (standing: Standing, now: number): Standing =>
  !owes(standing) && standing.unclaimedSince !== undefined && now - standing.unclaimedSince > looked
    ? { ...standing, unclaimedSince: undefined }
    : standing

/**
 * A later state of the chain. An earlier block's state changes nothing: reads may overtake each other. A state that says nothing new
 * leaves the same standing, which no store has to write.
 */
export const observed = (standing: Standing, state: ChannelState, now: number): Standing => {
  if (state.block.number < standing.block.number) return standing
  const { balance, block, claimed, refundNonce, withdrawRequestedAt } = state
  const entered = { ...standing, balance, block, claimed, refundNonce, withdrawRequestedAt }
  const next = settled(aged(standing, entered, now), now)
  return isSameState(standing, next) ? standing : next
}

const isSameState = (one: Standing, other: Standing): boolean =>
  one.block.number === other.block.number &&
  one.block.hash === other.block.hash &&
  one.balance === other.balance &&
  one.claimed === other.claimed &&
  one.refundNonce === other.refundNonce &&
  one.withdrawRequestedAt === other.withdrawRequestedAt &&
  one.unclaimedSince === other.unclaimedSince

/** A claim that is in a block. */
export const claimed = (standing: Standing, total: bigint, block: Block, now: number): Standing =>
  aged(
    standing,
    {
      ...standing,
      claimed: most(standing.claimed, total),
      block: block.number > standing.block.number ? block : standing.block
    },
    now
  )

/** The name of a draw in its channel. The same voucher for the same amount is the same draw. */
export const nameOf = ({ amount, maximum, unique }: Draw): string =>
  unique === undefined ? `voucher ${maximum} ${amount}` : `unique ${unique}`

/** Whether the chain shows a claim that this ledger did not make: its own name a voucher that was recorded as published before. */
export const isForeign = ({ claimed, published }: Standing): boolean => claimed > published

/** With a voucher that a claim is about to name on the chain. A channel with a foreign claim stays one. */
export const published = (standing: Standing, maximum: bigint): Standing =>
  maximum > standing.published && !isForeign(standing) ? { ...standing, published: maximum } : standing

/** The channel's debt. The next voucher is signed on top of it while that one is not used up. */
export const owed = ({ charged, reserved }: Standing): bigint => charged + reserved

/**
 * The sum on top of which a voucher is signed. It is what the channel owes, unless the voucher above that is no new one: strangers may
 * know it from a claim, or a draw has used it up although another one below it was not charged. Then it is the highest voucher.
 */
export const baseOf = (standing: Standing, amount: bigint, isUsed: boolean): bigint =>
  isUsed || owed(standing) + amount <= standing.published ? standing.signed : owed(standing)

/** The reason that a draw is not granted now; `undefined` if it is. `base`: what a voucher without a name is signed on top of. */
export const obstacle = (
  standing: Standing,
  draw: Draw,
  base: bigint,
  limits: DrawLimits
): "Closing" | "Foreign" | "Short" | "Stale" | "Busy" | undefined => {
  if (standing.withdrawRequestedAt !== undefined) return "Closing"
  if (isForeign(standing)) return "Foreign"
  const fits =
    draw.unique === undefined ? draw.maximum === base + draw.amount : draw.maximum >= owed(standing) + draw.amount
  if (draw.amount < 0n || !fits) return "Stale"
  if (draw.maximum > available(standing)) return "Short"
  return standing.open >= limits.open ? "Busy" : undefined
}

type Signed = Pick<Standing, "signed" | "voucher">

const higher = (known: Signed, { maximum, voucher }: SignedMaximum): Signed => {
  const isFirst = known.voucher === undefined && maximum === known.signed
  return isFirst || maximum > known.signed ? { signed: maximum, voucher } : known
}

/** With the higher of two vouchers of draws that are open or charged. */
export const withVoucher = (standing: Standing, signed: SignedMaximum): Standing => {
  const { signed: maximum, voucher } = higher(standing, signed)
  return maximum === standing.signed && voucher === standing.voucher
    ? standing
    : { ...standing, signed: maximum, voucher }
}

/** With the higher of two charged vouchers. */
const withUsed = (standing: Standing, signed: SignedMaximum): Standing => {
  const { signed: used, voucher: usedVoucher } = higher(
    { signed: standing.used, voucher: standing.usedVoucher },
    signed
  )
  return withVoucher({ ...standing, used, usedVoucher }, signed)
}

/** With a voucher that is kept without a draw. */
export const advanced = (standing: Standing, signed: SignedMaximum): Standing =>
  signed.maximum === standing.signed && standing.voucher !== undefined ? standing : withUsed(standing, signed)

/** With one draw more. */
export const reserved = (standing: Standing, draw: Draw, until: number): Standing => ({
  ...withVoucher(standing, draw),
  reserved: standing.reserved + draw.amount,
  open: standing.open + 1,
  lapses: standing.lapses === undefined ? until : Math.min(standing.lapses, until)
})

const without = (standing: Standing, { amount }: DrawRecord): Standing => ({
  ...standing,
  reserved: standing.reserved - amount,
  open: standing.open - 1,
  lapses: standing.open > 1 ? standing.lapses : undefined
})

/** Without draws that are not charged, and without their vouchers. `open`: the draws that stay open. */
export const released = (
  standing: Standing,
  draws: ReadonlyArray<DrawRecord>,
  open: ReadonlyArray<DrawRecord>
): Standing => {
  const left = { ...draws.reduce(without, standing), signed: standing.used, voucher: standing.usedVoucher }
  const isKnown = [...draws, ...open].every(({ signed }) => signed !== undefined)
  if (!isKnown) return { ...left, signed: standing.signed, voucher: standing.voucher }
  return open.reduce((next, { signed }) => (signed === undefined ? next : withVoucher(next, signed)), left)
}

const signedOf = (standing: Standing, { signed }: DrawRecord): SignedMaximum | undefined =>
  signed ?? (standing.voucher === undefined ? undefined : { maximum: standing.signed, voucher: standing.voucher })

/** With a draw's charge: at most its amount, and never more than its voucher covers. */
export const charged = (
  standing: Standing,
  draw: DrawRecord,
  wanted: bigint,
  now: number
): readonly [Standing, bigint] => {
  const signed = signedOf(standing, draw)
  const covered = most(standing.used, signed?.maximum ?? 0n) - standing.charged
  const amount = most(0n, least(wanted, draw.amount, covered))
  const next = { ...without(standing, draw), charged: standing.charged + amount }
  return [aged(standing, signed === undefined || amount === 0n ? next : withUsed(next, signed), now), amount]
}

/** Whether the voucher of a lapsed draw still covers it beside all others, and the channel still has its money, so that it can be charged late. */
export const coversLate = (standing: Standing, draw: DrawRecord): boolean =>
  owed(standing) + draw.amount <= least(most(standing.signed, draw.signed?.maximum ?? 0n), available(standing))

/** With a lapsed draw as an open one again. */
export const resumed = (standing: Standing, { amount }: DrawRecord): Standing => ({
  ...standing,
  reserved: standing.reserved + amount,
  open: standing.open + 1
})

/** The verdict on a voucher without a draw. */
export const advanceVerdict = (standing: Standing, { maximum }: SignedMaximum): Exclude<Advance["_tag"], "Unknown"> => {
  if (standing.withdrawRequestedAt !== undefined) return "Closing"
  if (maximum < standing.signed || maximum < standing.charged) return "Stale"
  return maximum > available(standing) ? "Short" : "Kept"
}

/**
 * The refunds of a channel in a day, in milliseconds: a voucher that a claim has named asks for one as well as its payer does, and each costs
 * gas. The ledger keeps as many, which no reorganisation takes back all together.
 */
const refundLimit = { count: 8, time: 86_400_000 }

/** The most that can be refunded: what draws have cost, and what open ones may still cost, stays in the channel. */
export const refundable = (standing: Standing): bigint => available(standing) - owed(standing)

/** The refund that is under way at the channel's count of refunds. */
export const refundUnderWay = ({ refundNonce, refunds }: Standing): SentRefund | undefined =>
  refunds.find(({ nonce }) => nonce === refundNonce)

/** The verdict on a refund. Its claim names a voucher on the chain. */
export const refunded = (standing: Standing, { amount, maximum, voucher }: RefundOrder, now: number): RefundVerdict => {
  if (isForeign(standing)) return { _tag: "Foreign", standing }
  if (maximum < standing.charged || maximum > owed(standing)) return { _tag: "Stale", standing }
  const known = refundUnderWay(standing)
  if (known !== undefined) return { _tag: "Held", standing, refund: known }
  if (amount <= 0n || amount > refundable(standing)) return { _tag: "Short", standing }
  const { claimed: before, refundNonce: nonce, refunds, used, usedVoucher } = standing
  const total = claimable(standing)
  const claim =
    usedVoucher === undefined || total <= before ? undefined : { maximum: used, voucher: usedVoucher, total }
  const kept = refunds.filter((one) => one.nonce >= nonce || now - one.at < refundLimit.time)
  if (kept.length >= refundLimit.count) return { _tag: "Busy", standing }
  const refund = { nonce, amount, voucher, at: now, claim }
  const next = { ...standing, refunds: [...kept, refund] }
  return { _tag: "Held", standing: claim === undefined ? next : published(next, claim.maximum), refund }
}

/** The row of a channel that is due; `undefined` if none is. */
export const dueRow = (standing: Standing, policy: ClaimPolicy, now: number): ClaimRow | undefined => {
  const { channelId, config, unclaimedSince, used, usedVoucher } = standing
  const total = claimable(standing)
  const unclaimed = total - standing.claimed
  if (usedVoucher === undefined || unclaimedSince === undefined) return undefined
  if (unclaimed <= 0n || unclaimed < policy.least) return undefined
  const urgent = standing.withdrawRequestedAt !== undefined
  const age = now - unclaimedSince
  const isDue =
    urgent ||
    unclaimed >= policy.maximumUnclaimed ||
    age >= policy.maximumAge ||
    (unclaimed >= policy.worthwhile && age >= policy.worthwhileAge)
  return isDue ? { channelId, config, maximum: used, voucher: usedVoucher, total, urgent } : undefined
}
