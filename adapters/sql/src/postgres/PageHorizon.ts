/**
 * How far a page of records may go, so that who reads page by page misses none: where several instances write, a record of a
 * lower serial may appear after one of a higher serial, as long as the transaction that took the lower one is open. Whoever
 * takes a serial has locked the table of payments before, and lets go of it when its record can be seen.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

import type { Transaction } from "../database/Database.ts"
import type { Dialect } from "../database/SqlDialect.ts"
import { asks, type RecordFault } from "../records/Records.ts"

/** No serial is higher. */
const endless = 2n ** 63n - 1n

const askLast = asks("payment", Schema.Struct({ serial: Schema.BigInt }))
const askWriters = asks("payment", Schema.Struct({ writer: Schema.String }))

/**
 * The highest serial up to which every record that there will ever be can be seen by the next statement. It waits for those
 * who are writing records, for milliseconds mostly; it is asked outside of a transaction.
 */
export const settled = Effect.fnUntraced(function* (
  { horizon }: Dialect,
  { run }: Transaction
): Effect.fn.Return<bigint, RecordFault> {
  if (horizon === undefined) return endless
  const [last] = yield* askLast(run, horizon.last, [])
  let open = yield* askWriters(run, horizon.writers, [])
  const before = new Set(open.map(({ writer }) => writer))
  while (open.some(({ writer }) => before.has(writer))) open = yield* askWriters(run, horizon.writersSoon, [])
  return last?.serial ?? 0n
})
