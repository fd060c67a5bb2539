import { assert, layer } from "@effect/vitest"
import { ChannelStore } from "@pontage/core"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"

import { PostgresChannelStore } from "../../src/postgres.ts"
import { SqliteChannelStore } from "../../src/sqlite.ts"
import { PostgresServer } from "../../src/testing/index.ts"
import * as ChildProcess from "../ChildProcess.ts"
import * as DatabaseFile from "../DatabaseFile.ts"
import * as TrialChannels from "../TrialChannels.ts"

const { channel, draw } = TrialChannels

/** Kills a buyer in the middle of its draws; returns the numbers of the draws that it was answered about. */
const killed = Effect.fnUntraced(function* (database: string, place: string) {
  const child = yield* ChildProcess.run("records/ChannelBuyer.ts", database, place)
  yield* child.line("Charged 50")
  yield* child.signal("SIGKILL")
  yield* child.exited
  const numbered = (tag: string) =>
    child.lines.filter((line) => line.startsWith(`${tag} `)).map((line) => Number(line.slice(tag.length)))
  return { granted: numbered("Granted"), charged: numbered("Charged") }
})

/** The store has every grant and every charge that was answered: no voucher is lost, and no draw is granted twice. */
const isWhole = Effect.fnUntraced(function* (
  store: ChannelStore["Service"],
  { charged, granted }: Effect.Success<ReturnType<typeof killed>>
) {
  assert.isAbove(granted.length, charged.length)
  const ended = new Set(charged)
  const limits = { lease: 600_000, open: 1_000 }
  for (const index of granted) {
    const again = yield* store.accept(draw(index, 1_000_000n), "another claim", limits)
    if (ended.has(index)) assert.deepInclude(again, { _tag: "Spent", charged: 100n })
    // The charge of a draw may have been written right before the end, without an answer.
    else assert.oneOf(again._tag, ["Held", "Spent"])
  }
  const standing = yield* store.find(channel.channelId)
  assert.deepInclude(standing, { signed: 1_000_000n, voucher: { maximum: "1000000" } })
  assert.isAtLeast(Number(standing?.charged), 100 * charged.length)
  assert.isAtLeast(Number((standing?.charged ?? 0n) + (standing?.reserved ?? 0n)), 100 * granted.length)
})

const storeOf = <E>(stores: Layer.Layer<ChannelStore, E>) =>
  Effect.map(Layer.build(stores), (context) => Context.get(context, ChannelStore))

layer(PostgresServer.layer, { timeout: 300_000 })(
  "every draw that a killed process was granted is in the store",
  (it) => {
    it.effect("in a file", () =>
      Effect.gen(function* () {
        const filename = yield* DatabaseFile.filename
        const answered = yield* killed("sqlite", filename)
        yield* isWhole(yield* storeOf(SqliteChannelStore.layer({ filename })), answered)
      })
    )

    it.effect("in PostgreSQL", () =>
      Effect.gen(function* () {
        const url = yield* Effect.flatMap(PostgresServer.PostgresServer, (server) => server.database)
        const answered = yield* killed("postgres", Redacted.value(url))
        yield* isWhole(yield* storeOf(PostgresChannelStore.layer({ url })), answered)
      })
    )
  }
)
