/** The statements of kept responses: one for each method, so that none needs a transaction of its own. */
import { ResponseStore } from "@pontage/core"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

import type { Database } from "../database/Database.ts"
import type { Value } from "../database/SqlDialect.ts"
import * as Records from "./Records.ts"

/** The oldest responses are deleted at most once in this time, and at most this number of them. */
const sweepMillis = 1_000
const sweptAtOnce = 2_000

const found = "SELECT text FROM kept_response WHERE name = ? AND kept_until > ?"
const kept = `INSERT INTO kept_response (name, text, kept_until) VALUES (?, ?, ?)
  ON CONFLICT (name) DO UPDATE SET text = excluded.text, kept_until = excluded.kept_until`
/** Leaves a text whose time is not over. */
const keptFirst = `INSERT INTO kept_response (name, text, kept_until) VALUES (?, ?, ?)
  ON CONFLICT (name) DO UPDATE SET
    text = CASE WHEN kept_response.kept_until <= ? THEN excluded.text ELSE kept_response.text END,
    kept_until = CASE WHEN kept_response.kept_until <= ? THEN excluded.kept_until ELSE kept_response.kept_until END
  RETURNING text`
const dropped = "DELETE FROM kept_response WHERE name = ? AND text = ?"
const swept = `DELETE FROM kept_response WHERE name IN
  (SELECT name FROM kept_response WHERE kept_until <= ? ORDER BY kept_until LIMIT ${sweptAtOnce})`

const askText = Records.asks("kept_response", Schema.Struct({ text: Schema.String }))

/** Makes a store over a database whose tables are up to date. `write` runs a statement so that it lasts. */
export const make = (
  { query, queryNow }: Pick<Database, "query" | "queryNow">,
  write: Database["query"]
): ResponseStore["Service"] => {
  const done = (text: string, parameters: ReadonlyArray<Value>) =>
    write<void, never>(({ run }) => Effect.asVoid(run(text, parameters)))
  let sweptAt = 0
  const sweep = (now: number) => {
    if (now - sweptAt < sweepMillis) return Effect.void
    sweptAt = now
    return done(swept, [BigInt(now)])
  }
  return ResponseStore.of({
    find: (name) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        // Most lookups are for new payments: their absence is known at once, without waiting for a turn.
        if (queryNow?.(found, [name, BigInt(now)])?.length === 0) return Effect.undefined
        return query(({ run }) => Effect.map(askText(run, found, [name, BigInt(now)]), ([row]) => row?.text))
      }),
    keep: (name, text, until) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) =>
        Effect.andThen(done(kept, [name, text, BigInt(until)]), sweep(now))
      ),
    keepFirst: (name, text, until) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) =>
        write(({ run }) =>
          Effect.map(
            askText(run, keptFirst, [name, text, BigInt(until), BigInt(now), BigInt(now)]),
            ([row]) => row?.text ?? text
          )
        )
      ),
    drop: (name, text) => done(dropped, [name, text])
  })
}
