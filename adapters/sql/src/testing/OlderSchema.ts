/** Downgrades tables to an older schema: a database as an earlier release left it, with the rows of this release. */
import type { Dialect } from "../database/SqlDialect.ts"
import type { Change } from "../schema/Migration.ts"
import * as Migrations from "../schema/Migrations.ts"

/** Statements that undo every migration after this number, the last one first. */
export const statements = (dialect: Dialect["name"], number: number): ReadonlyArray<string> => [
  ...Migrations.all
    .slice(number)
    .flatMap(({ changes }) => changes(dialect))
    .toReversed()
    .map(undoing),
  `DELETE FROM pontage_migration WHERE migration_id > ${number}`
]

const undoing = (change: Change): string => {
  switch (change._tag) {
    case "Table":
      return `DROP TABLE ${change.table}`
    case "Column":
      return `ALTER TABLE ${change.table} DROP COLUMN ${change.column}`
    case "Index":
      return `DROP INDEX ${change.name}`
  }
}
