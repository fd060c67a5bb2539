/**
 * A memory beside a file. It follows the transactions of the file: after a rollback it says nothing that the file does not hold.
 */
import * as Effect from "effect/Effect"
import type { SqlError } from "effect/sql/SqlError"

import type { Run } from "../database/SqlDialect.ts"

/** The methods follow the transaction's statements of the same names. */
export interface TransactionImage {
  /** Whether everything in it is durable: no transaction is open or of unknown end. */
  readonly isDurable: () => boolean
  readonly begin: () => void
  /** A point for `rollbackTo`. */
  readonly savepoint: () => number
  readonly rollbackTo: (savepoint: number) => void
  readonly rollback: () => void
  readonly commit: () => void
  /** Writes the records that were kept back; runs before each commit, and before the release of each savepoint. */
  readonly flush: (run: Run) => Effect.Effect<void, SqlError>
}

/** Memory without anything in it. */
export const nothing: TransactionImage = {
  isDurable: () => true,
  begin: () => {},
  savepoint: () => 0,
  rollbackTo: () => {},
  rollback: () => {},
  commit: () => {},
  flush: () => Effect.void
}

/** Two as one. */
export const both = (one: TransactionImage, other: TransactionImage): TransactionImage => {
  let points: Array<readonly [number, number]> = []
  return {
    isDurable: () => one.isDurable() && other.isDurable(),
    begin: () => {
      points = []
      one.begin()
      other.begin()
    },
    savepoint: () => points.push([one.savepoint(), other.savepoint()]) - 1,
    rollbackTo: (savepoint) => {
      const [first, second] = points[savepoint] ?? [0, 0]
      one.rollbackTo(first)
      other.rollbackTo(second)
    },
    rollback: () => {
      one.rollback()
      other.rollback()
    },
    commit: () => {
      one.commit()
      other.commit()
    },
    flush: (run) => Effect.andThen(one.flush(run), other.flush(run))
  }
}
