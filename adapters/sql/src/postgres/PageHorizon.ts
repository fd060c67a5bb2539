/**
 * The last serial that a page of records may show, so that a reader of successive pages misses none. Where several
 * instances write, a record with a lower serial may appear after one with a higher serial, while the transaction that
 * took the lower one is open. A writer locks the table `payment` before it takes a serial and releases it when the
 * record is visible.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

import type { Transaction } from "../database/Database.ts"
import type { Dialect } from "../database/SqlDialect.ts"
import { asks, type RecordFault } from "../records/Records.ts"

/** The highest possible serial. */
const endless = 2n ** 63n - 1n

const askLast = asks("payment", Schema.Struct({ serial: Schema.BigInt }))
const askWriters = asks("payment", Schema.Struct({ writer: Schema.String }))

/**
 * The highest serial up to which the next statement sees every record that will ever exist. It waits for current
 * writers, mostly milliseconds, and runs outside of a transaction.
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
