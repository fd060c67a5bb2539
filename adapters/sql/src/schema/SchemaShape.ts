/**
 * The shape of tables, as lines of text that can be compared and read: of the migrations, and of a database. It covers
 * what the store's statements depend on: columns with their types, nullability and defaults, keys, and the presence of
 * indexes.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { SqlError } from "effect/sql/SqlError"

import type { Dialect } from "../database/SqlDialect.ts"
import type { Change, Migration } from "./Migration.ts"

/** A database's tables, or those that are expected of it. */
export interface SchemaShape {
  readonly tables: ReadonlySet<string>
  readonly facts: ReadonlySet<string>
  /** The facts that break a program that does not know them. */
  readonly demands: ReadonlySet<string>
}

/** The tables after these migrations. */
export const expected = (migrations: ReadonlyArray<Migration>, dialect: Dialect["name"]): SchemaShape => {
  const tables = new Set<string>()
  const facts = new Set<string>()
  for (const change of migrations.flatMap(({ changes }) => changes(dialect))) {
    if (change._tag === "Table") tables.add(change.table)
    for (const fact of factsOf(change)) facts.add(fact)
  }
  return { tables, facts, demands: facts }
}

/** The end of the type in a column's definition. */
const afterType = /\s+(?:NOT NULL|DEFAULT|PRIMARY KEY|REFERENCES|GENERATED)\b.*$/

const factsOf = (change: Change): ReadonlyArray<string> => {
  if (change._tag === "Index") return [indexFact(change.on.slice(0, change.on.indexOf(" ")), change.name)]
  if (change._tag === "Column") return [definedFact(change.table, change.column, change.definition, [])]
  const { columns, key = [], table, unique } = change
  const own = Object.entries(columns)
  const primary = [...key, ...own.filter(([, definition]) => isPrimary(definition)).map(([name]) => name)]
  const keys = [primary, unique ?? []].filter(({ length }) => length > 0)
  return [
    tableFact(table),
    ...own.map(([name, definition]) => definedFact(table, name, definition, key)),
    ...keys.map((columns) => keyFact(table, columns.join(", ")))
  ]
}

const isPrimary = (definition: string): boolean => definition.includes("PRIMARY KEY")

const definedFact = (table: string, name: string, definition: string, key: ReadonlyArray<string>): string =>
  columnFact({
    table_name: table,
    name,
    type: definition.replace(afterType, ""),
    required: definition.includes("NOT NULL") || isPrimary(definition) || key.includes(name),
    defaulted: / (?:DEFAULT|GENERATED) /.test(definition)
  })

const Flag = Schema.Union([Schema.Boolean, Schema.Literals([0n, 1n])])

const ColumnRow = Schema.Struct({
  table_name: Schema.String,
  name: Schema.String,
  type: Schema.String,
  /** Whether the table survives a crash. */
  lasting: Flag,
  required: Flag,
  defaulted: Flag
})

const IndexRow = Schema.Struct({
  table_name: Schema.String,
  name: Schema.String,
  sole: Flag,
  columns: Schema.NullOr(Schema.String)
})

const decodeColumns = Schema.decodeUnknownEffect(Schema.Array(ColumnRow))
const decodeIndexes = Schema.decodeUnknownEffect(Schema.Array(IndexRow))

const tableFact = (table: string): string => `table ${table} that outlives a crash`

const columnFact = ({ defaulted, name, required, table_name, type }: Omit<typeof ColumnRow.Type, "lasting">): string =>
  `column ${table_name}.${name} ${type}${required ? " NOT NULL" : ""}${defaulted ? " with a default" : ""}`

const keyFact = (table: string, columns: string): string => `key ${table} (${columns})`

const indexFact = (table: string, name: string): string => `index ${name} of ${table}`

/** Reads the database's catalogue: the tables that a statement finds by their bare names. `ask` runs a statement. */
export const found = Effect.fnUntraced(function* (
  dialect: Dialect["name"],
  ask: (text: string) => Effect.Effect<ReadonlyArray<unknown>, SqlError>
): Effect.fn.Return<SchemaShape, SqlError> {
  const columns = yield* Effect.orDie(Effect.flatMap(ask(catalogues[dialect].columns), decodeColumns))
  const indexes = yield* Effect.orDie(Effect.flatMap(ask(catalogues[dialect].indexes), decodeIndexes))
  const keys = indexes.flatMap((one) =>
    one.sole && one.columns !== null ? [keyFact(one.table_name, one.columns)] : []
  )
  return {
    tables: new Set(columns.map(({ table_name }) => table_name)),
    facts: new Set([
      ...columns.filter(({ lasting }) => lasting).map(({ table_name }) => tableFact(table_name)),
      ...columns.map(columnFact),
      ...keys,
      ...indexes.map(({ name, table_name }) => indexFact(table_name, name))
    ]),
    demands: new Set([...columns.filter(({ defaulted, required }) => required && !defaulted).map(columnFact), ...keys])
  }
})

const visible = `pg_table_is_visible(c.oid) AND c.relnamespace NOT IN ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)`

const catalogues: Readonly<Record<Dialect["name"], { readonly columns: string; readonly indexes: string }>> = {
  pg: {
    columns: `SELECT c.relname::text AS table_name, a.attname::text AS name,
        upper(format_type(a.atttypid, a.atttypmod)) AS type, c.relpersistence = 'p' AS lasting, a.attnotnull AS required,
        (a.atthasdef OR a.attidentity <> '') AS defaulted
      FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
      WHERE c.relkind IN ('r', 'p') AND a.attnum > 0 AND NOT a.attisdropped AND ${visible}`,
    indexes: `SELECT c.relname::text AS table_name, i.relname::text AS name,
        (x.indisunique AND x.indpred IS NULL) AS sole,
        (SELECT string_agg(a.attname::text, ', ' ORDER BY k.place)
         FROM unnest(x.indkey) WITH ORDINALITY AS k(number, place)
         JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.number) AS columns
      FROM pg_index x JOIN pg_class c ON c.oid = x.indrelid JOIN pg_class i ON i.oid = x.indexrelid
      WHERE x.indisvalid AND ${visible}`
  },
  sqlite: {
    columns: `SELECT m.name AS table_name, t.name AS name, upper(t.type) AS type, 1 AS lasting,
        (t."notnull" OR t.pk > 0) AS required, (t.dflt_value IS NOT NULL) AS defaulted
      FROM sqlite_schema m, pragma_table_info(m.name) t WHERE m.type = 'table'`,
    indexes: `SELECT m.name AS table_name, l.name AS name, (l."unique" AND NOT l.partial) AS sole,
        (SELECT group_concat(i.name, ', ' ORDER BY i.seqno) FROM pragma_index_info(l.name) i) AS columns
      FROM sqlite_schema m, pragma_index_list(m.name) l WHERE m.type = 'table'
      UNION ALL
      SELECT m.name, '', 1, group_concat(t.name, ', ' ORDER BY t.pk)
      FROM sqlite_schema m, pragma_table_info(m.name) t WHERE m.type = 'table' AND t.pk > 0 GROUP BY m.name`
  }
}

/**
 * The differences between a database's tables and the expected ones, as text; none if a program that expects these can
 * work on them. Additional columns are fine if a program need not know them.
 */
export const differences = (
  { facts, tables }: SchemaShape,
  actual: Pick<SchemaShape, "facts" | "demands">,
  more: "refused" | "allowed"
): ReadonlyArray<string> => {
  const missing = [...facts].filter((fact) => !actual.facts.has(fact)).map((fact) => `no ${fact}`)
  if (more === "allowed") return missing
  const extra = [...actual.demands].filter((fact) => !facts.has(fact) && tables.has(tableOf(fact)))
  return [...missing, ...extra.map((fact) => `an unknown ${fact}`)]
}

/** The table of a column's or key's fact. */
const tableOf = (fact: string): string => fact.split(/[ .]/, 2)[1] ?? ""
