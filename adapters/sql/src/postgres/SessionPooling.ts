/**
 * Detects a pooler in transaction mode. It gives each transaction to any free session, so prepared statements, settings
 * and LISTEN would jump between sessions.
 */
import type * as PgConnection from "@effect/sql-pg/PgConnection"
import { FacilitatorUnavailable, Misconfigured } from "@pontage/core"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type { SqlError } from "effect/sql/SqlError"

/** Timeout: a pooler whose sessions are all in use does not respond for minutes. */
const patience = Duration.seconds(5)

/** Number of looks: a pooler may hand sessions out in turn, so the same one must come this often. */
const looks = 4

type Session = Pick<PgConnection.PgConnection, "query">
type Connect = Effect.Effect<Session, SqlError, Scope.Scope>

/** Refuses a pooler in transaction mode. It opens two connections and closes both. */
export const check = (connect: Connect): Effect.Effect<void, Misconfigured | FacilitatorUnavailable | SqlError> =>
  Effect.flatMap(
    Effect.timeoutOrElse(Effect.scoped(areShared(connect)), { duration: patience, orElse: () => Effect.fail(tooFew) }),
    (shared) => (shared ? Effect.fail(refused) : Effect.void)
  )

const refused = new Misconfigured({
  message:
    "the payment records cannot be used: a session of its own was expected for each connection, and the pooler before the database shares them (transaction mode): set pool_mode = session for this database in PgBouncer, or let the URL name PostgreSQL itself"
})

const tooFew = new FacilitatorUnavailable({
  message: `the payment records cannot be asked: two sessions at once were expected, and there was none within ${Duration.toSeconds(patience)} s: start the database, or give the pooler more (default_pool_size of PgBouncer)`
})

/** Each check reveals a shared session: one after another, side by side, and in turn. */
const areShared = Effect.fnUntraced(function* (connect: Connect): Effect.fn.Return<boolean, SqlError, Scope.Scope> {
  const [a, b] = yield* Effect.all([connect, connect])
  const own = yield* backendOf(a)
  if (own === (yield* backendOf(b))) return true
  // While the other connection holds a session, a shared one is given another; once it is free, whichever comes next.
  yield* b.query("BEGIN", [], false)
  const beside = yield* backendOf(a)
  yield* b.query("ROLLBACK", [], false)
  if (beside !== own) return true
  for (let look = 0; look < looks; look++) if ((yield* backendOf(a)) !== own) return true
  return false
})

const Backend = Schema.NonEmptyArray(Schema.Struct({ pid: Schema.Int }))
const decodeBackend = Schema.decodeUnknownEffect(Backend)

const backendOf = (session: Session): Effect.Effect<number, SqlError> =>
  Effect.flatMap(session.query("SELECT pg_backend_pid() AS pid", [], false), ({ rows }) =>
    Effect.map(Effect.orDie(decodeBackend(rows)), ([{ pid }]) => pid)
  )
