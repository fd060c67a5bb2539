/**
 * Draws on payment channels: a claim to run a resource for a voucher is granted once the receiver's ledger holds the voucher and the
 * reservation, and it is charged or released at the end of its run. A deposit is in a block before its first draw.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

import type { PaymentFailure } from "../../protocol/PaymentFailure.ts"
import { FacilitatorUnavailable } from "../../protocol/ProtocolError.ts"
import * as RetryToken from "../../protocol/RetryToken.ts"
import type { PaymentRecord } from "../../protocol/Settlement.ts"
import { invalid, type ValidationError } from "../../protocol/ValidationError.ts"
import { ChannelCorrection } from "../../scheme/ChannelCorrection.ts"
import type { ChannelAccount, PresentedVoucher, SchemeDraws } from "../../scheme/SchemeDraws.ts"
import type { Draw, DrawVerdict, Standing } from "../channel/Channel.ts"
import * as ChannelBooks from "../channel/ChannelBooks.ts"
import type { ChannelStore } from "../channel/ChannelStore.ts"
import * as DrawId from "../channel/DrawId.ts"
import * as Checkpoint from "../Checkpoint.ts"
import { type Claim, type ExecutionEnd, notOnRecord, type Settled } from "../Facilitator.ts"
import type { ChannelHealth } from "./ChannelHealth.ts"
import * as ChannelLine from "./ChannelLine.ts"
import * as ChannelRefunds from "./ChannelRefunds.ts"
import { type ChannelSettling, requestOf } from "./ChannelSettling.ts"
import * as ChannelSignals from "./ChannelSignals.ts"
import type { ChannelStates, Seen } from "./ChannelStates.ts"
import * as FreeRuns from "./FreeRuns.ts"
import * as KnownChannel from "./KnownChannel.ts"
import type { IntakeContext, Presented } from "./PaymentIntake.ts"
import * as Turns from "./Turns.ts"

/** A draw's lease in milliseconds, which the shop renews every 20 seconds, and the most open draws of a channel. */
export const limits = { lease: 60_000, open: 64 }

/** A charge above any draw: the ledger charges at most what the draw reserved and its voucher covers. */
const allReserved = 2n ** 256n

/** Runs of one channel that cost nothing, in an hour: a payer who has handlers run and fail for ever is slowed down. */
const freeRuns = { perHour: 120, channels: 10_000, hour: 3_600_000 }

/** The services that draws share. */
export interface DrawContext {
  readonly intake: IntakeContext
  readonly settling: ChannelSettling
  readonly ledger: ChannelStore["Service"]
  readonly health: ChannelHealth
  readonly states: ChannelStates
}

/** The draws of one facilitator. */
export interface ChannelDraws {
  /** Effects of one channel that run one after the other. */
  readonly turns: Turns.Turns
  readonly signals: ChannelSignals.ChannelSignals
  /** Grants a run for a voucher, or renews the lease of the same claim. */
  readonly take: (presented: Presented, draws: SchemeDraws, claim: Claim) => Effect.Effect<Settled, PaymentFailure>
  /** Charges or releases a draw at the end of its run; `undefined` for the id of another payment. */
  readonly finish: (
    paymentId: string,
    claimId: string,
    outcome: ExecutionEnd,
    charge?: bigint
  ) => Effect.Effect<PaymentRecord, ValidationError | FacilitatorUnavailable> | undefined
}

/** A requested draw. */
interface Wanted {
  readonly presented: Presented
  readonly draws: SchemeDraws
  readonly claim: Claim
  readonly voucher: PresentedVoucher
  /** The request's price, which is reserved. */
  readonly amount: bigint
}

/** Begins without waiting payers. A refund of less than a network's `leastRefundOf` is not worth its transaction. */
export const make = Effect.fnUntraced(function* (context: DrawContext, leastRefundOf: (network: string) => bigint) {
  const line = yield* ChannelLine.make
  const turns = Turns.make()
  const free = FreeRuns.make(freeRuns)
  const refunds = yield* ChannelRefunds.make(context, leastRefundOf)
  const signals = ChannelSignals.make()
  return {
    turns,
    signals,
    take: Effect.fnUntraced(function* (presented, draws, claim) {
      if (presented.refusal !== undefined) return yield* presented.refusal
      if (claim.onlyKnown === true) return yield* notOnRecord
      const voucher = yield* draws.read(requestOf(presented))
      const amount = BigInt(presented.request.paymentRequirements.maxAmountRequired)
      const wanted = { presented, draws, claim, voucher, amount }
      const { channelId } = voucher
      if (voucher.refund !== undefined) return yield* refunds({ presented, draws, voucher }, claim.id)
      yield* takenOver(context, wanted)
      if (yield* context.ledger.renew(channelId, claim.id, limits.lease)) {
        const standing = yield* context.ledger.find(channelId)
        if (standing !== undefined) return grantedOf(wanted, standing, "")
      }
      yield* context.intake.intake.passNew(presented.facilitator.network)
      yield* context.intake.clocks.demand(presented.facilitator)
      yield* context.health.demand(presented.facilitator, voucher.withdrawDelay)
      if (free.isOver(channelId, yield* Clock.currentTimeMillis)) return yield* busy
      const known = yield* context.ledger.find(channelId)
      if (known !== undefined) yield* unlessPublic(wanted, known)
      const opened = voucher.deposit === undefined ? undefined : yield* turns(channelId, funded(context, wanted))
      return opened ?? (yield* drawn(context, line, wanted))
    }),
    finish: (paymentId, claimId, outcome, charge?: bigint) => {
      const channelId = DrawId.channelOf(paymentId)
      if (channelId === undefined) return undefined
      return Effect.tap(finish(context, { paymentId, channelId, claimId }, outcome, charge), ({ execution }) =>
        Effect.map(Clock.currentTimeMillis, (now) => {
          signals.changed(channelId)
          if (execution === "free") free.count(channelId, now)
        })
      )
    }
  } satisfies ChannelDraws
})

/** Gives back what the same request was granted under claims that got no response: nothing is run under them. */
const takenOver = ({ ledger }: DrawContext, { claim: { resumes = [] }, voucher: { channelId } }: Wanted) =>
  Effect.forEach(resumes, (id) => ledger.release(channelId, id), { discard: true })

/**
 * Refuses a voucher that strangers may know, at once: a claim named it on the chain, so it neither waits for a turn nor learns of a
 * voucher that is not public. Its own payer signs a higher one by what the chain shows, or by the public voucher itself.
 */
const unlessPublic = ({ amount, draws, presented, voucher }: Wanted, standing: Standing) => {
  const { claimed, published, signed, used, usedVoucher } = standing
  if (voucher.maximum > published && voucher.maximum > claimed) return Effect.void
  const isAll = signed === published && used === published && usedVoucher !== undefined
  const owed = isAll ? signed : claimed
  const account = { ...standing, owed, ...(isAll ? { voucher: usedVoucher } : { signed: claimed, voucher: undefined }) }
  return Effect.fail(correctionOf({ amount, draws, presented, voucher }, account))
}

/**
 * Makes a deposit whose voucher fits, and draws on it in the same turn: requests that open the channel at once do not each pay into it.
 * Everything that could refuse the draw is checked before, so that no deposit is sent for nothing. `undefined` for a voucher that does
 * not fit, whose deposit is not made.
 */
const funded = Effect.fnUntraced(function* (
  context: DrawContext,
  wanted: Wanted
): Effect.fn.Return<Settled | undefined, PaymentFailure> {
  const { draws, presented, voucher } = wanted
  const { channels } = presented.facilitator
  if (channels === undefined) return yield* noLedger
  yield* takenOver(context, wanted)
  const verdict = yield* judged(context, wanted, voucher.deposit ?? 0n)
  if (verdict._tag === "Stale" || verdict._tag === "Held" || verdict._tag === "Spent") return undefined
  if (verdict._tag !== "Granted") return yield* refusalOf(wanted, verdict)
  const { transaction } = yield* context.health.depositing(
    presented.facilitator,
    draws.claimGas,
    context.settling.settle(presented, channels)
  )
  const standing = yield* attempted(context, wanted, yield* context.states.newest(draws, voucher.channelId))
  return standing instanceof ChannelCorrection ? undefined : grantedOf(wanted, standing, transaction)
})

/** The verdict on a draw beside its deposit, by the chain's newest state. A channel enters the ledger with money in it alone. */
const judged = Effect.fnUntraced(function* (
  { ledger, states }: DrawContext,
  wanted: Wanted,
  deposit: bigint
): Effect.fn.Return<DrawVerdict, PaymentFailure> {
  const { amount, draws, presented, voucher } = wanted
  const { channelId, config } = voucher
  const { sums: state } = yield* states.newest(draws, channelId)
  if (state === undefined) return yield* empty
  const channel = { ...state, network: presented.facilitator.network, config }
  const draw = drawOf(wanted)
  if (state.balance > 0n || (yield* ledger.find(channelId)) !== undefined) {
    yield* ledger.open(channel)
    return yield* ledger.judge(draw, deposit, limits)
  }
  const standing = ChannelBooks.opened({ ...channel, balance: deposit })
  const owed = ChannelBooks.owed(standing)
  const _tag = ChannelBooks.obstacle(standing, draw, owed, limits) ?? "Granted"
  if (_tag === "Stale") return yield* correctionOf(wanted, { ...standing, owed })
  return { _tag, standing: { ...standing, reserved: amount }, owed }
})

/**
 * Draws now, or in the channel's line: while another request of it is told its next voucher, that voucher is kept free for it. In the
 * line a voucher that fits meanwhile is taken, and another one is corrected.
 */
const drawn = Effect.fnUntraced(function* (
  context: DrawContext,
  line: ChannelLine.ChannelLine,
  wanted: Wanted
): Effect.fn.Return<Settled, PaymentFailure> {
  const { presented, voucher } = wanted
  const { channelId } = voucher
  const token = RetryToken.of(presented.request.paymentRequirements.extra)
  const caller = { token, maximum: voucher.maximum }
  const seen = context.states.recent(wanted.draws, channelId)
  const attempt = Effect.map(
    Effect.flatMap(seen, (state) => attempted(context, wanted, state)),
    (standing) => (standing instanceof ChannelCorrection ? standing : grantedOf(wanted, standing, ""))
  )
  if (line.isFree(channelId, caller)) {
    const first = yield* attempt
    if (!(first instanceof ChannelCorrection)) return yield* Effect.as(line.passed(channelId, caller), first)
    // It came again too late, or with another voucher than it was told.
    yield* line.passed(channelId, caller)
  }
  const end = yield* line.inTurn(
    channelId,
    caller,
    Effect.map(attempt, (value): ChannelLine.Tried<ChannelCorrection | Settled> =>
      value instanceof ChannelCorrection ? { _tag: "Told", value, next: value.next } : { _tag: "Done", value }
    )
  )
  if (end === undefined) return yield* busy
  return end instanceof ChannelCorrection ? yield* end : end
})

const drawOf = ({ amount, voucher: { channelId, maximum, voucher } }: Wanted): Draw => ({
  channelId,
  maximum,
  voucher,
  amount,
  unique: undefined
})

/**
 * Asks the ledger, beside the chain's state, which is read anew where it refuses the draw. A strangers' request has no name, so its voucher
 * for another request is a stale one.
 */
const attempted = Effect.fnUntraced(function* (
  { ledger, states }: DrawContext,
  wanted: Wanted,
  seen: Seen
): Effect.fn.Return<Standing | ChannelCorrection, PaymentFailure> {
  const first = yield* asked(ledger, wanted, seen)
  if (first?._tag === "Granted" || seen.isNew) return yield* answered(wanted, first)
  return yield* answered(
    wanted,
    yield* asked(ledger, wanted, yield* states.newest(wanted.draws, wanted.voucher.channelId))
  )
})

/** The ledger's verdict; `undefined` for a channel without money on the chain. */
const asked = (ledger: DrawContext["ledger"], wanted: Wanted, { sums }: Seen) => {
  const { claim, presented, voucher } = wanted
  if (sums === undefined || sums.balance === 0n) return Effect.undefined
  const channel = { ...sums, network: presented.facilitator.network, config: voucher.config }
  return ledger.accept(drawOf(wanted), claim.id, limits, channel)
}

const answered = Effect.fnUntraced(function* (
  wanted: Wanted,
  verdict: DrawVerdict | undefined
): Effect.fn.Return<Standing | ChannelCorrection, PaymentFailure> {
  const { presented, voucher } = wanted
  const { channelId } = voucher
  if (verdict === undefined) return yield* empty
  switch (verdict._tag) {
    case "Granted":
      yield* Checkpoint.pass("draw-granted")
      return verdict.standing
    case "Held":
    case "Spent":
    case "Stale":
      return correctionOf(wanted, { ...verdict.standing, owed: verdict.owed })
    case "Foreign":
      yield* Effect.logError(
        `the payment channel ${channelId} on ${presented.facilitator.network} was claimed by another ledger than this one, and is not drawn on any more: give each ledger a receiver or an authorizer of its own`
      )
      return yield* refusalOf(wanted, verdict)
    case "Closing":
    case "Short":
    case "Busy":
    case "Unknown":
      return yield* refusalOf(wanted, verdict)
  }
})

/** The refusal of a voucher, with what its payer signs next. */
const correctionOf = (
  { amount, draws, presented, voucher }: Pick<Wanted, "amount" | "draws" | "presented" | "voucher">,
  account: ChannelAccount
) => {
  const { network, scheme } = presented.facilitator
  const { owed } = account
  const message = `the voucher is for ${voucher.maximum} in all, the channel owes ${owed} before this request of ${amount}; sign for ${owed + amount}`
  return new ChannelCorrection(
    { scheme: scheme.name, network, next: owed + amount },
    draws.correction(account),
    message
  )
}

const refusalOf = (wanted: Wanted, verdict: DrawVerdict) => {
  if (verdict._tag === "Busy") return busy
  if (verdict._tag === "Closing")
    return exceeding("a withdrawal from it is pending; finish it, or open another channel")
  if (verdict._tag === "Short") return short(wanted, verdict)
  return verdict._tag === "Foreign" ? exceeding("another ledger has claimed on it; open another channel") : empty
}

/** The refusal of a voucher above what the channel holds, with its sums: a refund may have taken money out that its payer counts on. */
const short = (
  { draws, presented, voucher }: Wanted,
  { owed, standing }: { readonly standing: Standing; readonly owed: bigint }
) => {
  const { network, scheme } = presented.facilitator
  return new ChannelCorrection(
    { scheme: scheme.name, network },
    draws.correction({ ...standing, owed }),
    `no voucher counts on this channel: the voucher is for ${voucher.maximum} in all, more than the ${ChannelBooks.available(standing)} that the channel holds; deposit first`,
    "batch_settlement_cumulative_exceeds_balance"
  )
}

const exceeding = (why: string) =>
  invalid("amount_mismatch", "batch_settlement_cumulative_exceeds_balance", `no voucher counts on this channel: ${why}`)

const busy = new FacilitatorUnavailable({
  message: "too many requests of one payment channel wait or run; the payer may repeat this one",
  retryAfter: 2
})

/** The refusal on a channel without money. */
export const empty = invalid(
  "amount_mismatch",
  "batch_settlement_channel_not_found",
  "the channel holds nothing on the chain; deposit first"
)

const noLedger = invalid("unsupported_scheme", "channel_claim", "no ledger of payment channels is kept here")

const grantedOf = (
  { amount, draws, presented, voucher }: Wanted,
  standing: Standing,
  transaction: string
): Settled => ({
  paymentId: DrawId.make(voucher.channelId, voucher.maximum),
  status: "included",
  execution: "granted",
  isDraw: true,
  transaction,
  network: presented.facilitator.network,
  payer: voucher.payer,
  payTo: voucher.payTo,
  asset: voucher.asset,
  amount: `${amount}`,
  extra: draws.receipt({ ...standing, owed: voucher.maximum }, amount)
})

/** A run that sent its product is charged at most what was reserved; every other end costs the payer nothing. */
const finish = Effect.fnUntraced(function* (
  context: DrawContext,
  {
    channelId,
    claimId,
    paymentId
  }: { readonly paymentId: string; readonly channelId: string; readonly claimId: string },
  outcome: ExecutionEnd,
  charge = allReserved
): Effect.fn.Return<PaymentRecord, ValidationError | FacilitatorUnavailable> {
  const known = yield* KnownChannel.find(context, paymentId)
  if (known === undefined) return yield* unknown(paymentId)
  const { draws, standing } = known
  const { ledger } = context
  yield* Checkpoint.pass("draw-ending")
  const end =
    outcome === "served" ? yield* ledger.commit(channelId, claimId, charge) : yield* ledger.release(channelId, claimId)
  yield* Checkpoint.pass("draw-ended")
  if (end._tag === "Lost") return yield* lapsed(paymentId)
  const parties = draws?.parties(standing.config) ?? { payer: "", payTo: "", asset: "" }
  return {
    paymentId,
    status: "included",
    network: standing.network,
    ...parties,
    amount: end._tag === "Charged" ? `${end.charged}` : "0",
    transaction: "",
    execution: end._tag === "Charged" ? "served" : "free",
    runs: 1,
    history: []
  }
})

const unknown = (paymentId: string) => invalid("malformed", "unknown_payment", `no payment ${paymentId} is known here`)

const lapsed = (paymentId: string) =>
  invalid(
    "already_used",
    "lease_lapsed",
    `the draw ${paymentId} lapsed before its end was reported, and is not charged`
  )
