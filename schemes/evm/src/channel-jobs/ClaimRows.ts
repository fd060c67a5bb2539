/**
 * The rows of a claim. One that the contract refuses reverts all of them, so each is judged first: by its signature, by the channel's
 * state, and by a trial of the whole. A row that spoils the trial is found by halving. A row whose payer can take the money out at once
 * may pass its trial and spoil the transaction, so it has one of its own.
 */
import type { ChainUnavailable, Misconfigured } from "@pontage/core"
import * as Effect from "effect/Effect"

import * as EvmRpc from "../node/EvmRpc.ts"
import * as EvmAddress from "../primitives/EvmAddress.ts"
import type * as EvmHex from "../primitives/EvmHex.ts"
import type { Authority } from "./ChannelAuthorizing.ts"
import type { ChannelChain } from "./ChannelChain.ts"
import * as ChannelChecks from "./ChannelChecks.ts"
import type { ChannelMinimum, MovedRow } from "./ChannelMinimum.ts"
import * as ChannelReads from "./ChannelReads.ts"
import * as ChannelRefusal from "./ChannelRefusal.ts"
import * as ChannelSimulation from "./ChannelSimulation.ts"
import type { IdentifiedRow } from "./IdentifiedRows.ts"
import type * as JobPayload from "./JobPayload.ts"

/** Rows that are claimed together, and the authorizer's signature of them. */
export interface SignedRows {
  readonly rows: ReadonlyArray<IdentifiedRow>
  readonly signature: EvmHex.Hex
}

/** Rows that can be claimed now, those of `apart` each by itself, and the rows that cannot. */
export interface Claimable extends SignedRows {
  readonly apart: ReadonlyArray<SignedRows>
  readonly held: ReadonlyArray<JobPayload.Held>
}

/** Seconds before the end of a withdrawal's delay from which a row is claimed apart: the time that its transaction may need to a block. */
const soonSeconds = 600

/** The most rows of one request that are claimed apart: each costs a transaction. */
const mostApart = 20

type Refusal = ChannelRefusal.ChannelRefusal

/** Fails if a row can never be claimed. */
export const demandValid = (chain: ChannelChain, rows: ReadonlyArray<IdentifiedRow>): Effect.Effect<void, Refusal> =>
  Effect.forEach(
    rows,
    (row) =>
      Effect.flatMap(flawOf(chain, row), (flaw) =>
        flaw === undefined ? Effect.void : Effect.fail(ChannelRefusal.make("claim_payload", `a row's ${flaw}`))
      ),
    { discard: true }
  )

/** The reason why a row can never be claimed: the end of a sentence whose subject is what belongs to the row. */
const flawOf = (chain: ChannelChain, { channelId, row }: IdentifiedRow): Effect.Effect<string | undefined> => {
  const { signature, totalClaimed, voucher } = row
  const { channel, maxClaimableAmount } = voucher
  if (totalClaimed > maxClaimableAmount) {
    return Effect.succeed(`sum of claims ${totalClaimed} is above its voucher's ${maxClaimableAmount}`)
  }
  return Effect.match(ChannelChecks.voucher(chain, channel, { channelId, maxClaimableAmount, signature }), {
    onSuccess: () => undefined,
    onFailure: ({ message }) => `signature is not valid: ${message}`
  })
}

/** A row by its channel's present state. */
interface StandingRow extends IdentifiedRow, MovedRow {
  readonly channelId: EvmHex.Hex
}

/** Rows that move something, by the chain's present state. `endable`: those whose withdrawal can end soon. */
const sorted = Effect.fnUntraced(function* (chain: ChannelChain, rows: ReadonlyArray<IdentifiedRow>) {
  const { confirm, rpc } = chain.lagGuard
  const ids = rows.map(({ channelId }) => channelId)
  const [states, now] = yield* confirm((block) =>
    Effect.all([ChannelReads.channels(rpc, ids, block), timeOf(rpc, block)], { concurrency: "unbounded" })
  )
  const held: Array<JobPayload.Held> = []
  const open: Array<StandingRow> = []
  const endable: Array<StandingRow> = []
  for (const [index, one] of rows.entries()) {
    const { balance, claimed, withdrawRequestedAt } = states[index] ?? ChannelReads.nothing
    const { totalClaimed, voucher } = one.row
    if (totalClaimed <= claimed) continue
    const flaw = yield* flawOf(chain, one)
    const reason =
      flaw ?? (totalClaimed > balance ? `claim of ${totalClaimed} exceeds the balance ${balance}` : undefined)
    const endsAt = withdrawRequestedAt + voucher.channel.withdrawDelay
    const isEndable = withdrawRequestedAt !== 0 && now + soonSeconds >= endsAt
    const moves = { moved: totalClaimed - claimed, total: totalClaimed, empties: totalClaimed === balance }
    if (reason === undefined) (isEndable ? endable : open).push({ ...one, ...moves, withdrawRequestedAt })
    else held.push({ channelId: one.channelId, reason })
  }
  return { endable, held, open }
})

/**
 * The rows that can be claimed now; `undefined` if the chain shows all of them as claimed. Fails if nothing can be claimed, and if a row
 * cannot that the shop's own signature covers: without it the signature is not valid. Each transaction moves the least sum.
 */
export const claimable = Effect.fnUntraced(function* (
  chain: ChannelChain,
  rows: ReadonlyArray<IdentifiedRow>,
  authority: Authority,
  least: ChannelMinimum
): Effect.fn.Return<Claimable | undefined, Refusal | ChainUnavailable | Misconfigured> {
  const { endable, held, open } = yield* sorted(chain, rows)
  if (open.length + endable.length + held.length === 0) return undefined
  // One signature of the shop covers all of its rows.
  if (!authority.isOurs) {
    if (held.length > 0) return yield* refused(held)
    const signature = yield* authority.sign(rows)
    const outcome = yield* ChannelSimulation.run(chain, jobOf(rows, signature))
    if (outcome._tag === "Returned") {
      const low = least.claim([...open, ...endable], rows.length)
      return low === undefined ? { rows, signature, apart: [], held } : yield* low
    }
    return yield* ChannelRefusal.make(
      "claim_simulation_failed",
      `the contract would refuse the claim: ${ChannelSimulation.reasonOf(outcome)}`
    )
  }
  for (const { channelId } of endable.splice(mostApart)) {
    held.push({ channelId, reason: `its withdrawal can end, and ${mostApart} such channels are claimed at once` })
  }
  const together = yield* bisected(chain, open, authority, held)
  const alone = yield* Effect.forEach(endable, (row) => bisected(chain, [row], authority, held))
  const lows: Array<Refusal> = []
  const parts = [together, ...alone].map((part) => enough(least, part, held, lows)).filter(({ length }) => length > 0)
  const [first, ...apart] = yield* Effect.forEach(parts, (part) =>
    Effect.map(authority.sign(part), (signature): SignedRows => ({ rows: part, signature }))
  )
  if (first === undefined) return yield* lows[0] ?? refused(held)
  yield* Effect.when(
    Effect.logWarning(`${held.length} of ${rows.length} channels cannot be claimed and are left out: ${listed(held)}`),
    Effect.sync(() => held.length > 0)
  )
  return { ...first, apart, held }
})

/** The rows that move the least sum together; else those that need none. The others are added to `held`. */
const enough = (
  least: ChannelMinimum,
  rows: ReadonlyArray<StandingRow>,
  held: Array<JobPayload.Held>,
  lows: Array<Refusal>
): ReadonlyArray<StandingRow> => {
  const low = least.claim(rows, rows.length)
  if (low === undefined) return rows
  lows.push(low)
  const [free, bound] = [rows.filter(least.isFree), rows.filter((row) => !least.isFree(row))]
  held.push(...bound.map(({ channelId }) => ({ channelId, reason: low.message })))
  if (free.length > 0) least.claim(free, free.length)
  return free
}

/** The time of a block, in Unix seconds. */
const timeOf = Effect.fnUntraced(function* (rpc: EvmRpc.Shape, number: bigint) {
  const block = yield* rpc.getBlock(number)
  return block === undefined ? yield* EvmRpc.unknownBlock(rpc, number) : Number(block.timestamp)
})

const jobOf = (rows: ReadonlyArray<IdentifiedRow>, signature: EvmHex.Hex) =>
  ({ kind: "claim", rows: rows.map(({ row }) => row), signature, held: [] }) as const

const listed = (held: ReadonlyArray<JobPayload.Held>): string =>
  held
    .slice(0, 5)
    .map(({ channelId, reason }) => `${channelId} (${reason})`)
    .join(", ")

const refused = (held: ReadonlyArray<JobPayload.Held>) =>
  Effect.fail(
    ChannelRefusal.make("claim_simulation_failed", `the contract would refuse ${held.length} rows: ${listed(held)}`)
  )

/** The rows whose trial succeeds together; the others are added to `held`. */
const bisected = (
  chain: ChannelChain,
  rows: ReadonlyArray<StandingRow>,
  authority: Authority,
  held: Array<JobPayload.Held>
): Effect.Effect<ReadonlyArray<StandingRow>, Refusal | ChainUnavailable | Misconfigured> =>
  Effect.gen(function* () {
    const [first] = rows
    if (first === undefined) return []
    const outcome = yield* ChannelSimulation.run(chain, jobOf(rows, yield* authority.sign(rows)))
    if (outcome._tag === "Returned") return rows
    if (rows.length === 1) {
      const reason = `${ChannelSimulation.reasonOf(outcome)} (payer ${EvmAddress.checksum(first.row.voucher.channel.payer)})`
      held.push({ channelId: first.channelId, reason })
      return []
    }
    const middle = Math.ceil(rows.length / 2)
    const left = yield* bisected(chain, rows.slice(0, middle), authority, held)
    return [...left, ...(yield* bisected(chain, rows.slice(middle), authority, held))]
  })
