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
  charged: channel.claimed,
  reserved: 0n,
  open: 0,
  lapses: undefined,
  unclaimedSince: undefined
})

/** The most that may be claimed now. */
export const claimable = ({ balance, charged, signed }: Standing): bigint => least(charged, signed, balance)

const aged = (standing: Standing, now: number): Standing => ({
  ...standing,
  unclaimedSince: standing.charged > standing.claimed ? (standing.unclaimedSince ?? now) : undefined
})

/** A later state of the chain. An earlier block's state changes nothing: reads may overtake each other. */
export const observed = (standing: Standing, state: ChannelState, now: number): Standing => {
  if (state.block.number < standing.block.number) return standing
  const { balance, block, claimed, refundNonce, withdrawRequestedAt } = state
  const charged = most(standing.charged, claimed)
  return aged({ ...standing, balance, block, claimed, refundNonce, withdrawRequestedAt, charged }, now)
}

/** A claim that is in a block. */
export const claimed = (standing: Standing, total: bigint, block: Block, now: number): Standing =>
  aged(
    {
      ...standing,
      claimed: most(standing.claimed, total),
      charged: most(standing.charged, total),
      block: block.number > standing.block.number ? block : standing.block
    },
    now
  )

/** The name of a draw in its channel. The same voucher for the same amount is the same draw. */
export const nameOf = ({ amount, maximum, unique }: Draw): string =>
  unique === undefined ? `voucher ${maximum} ${amount}` : `unique ${unique}`

/** The reason that a draw is not granted now; `undefined` if it is. */
export const obstacle = (
  standing: Standing,
  draw: Draw,
  limits: DrawLimits
): "Closing" | "Short" | "Stale" | "Busy" | undefined => {
  if (standing.withdrawRequestedAt !== undefined) return "Closing"
  const owed = standing.charged + standing.reserved + draw.amount
  const fits = draw.unique === undefined ? draw.maximum === owed : draw.maximum >= owed
  if (draw.amount < 0n || !fits) return "Stale"
  if (draw.maximum > standing.balance) return "Short"
  return standing.open >= limits.open ? "Busy" : undefined
}

/** With the higher of two vouchers. */
export const withVoucher = (standing: Standing, { maximum, voucher }: SignedMaximum): Standing => {
  const isFirst = standing.voucher === undefined && maximum === standing.signed
  return isFirst || maximum > standing.signed ? { ...standing, signed: maximum, voucher } : standing
}

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

/** Without a draw that is not charged. */
export const released = (standing: Standing, draws: ReadonlyArray<DrawRecord>): Standing =>
  draws.reduce(without, standing)

/**
 * With a draw's charge: at most its amount, and never more than is signed. Without the second limit a claim on the chain that
 * the ledger did not know would let charges outgrow the voucher.
 */
export const charged = (
  standing: Standing,
  draw: DrawRecord,
  wanted: bigint,
  now: number
): readonly [Standing, bigint] => {
  const amount = most(0n, least(wanted, draw.amount, standing.signed - standing.charged))
  return [aged({ ...without(standing, draw), charged: standing.charged + amount }, now), amount]
}

/** The verdict on a voucher without a draw. */
export const advanceVerdict = (standing: Standing, { maximum }: SignedMaximum): Exclude<Advance["_tag"], "Unknown"> => {
  if (standing.withdrawRequestedAt !== undefined) return "Closing"
  if (maximum < standing.signed || maximum < standing.charged) return "Stale"
  return maximum > standing.balance ? "Short" : "Kept"
}

/** The row of a channel that is due; `undefined` if none is. */
export const dueRow = (standing: Standing, policy: ClaimPolicy, now: number): ClaimRow | undefined => {
  const { channelId, config, signed, unclaimedSince, voucher } = standing
  const total = claimable(standing)
  const unclaimed = total - standing.claimed
  if (voucher === undefined || unclaimedSince === undefined || unclaimed <= 0n) return undefined
  const urgent = standing.withdrawRequestedAt !== undefined
  const age = now - unclaimedSince
  const isDue =
    urgent ||
    unclaimed >= policy.maximumUnclaimed ||
    age >= policy.maximumAge ||
    (unclaimed >= policy.worthwhile && age >= policy.worthwhileAge)
  return isDue ? { channelId, config, maximum: signed, voucher, total, urgent } : undefined
}
