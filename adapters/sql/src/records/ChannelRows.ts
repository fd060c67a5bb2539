/** The rows of payment channels and of their draws, read and written as the ledger's records. */
import { type ChannelLedger, type DrawRecord, type FacilitatorUnavailable, Network, type Standing } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { SqlError } from "effect/sql/SqlError"

import type { Database, Transaction } from "../database/Database.ts"
import type { Dialect, Run, Value } from "../database/SqlDialect.ts"
import * as Records from "./Records.ts"

const AsJson = Schema.fromJsonString(Schema.Json)
const Money = Schema.BigIntFromString
const Instant = Schema.NullOr(Schema.BigInt)

/** The refunds of a channel; a claim as the maximum of its voucher, the voucher, and the total that is claimed. */
const Refunds = Schema.fromJsonString(
  Schema.Array(
    Schema.Struct({
      nonce: Money,
      amount: Money,
      voucher: Schema.Json,
      at: Schema.Int,
      claim: Schema.NullOr(Schema.Struct({ maximum: Money, voucher: Schema.Json, total: Money }))
    })
  )
)
const encodeRefunds = Schema.encodeSync(Refunds)

const ChannelRow = Schema.Struct({
  channel_id: Schema.String,
  network: Network.Network,
  config: AsJson,
  balance: Money,
  claimed: Money,
  withdraw_at: Instant,
  refund_nonce: Money,
  block_number: Money,
  block_hash: Schema.String,
  signed: Money,
  voucher: Schema.NullOr(AsJson),
  charged: Money,
  reserved: Money,
  open_draws: Schema.BigInt,
  lapses_at: Instant,
  unclaimed_since: Instant,
  used: Schema.NullOr(Money),
  used_voucher: Schema.NullOr(AsJson),
  published: Schema.NullOr(Money),
  refunds: Schema.NullOr(Refunds)
})

const DrawRow = Schema.Struct({
  channel_id: Schema.String,
  name: Schema.String,
  claim_id: Schema.String,
  amount: Money,
  state: Schema.Literals(["reserved", "charged", "released", "lapsed"]),
  charged: Money,
  lapses_at: Schema.BigInt,
  maximum: Schema.NullOr(Money),
  voucher: Schema.NullOr(AsJson)
})

const channelColumns = Object.keys(ChannelRow.fields)
const drawColumns = Object.keys(DrawRow.fields)
const marks = (columns: ReadonlyArray<string>) => columns.map(() => "?").join(", ")
const excluded = (columns: ReadonlyArray<string>) => columns.map((name) => `${name} = excluded.${name}`).join(", ")

const channelBy = `SELECT ${channelColumns.join(", ")} FROM payment_channel WHERE channel_id = ?`
const created = `INSERT INTO payment_channel (${channelColumns.join(", ")}) VALUES (${marks(channelColumns)})
  ON CONFLICT (channel_id) DO NOTHING`
const channelFacts = channelColumns.filter((name) => !["channel_id", "network", "config"].includes(name))
const changed = `UPDATE payment_channel SET ${channelFacts.map((name) => `${name} = ?`).join(", ")} WHERE channel_id = ?`
const drawBy = `SELECT ${drawColumns.join(", ")} FROM channel_draw WHERE channel_id = ? AND`
const drawByName = `${drawBy} name = ?`
const drawByClaim = `${drawBy} claim_id = ?`
const openDraws = `${drawBy} state = 'reserved'`
const drawPut = `INSERT INTO channel_draw (${drawColumns.join(", ")}) VALUES (${marks(drawColumns)})
  ON CONFLICT (channel_id, name) DO UPDATE SET
  ${excluded(drawColumns.filter((name) => !["channel_id", "name"].includes(name)))}`
const drawChanged = "UPDATE channel_draw SET state = ?, charged = ?, lapses_at = ? WHERE channel_id = ? AND name = ?"
const unclaimedAfter = `SELECT ${channelColumns.join(", ")} FROM payment_channel
  WHERE unclaimed_since IS NOT NULL AND network = ?
    AND unclaimed_since >= ? AND (unclaimed_since > ? OR channel_id > ?)
  ORDER BY unclaimed_since, channel_id LIMIT 500`
/** The outer condition on the state is checked once more after a wait for the row: another transaction may have drawn anew. */
const forgotten = `DELETE FROM channel_draw WHERE state <> 'reserved' AND (channel_id, name) IN
  (SELECT channel_id, name FROM channel_draw WHERE state <> 'reserved' AND lapses_at < ? ORDER BY lapses_at LIMIT 2000)
  RETURNING name`

const configsAfter = `SELECT channel_id, config FROM payment_channel WHERE network = ? AND channel_id > ?
  ORDER BY channel_id LIMIT 500`

const askConfigs = Records.asks("payment_channel", Schema.Struct({ channel_id: Schema.String, config: AsJson }))
const askChannel = Records.asks("payment_channel", ChannelRow)
const askDraw = Records.asks("channel_draw", DrawRow)

const instant = (value: bigint | null): number | undefined => (value === null ? undefined : Number(value))
const column = (value: number | undefined): bigint | null => (value === undefined ? null : BigInt(value))

const standingOf = (row: typeof ChannelRow.Type): Standing => ({
  channelId: row.channel_id,
  network: row.network,
  config: row.config,
  balance: row.balance,
  claimed: row.claimed,
  withdrawRequestedAt: instant(row.withdraw_at),
  refundNonce: row.refund_nonce,
  block: { number: row.block_number, hash: row.block_hash },
  signed: row.signed,
  voucher: row.voucher ?? undefined,
  charged: row.charged,
  reserved: row.reserved,
  open: Number(row.open_draws),
  lapses: instant(row.lapses_at),
  unclaimedSince: instant(row.unclaimed_since),
  // Rows of a release that kept one voucher may have had it claimed.
  used: row.used ?? row.signed,
  usedVoucher: (row.used === null ? row.voucher : row.used_voucher) ?? undefined,
  published: row.published ?? row.signed,
  refunds: (row.refunds ?? []).map(({ amount, at, claim, nonce, voucher }) => ({
    nonce,
    amount,
    voucher,
    at,
    claim: claim ?? undefined
  }))
})

const drawOf = (row: typeof DrawRow.Type): DrawRecord => ({
  channelId: row.channel_id,
  name: row.name,
  claimId: row.claim_id,
  amount: row.amount,
  state: row.state,
  charged: row.charged,
  until: Number(row.lapses_at),
  signed: row.maximum === null || row.voucher === null ? undefined : { maximum: row.maximum, voucher: row.voucher }
})

const jsonOf = (json: Schema.Json | undefined): string | null => (json === undefined ? null : JSON.stringify(json))

const refundsColumn = ({ refunds }: Standing): string | null =>
  refunds.length === 0 ? null : encodeRefunds(refunds.map(({ claim = null, ...refund }) => ({ ...refund, claim })))

/** The columns that change, in the table's order. */
const facts = (standing: Standing): ReadonlyArray<Value> => [
  `${standing.balance}`,
  `${standing.claimed}`,
  column(standing.withdrawRequestedAt),
  `${standing.refundNonce}`,
  `${standing.block.number}`,
  standing.block.hash,
  `${standing.signed}`,
  jsonOf(standing.voucher),
  `${standing.charged}`,
  `${standing.reserved}`,
  BigInt(standing.open),
  column(standing.lapses),
  column(standing.unclaimedSince),
  `${standing.used}`,
  jsonOf(standing.usedVoucher),
  `${standing.published}`,
  refundsColumn(standing)
]

const recordsIn = ({ run }: Transaction, dialect: Dialect): ChannelLedger.ChannelRecords<Records.RecordFault> => {
  const put = (text: string, parameters: ReadonlyArray<Value>) => Effect.asVoid(run(text, parameters))
  const oneDraw = (text: string, ...parameters: ReadonlyArray<Value>) =>
    Effect.map(askDraw(run, text, parameters), ([row]) => (row === undefined ? undefined : drawOf(row)))
  const lockedChannel = dialect.locksRows ? `${channelBy} FOR UPDATE` : channelBy
  return {
    channel: (channelId) =>
      Effect.map(askChannel(run, lockedChannel, [channelId]), ([row]) =>
        row === undefined ? undefined : standingOf(row)
      ),
    draw: (channelId, name) => oneDraw(drawByName, channelId, name),
    drawOf: (channelId, claimId) => oneDraw(drawByClaim, channelId, claimId),
    reserved: (channelId) => Effect.map(askDraw(run, openDraws, [channelId]), (rows) => rows.map(drawOf)),
    create: (standing) =>
      put(created, [standing.channelId, standing.network, JSON.stringify(standing.config), ...facts(standing)]),
    putChannel: (standing) => write(run, standing),
    changeDraw: ({ channelId, charged, name, state, until }) =>
      put(drawChanged, [state, `${charged}`, BigInt(until), channelId, name]),
    putDraw: ({ amount, channelId, charged, claimId, name, signed, state, until }) => {
      const voucher = [signed === undefined ? null : `${signed.maximum}`, jsonOf(signed?.voucher)]
      return put(drawPut, [channelId, name, claimId, `${amount}`, state, `${charged}`, BigInt(until), ...voucher])
    }
  }
}

/** Writes a known channel. */
export const write = (run: Run, standing: Standing): Effect.Effect<void, SqlError> =>
  Effect.asVoid(run(changed, [...facts(standing), standing.channelId]))

type Rows = ChannelLedger.ChannelRecords<Records.RecordFault>

/** The records of a database whose tables are up to date; `over` puts what memory keeps in front of them. */
export const make = (
  database: Database,
  over: (plain: Rows) => Rows = (plain) => plain
): ChannelLedger.ChannelPlace<Records.RecordFault> => ({
  transact: (steps) =>
    database.batch((transaction) => steps(over(recordsIn(transaction, database.dialect)), transaction.now)),
  find: (channelId) =>
    database.query(({ run }) =>
      Effect.map(askChannel(run, channelBy, [channelId]), ([row]) => (row === undefined ? undefined : standingOf(row)))
    ),
  findDraw: (channelId, claimId) =>
    database.query(({ run }) =>
      Effect.map(askDraw(run, drawByClaim, [channelId, claimId]), ([row]) =>
        row === undefined ? undefined : drawOf(row)
      )
    ),
  unclaimed: (network, take) =>
    Effect.gen(function* () {
      const now = yield* database.now
      let after: Place | undefined = { since: -1n, channelId: "" }
      while (after !== undefined) after = yield* takePage(database, network, after, (standing) => take(standing, now))
    }),
  configs: (network, take) =>
    Effect.gen(function* () {
      let after: string | undefined = ""
      while (after !== undefined) after = yield* takeConfigs(database, network, after, take)
    }),
  forget: (before) =>
    database.batch<number, never>(({ run }) => Effect.map(run(forgotten, [BigInt(before)]), ({ length }) => length))
})

/** The last channel of a page. */
interface Place {
  readonly since: bigint
  readonly channelId: string
}

/** Takes the channels of one page; returns the place after it, or `undefined` after the last one. */
const takePage = (
  database: Database,
  network: string,
  { channelId, since }: Place,
  take: (standing: Standing) => void
): Effect.Effect<Place | undefined, FacilitatorUnavailable> =>
  Effect.map(
    database.query<ReadonlyArray<typeof ChannelRow.Type>, FacilitatorUnavailable>(({ run }) =>
      askChannel(run, unclaimedAfter, [network, since, since, channelId])
    ),
    (rows) => {
      for (const row of rows) take(standingOf(row))
      const last = rows.at(-1)
      return last === undefined ? undefined : { since: last.unclaimed_since ?? 0n, channelId: last.channel_id }
    }
  )

/** Takes the terms of one page of channels; returns the last one's id, or `undefined` after the last page. */
const takeConfigs = (
  database: Database,
  network: string,
  after: string,
  take: (config: Schema.Json) => void
): Effect.Effect<string | undefined, FacilitatorUnavailable> =>
  Effect.map(
    database.query<
      ReadonlyArray<{ readonly channel_id: string; readonly config: Schema.Json }>,
      FacilitatorUnavailable
    >(({ run }) => askConfigs(run, configsAfter, [network, after])),
    (rows) => {
      for (const { config } of rows) take(config)
      return rows.at(-1)?.channel_id
    }
  )
