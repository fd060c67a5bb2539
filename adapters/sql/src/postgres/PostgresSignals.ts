/**
 * Hints between processes that share a database, by LISTEN and NOTIFY. They only wake waiters that would poll anyway;
 * after a lost connection all waiters are woken.
 */
import * as PgConnection from "@effect/sql-pg/PgConnection"
import type { Signals } from "@pontage/core"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type { SqlError } from "effect/sql/SqlError"

import { unavailable } from "../database/Database.ts"
import type { Run } from "../database/SqlDialect.ts"

/** Notifies other processes of topics when the current transaction commits. */
export type Announce = (run: Run, topics: Iterable<string>) => Effect.Effect<void, SqlError>

const channel = "pontage"

/** Maximum size of a message: PostgreSQL accepts less than 8000 bytes. */
const longest = 7000

/** Interval between attempts to listen again. */
const pause = Duration.seconds(1)

const Message = Schema.fromJsonString(Schema.Struct({ from: Schema.String, topics: Schema.Array(Schema.String) }))
const decode = Schema.decodeUnknownResult(Message)
const encode = Schema.encodeSync(Message)

/**
 * Makes the function that notifies other processes. This process ignores its own messages: its listeners are notified
 * directly.
 */
export const announcing =
  (from: string): Announce =>
  (run, topics) =>
    Effect.forEach(messages(from, topics), (text) => run("SELECT pg_notify(?, ?)", [channel, text]), { discard: true })

/** Receives messages of other processes until the scope closes. */
export const listen = (
  config: PgConnection.Config,
  from: string,
  signals: Signals.Signals
): Effect.Effect<void, never, Scope.Scope> => {
  const once = Effect.scoped(
    Effect.gen(function* () {
      const connection = yield* PgConnection.make(config)
      const queue = yield* connection.listen(channel)
      signals.notifyAll()
      while (true) hear((yield* Queue.take(queue)).payload, from, signals)
    })
  )
  const again = Effect.catch(once, (error) =>
    Effect.andThen(
      Effect.logWarning("hints of other instances are not heard for now: work is found by looking", unavailable(error)),
      Effect.sleep(pause)
    )
  )
  return Effect.asVoid(Effect.forkScoped(Effect.forever(again)))
}

/** A message that cannot be decoded wakes all waiters. */
const hear = (payload: string, from: string, signals: Signals.Signals): void => {
  const message = decode(payload)
  if (message._tag === "Failure") signals.notifyAll()
  else if (message.success.from !== from) for (const topic of message.success.topics) signals.notify(topic)
}

const messages = (from: string, topics: Iterable<string>): ReadonlyArray<string> => {
  const parts: Array<Array<string>> = []
  let room = 0
  for (const topic of topics) {
    const length = Buffer.byteLength(JSON.stringify(topic)) + 1
    if (length > room) {
      parts.push([])
      room = longest
    }
    parts.at(-1)?.push(topic)
    room -= length
  }
  return parts.map((part) => encode({ from, topics: part }))
}
