/**
 * A migration: a step from one schema of the tables to the next, as data. It only adds tables, columns and indexes, so
 * a program of the previous release keeps working beside the new one. The statements and the expected shape of the
 * tables follow from the same data.
 */
import type { Dialect } from "../database/SqlDialect.ts"

/** A change of the tables. */
export type Change = TableChange | ColumnChange | IndexChange

/** A new table. */
export interface TableChange {
  readonly _tag: "Table"
  readonly table: string
  /** The SQL after each column's name, beginning with its type. */
  readonly columns: Readonly<Record<string, string>>
  /** The columns of a primary key of several columns. */
  readonly key?: ReadonlyArray<string>
  /** The columns of a unique constraint. */
  readonly unique?: ReadonlyArray<string>
  /** The SQL after the columns. */
  readonly options?: string
}

/**
 * A new column of an existing table. It is nullable or has a default: programs of the previous release do not know it.
 */
export interface ColumnChange {
  readonly _tag: "Column"
  readonly table: string
  readonly column: string
  readonly definition: string
}

/** A new index, for speed only. */
export interface IndexChange {
  readonly _tag: "Index"
  readonly name: string
  /** The table, its columns in parentheses, and a condition if there is one. */
  readonly on: string
}

/** One step. Its number is its place in `Migrations.all`, counted from 1, and the number of the resulting schema. */
export interface Migration {
  readonly name: string
  /**
   * The oldest schema whose programs may keep working on the tables after this step, and start on them again: a release
   * that is being replaced or returned to.
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
