/**
 * A migration: a step from one schema of the tables to the next, as data. It only adds: tables, columns, indexes. So a
 * program of the release before goes on working beside the new one, and what the tables have to look like follows from the
 * same data as the statements that make them.
 */
import type { Dialect } from "../database/SqlDialect.ts"

/** A change of the tables. */
export type Change = TableChange | ColumnChange | IndexChange

/** A new table. */
export interface TableChange {
  readonly _tag: "Table"
  readonly table: string
  /** What SQL says of each column after its name: first its type. */
  readonly columns: Readonly<Record<string, string>>
  /** The columns of the primary key, when they are several. */
  readonly key?: ReadonlyArray<string>
  /** The columns of which no two rows may have the same values. */
  readonly unique?: ReadonlyArray<string>
  /** What SQL says after the columns. */
  readonly options?: string
}

/**
 * A new column of an older table. It may be empty or has a default: programs of the release before know nothing of it.
 */
export interface ColumnChange {
  readonly _tag: "Column"
  readonly table: string
  readonly column: string
  readonly definition: string
}

/** A new index, for speed alone. */
export interface IndexChange {
  readonly _tag: "Index"
  readonly name: string
  /** The table, its columns in brackets, and a condition where there is one. */
  readonly on: string
}

/**
 * One step. Its number is its place in `Migrations.all`, counted from 1, and the number of the schema that it leads to.
 */
export interface Migration {
  readonly name: string
  /**
   * The oldest schema whose programs may go on working on the tables after this step, and start on them again: those of a
   * release that is being replaced, or gone back to.
   */
  readonly serves: number
  readonly changes: (dialect: Dialect["name"]) => ReadonlyArray<Change>
}

export const table = (name: string, columns: TableChange["columns"], more: TableMore = {}): TableChange => ({
  _tag: "Table",
  table: name,
  columns,
  ...more
})

type TableMore = Pick<TableChange, "key" | "unique" | "options">

export const column = (tableName: string, name: string, definition: string): ColumnChange => ({
  _tag: "Column",
  table: tableName,
  column: name,
  definition
})

export const index = (name: string, on: string): IndexChange => ({ _tag: "Index", name, on })

/** The statements of a migration, in their order. */
export const statements = ({ changes }: Migration, dialect: Dialect["name"]): ReadonlyArray<string> =>
  changes(dialect).map(toStatement)

const toStatement = (change: Change): string => {
  switch (change._tag) {
    case "Table":
      return createTable(change)
    case "Column":
      return `ALTER TABLE ${change.table} ADD COLUMN ${change.column} ${change.definition}`
    case "Index":
      return `CREATE INDEX ${change.name} ON ${change.on}`
  }
}

const createTable = ({ columns, key, options = "", table: name, unique }: TableChange): string => {
  const parts = Object.entries(columns).map((one) => one.join(" "))
  if (key !== undefined) parts.push(`PRIMARY KEY (${key.join(", ")})`)
  if (unique !== undefined) parts.push(`UNIQUE (${unique.join(", ")})`)
  return `CREATE TABLE ${name} (\n  ${parts.join(",\n  ")}\n) ${options}`.trimEnd()
}
