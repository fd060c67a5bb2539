/** Draws on one channel without end, several at once, and prints each grant and each charge once the store has answered. */
import { ChannelStore } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"

import { PostgresChannelStore } from "../../src/postgres.ts"
import { SqliteChannelStore } from "../../src/sqlite.ts"
import * as TrialChannels from "../TrialChannels.ts"

const [database = "", place = ""] = process.argv.slice(2)

const buyer = Effect.gen(function* () {
  const store = yield* ChannelStore
  const { channelId } = yield* store.open(TrialChannels.channel)
  const buy = Effect.fnUntraced(function* (index: number) {
    const claimId = `claim ${index}`
    const { _tag } = yield* store.accept(TrialChannels.draw(index, 1_000_000n), claimId, { lease: 600_000, open: 100 })
    process.stdout.write(`${_tag} ${index}\n`)
    // Every third request has not ended when the process does.
    if (index % 3 === 0) return
    const end = yield* store.commit(channelId, claimId, 100n)
    process.stdout.write(`${end._tag} ${index}\n`)
  })
  for (let first = 1; ; first += 5)
    yield* Effect.forEach([0, 1, 2, 3, 4], (index) => buy(first + index), { concurrency: "unbounded" })
})

await Effect.runPromise(
  Effect.provide(
    buyer,
    database === "sqlite"
      ? SqliteChannelStore.layer({ filename: place })
      : PostgresChannelStore.layer({ url: Redacted.make(place) })
  )
)
