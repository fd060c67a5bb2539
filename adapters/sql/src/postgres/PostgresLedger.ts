/** A PostgreSQL database that a layer opens for one ledger beside the payment records, by its own options. */
import { OptionCheck, Signals } from "@pontage/core"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"

import * as PostgresDatabase from "./PostgresDatabase.ts"
import * as PostgresStart from "./PostgresStart.ts"

/** The options of the database. It may be that of the payment records. */
export interface Options {
  /** `postgres://user:password@host:port/database`, as libpq reads it. */
  readonly url: Redacted.Redacted
  /** Maximum number of open connections; default 4. */
  readonly connections?: number
}

const check = OptionCheck.options<Options>({
  url: OptionCheck.given('a redacted address, such as Redacted.make("postgres://...")', Redacted.isRedacted),
  connections: OptionCheck.optional(OptionCheck.whole(1))
})

/** The names of a ledger: of its layer in refusals of options, and of its sessions in the database's own lists. */
export interface Names {
  readonly layer: string
  readonly application: string
}

/** Opens the database; it is closed with the scope. `Misconfigured` for options that are refused. */
export const open = Effect.fnUntraced(function* (options: Options, { application, layer }: Names) {
  const { connections = 4, url } = yield* Effect.fromResult(OptionCheck.read(check, options, layer))
  const sessions = yield* PostgresStart.open(
    { url, applicationName: application, keepAlive: Duration.seconds(10) },
    connections
  )
  return PostgresDatabase.make(sessions, Signals.make(), () => Effect.void, Infinity)
})
