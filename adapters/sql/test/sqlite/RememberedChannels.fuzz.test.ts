/** Channels in memory against the same ones read from their file each time, with statements that fail. */
import { assert, describe, it } from "@effect/vitest"
import { ChannelLedger, type ChannelStore, Signals } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/testing/TestClock"
import * as fc from "fast-check"

import * as GroupCommit from "../../src/database/GroupCommit.ts"
import * as SqlDialect from "../../src/database/SqlDialect.ts"
import * as ChannelRows from "../../src/records/ChannelRows.ts"
import * as ChannelImage from "../../src/sqlite/ChannelImage.ts"
import * as RecordImage from "../../src/sqlite/RecordImage.ts"
import * as SqliteFile from "../../src/sqlite/SqliteFile.ts"
import * as SqliteTables from "../../src/sqlite/SqliteTables.ts"
import * as SqliteChannelStore from "../../src/SqliteChannelStore.ts"
import * as DatabaseFile from "../DatabaseFile.ts"
import * as TrialChannels from "../TrialChannels.ts"
import * as FaultyFile from "./FaultyFile.ts"

type Store = ChannelStore["Service"]

const { network } = TrialChannels.channel
const channelIds = ["0xa", "0xb", "0xc"]
const lease = 10_000
const tables = ["payment_channel", "channel_draw"]

/** Fewer than there are channels: some are always dropped from memory. */
const remembered = 2

const opened = Effect.fnUntraced(function* (remembers: boolean) {
  const filename = yield* DatabaseFile.filename
  const file = yield* SqliteFile.open({ filename })
  yield* SqliteTables.upgrade(file, filename)
  const faulty = FaultyFile.make(file)
  const image = ChannelImage.make(ChannelRows.write, remembered)
  const transactions = yield* GroupCommit.make(faulty.file, Signals.make(), RecordImage.make(), image)
  const plain = ChannelRows.make({ dialect: SqlDialect.sqlite, ...transactions })
  const memory = SqliteChannelStore.remembering(transactions, image)
  const store = ChannelLedger.make(remembers ? memory : plain)
  const rows = Effect.forEach(tables, (table) =>
    file.connection.execute(`SELECT * FROM ${table} ORDER BY 1, 2`, [], undefined)
  )
  return { ...faulty, isTransaction: file.isTransaction, memory, plain, rows, store }
})

type Deed = (store: Store) => Effect.Effect<unknown, { readonly _tag: string; readonly message: string }>

const channelId = fc.constantFrom(...channelIds)
const claimIds = ["one", "two", "three", "half \ud800"]
const claimId = fc.constantFrom(...claimIds)
const amount = fc.constantFrom(0n, 10n, 20n)
const sums = fc.record({
  balance: fc.constantFrom(0n, 100n, 1_000n),
  claimed: fc.constantFrom(0n, 0n, 10n),
  withdrawRequestedAt: fc.constantFrom(undefined, undefined, undefined, 7),
  block: fc.constantFrom(1n, 2n, 3n).map((number) => ({ number, hash: number === 2n ? "\0" : `0x${number}` }))
})
type Sums = typeof sums extends fc.Arbitrary<infer A> ? A : never
const stateOf = (id: string, state: Sums) => ({ ...TrialChannels.channel, ...state, channelId: id })
const channel = fc.tuple(channelId, sums).map(([id, state]) => stateOf(id, state))
const draw = fc
  .record({
    channelId,
    amount,
    maximum: fc.constantFrom(10n, 20n, 30n, 90n, 900n),
    unique: fc.constantFrom(undefined, undefined, "x", "y")
  })
  .chain((one) => fc.constant({ ...one, voucher: { maximum: `${one.maximum}` } }))

const deed: fc.Arbitrary<Deed> = fc.oneof(
  channel.map(
    (one): Deed =>
      (store) =>
        store.open(one)
  ),
  {
    weight: 4,
    arbitrary: fc.tuple(draw, claimId, fc.option(sums, { nil: undefined })).map(
      ([one, claim, state]): Deed =>
        (store) =>
          store.accept(one, claim, { lease, open: 2 }, state && stateOf(one.channelId, state))
    )
  },
  {
    weight: 3,
    arbitrary: fc.tuple(channelId, claimId, fc.option(amount, { nil: undefined })).map(
      ([id, claim, charge]): Deed =>
        (store) =>
          charge === undefined ? store.release(id, claim) : store.commit(id, claim, charge)
    )
  },
  fc.tuple(channelId, claimId).map(
    ([id, claim]): Deed =>
      (store) =>
        store.renew(id, claim, lease)
  ),
  draw.map(
    (one): Deed =>
      (store) =>
        store.judge(one, 50n, { lease, open: 2 })
  ),
  draw.map(
    (one): Deed =>
      (store) =>
        store.advance(one.channelId, one)
  ),
  channel.map(
    (one): Deed =>
      (store) =>
        store.observed([one])
  ),
  channelId.map(
    (id): Deed =>
      (store) =>
        store.publish([{ channelId: id, maximum: 20n }])
  ),
  channelId.map(
    (id): Deed =>
      (store) =>
        store.claimed([{ channelId: id, total: 10n }], { number: 3n, hash: "0x3" })
  ),
  fc.constant<Deed>((store) => store.forget(lease))
)

const ofTransactions = new Set(["BEGIN", "COMMIT", "ROLLBACK", "RELEASE"])
const statements = ["BEGIN", "COMMIT", "ROLLBACK", "RELEASE", "INSERT INTO channel_draw", "UPDATE channel_draw"]

/** Statements that a store with memory runs at other times than one without. */
const kept = ["UPDATE payment_channel", "INSERT INTO payment_channel", "SAVEPOINT"]

/** Operations of one turn, which share a transaction, and the faults meanwhile. */
const turnOf = (failing: ReadonlyArray<string>) =>
  fc.record({
    deeds: fc.array(deed, { minLength: 1, maxLength: 5 }),
    fault: fc.option(
      fc.record({ text: fc.constantFrom(...failing), from: fc.nat(3), length: fc.nat(8), undoes: fc.boolean() }),
      { nil: FaultyFile.none }
    ),
    millis: fc.constantFrom(0, 0, lease)
  })
const turn = turnOf(statements)
type Turn = typeof turn extends fc.Arbitrary<infer A> ? A : never

const outcome = <A>(exit: Exit.Exit<A, { readonly _tag: string; readonly message: string }>) =>
  Exit.isSuccess(exit) ? exit.value : Exit.findErrorOption(exit)

const always = { network, least: 1n, maximumUnclaimed: 1n, worthwhile: 1n, worthwhileAge: 0, maximumAge: 0 }

const seen = (store: Store) =>
  Effect.forEach([...channelIds.map((id) => store.find(id)), store.due(always)], (question: ReturnType<Deed>) =>
    Effect.map(Effect.exit(question), outcome)
  )

/** Two stores that get the same operations at the same time return the same. */
const same = Effect.fnUntraced(function* (turns: ReadonlyArray<Turn>) {
  const both = [yield* opened(true), yield* opened(false)] as const
  for (const { deeds, fault, millis } of turns) {
    yield* TestClock.adjust(millis)
    const [answers, expected] = yield* Effect.forEach(both, ({ arm, disarm, store }) => {
      arm(fault)
      const done = Effect.forEach(deeds, (one) => Effect.map(Effect.exit(one(store)), outcome), {
        // A busy machine decides which operations share a transaction, and so whose fault the transaction's own one is.
        concurrency: ofTransactions.has(fault.text) ? 1 : "unbounded"
      })
      return Effect.flatMap(done, (results) => {
        disarm()
        return Effect.map(seen(store), (after) => [results, after])
      })
    })
    assert.deepStrictEqual(answers, expected)
  }
  const [rows, expected] = yield* Effect.forEach(both, (one) => one.rows)
  assert.deepStrictEqual(rows, expected)
}, Effect.provide(TestClock.layer()))

const Channel = Schema.Struct({ channel_id: Schema.String, reserved: Schema.String, open_draws: Schema.BigInt })
const Draw = Schema.Struct({ channel_id: Schema.String, amount: Schema.String, state: Schema.String })
const channelsIn = Schema.decodeUnknownSync(Schema.Array(Channel))
const drawsIn = Schema.decodeUnknownSync(Schema.Array(Draw))

type Opened = Effect.Success<ReturnType<typeof opened>>

/** Memory says what the file says, and each channel in the file has reserved what its open draws have. */
const agreed = Effect.fnUntraced(function* ({ isTransaction, memory, plain, rows }: Opened) {
  for (const id of channelIds) {
    const [known, written] = [yield* Effect.exit(memory.find(id)), yield* Effect.exit(plain.find(id))]
    assert.deepStrictEqual(outcome(known), outcome(written))
    for (const claim of claimIds) {
      const draws = [yield* Effect.exit(memory.findDraw(id, claim)), yield* Effect.exit(plain.findDraw(id, claim))]
      const [open, read] = draws.map(outcome)
      assert.deepStrictEqual(open, read)
    }
  }
  if (isTransaction()) return
  const [channels, draws] = yield* rows
  for (const { channel_id: id, open_draws: open, reserved } of channelsIn(channels)) {
    const own = drawsIn(draws).filter((one) => one.channel_id === id && one.state === "reserved")
    const sum = own.reduce((total, one) => total + BigInt(one.amount), 0n)
    assert.deepStrictEqual([reserved, open], [`${sum}`, BigInt(own.length)])
  }
})

/** One store, in which any statement fails. */
const holds = Effect.fnUntraced(function* (turns: ReadonlyArray<Turn>) {
  const one = yield* opened(true)
  for (const { deeds, fault, millis } of turns) {
    yield* TestClock.adjust(millis)
    one.arm(fault)
    yield* Effect.forEach(deeds, (deed) => Effect.exit(deed(one.store)), { concurrency: "unbounded" })
    one.disarm()
    yield* agreed(one)
  }
}, Effect.provide(TestClock.layer()))

describe("channels that are remembered", () => {
  it.live("are what the file says, also when a write that was kept back fails", () =>
    Effect.promise(() =>
      fc.assert(
        fc.asyncProperty(fc.array(turnOf([...statements, ...kept]), { maxLength: 12 }), (turns) =>
          Effect.runPromise(Effect.scoped(holds(turns)))
        ),
        { numRuns: 60 }
      )
    )
  )

  it.live("are what the file says, whatever is done and whatever fails", () =>
    Effect.promise(() =>
      fc.assert(
        fc.asyncProperty(fc.array(turn, { maxLength: 12 }), (turns) => Effect.runPromise(Effect.scoped(same(turns)))),
        { numRuns: 40 }
      )
    )
  )

  it.effect("are written once for all draws of one transaction, and a failed write refuses them all", () =>
    Effect.gen(function* () {
      const { arm, disarm, rows, store } = yield* opened(true)
      yield* store.open({ ...TrialChannels.channel, channelId: "0xa" })
      const sell = Effect.forEach(
        [1, 2, 3],
        (index) =>
          Effect.exit(
            store.accept({ ...TrialChannels.draw(index, 900n), channelId: "0xa" }, `${index}`, { lease, open: 9 })
          ),
        { concurrency: "unbounded" }
      )
      arm({ text: "UPDATE payment_channel", from: 0, length: 1, undoes: false })
      assert.deepStrictEqual(
        (yield* sell).map(({ _tag }) => _tag),
        ["Failure", "Failure", "Failure"]
      )
      arm({ text: "UPDATE payment_channel", from: 1, length: 1, undoes: false })
      assert.deepStrictEqual(
        (yield* sell).map(({ _tag }) => _tag),
        ["Success", "Success", "Success"]
      )
      disarm()
      const [[channel] = []] = yield* rows
      assert.deepInclude(channel, { channel_id: "0xa", open_draws: 3n, reserved: "300", signed: "900" })
      assert.deepInclude(yield* store.find("0xa"), { open: 3, reserved: 300n, signed: 900n })
    })
  )
})
