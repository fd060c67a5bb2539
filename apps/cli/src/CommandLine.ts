/** Arguments of a command by one table, which is its help too. */
import { parseArgs } from "node:util"

import { misused } from "./CommandFailed.ts"
import { wrapped } from "./terminal/Screen.ts"

/** One option. `value` names its value in the help; an option without it is a switch. */
export interface OptionRow {
  readonly short?: string
  readonly value?: string
  readonly many?: true
  readonly help: string
}

/** The options of a command by their names. */
export type OptionTable = Readonly<Record<string, OptionRow>>

type ValueOf<Row extends OptionRow> = Row extends { readonly value: string }
  ? Row extends { readonly many: true }
    ? ReadonlyArray<string>
    : string
  : boolean

/** The given options, read. */
export type Values<Table extends OptionTable> = { readonly [Name in keyof Table]?: ValueOf<Table[Name]> }

/** The arguments of a command, read. */
export interface Given<Table extends OptionTable> {
  readonly values: Values<Table>
  readonly words: ReadonlyArray<string>
}

/** The names that people would write a secret after. */
const secret = /^--?(?:private-?key|key|secret|seed|mnemonic|phrase|password|passphrase)(?:=|$)/i

/** Reads the arguments. Fails with a `CommandFailed` for an unknown or doubled option; no message repeats a value. */
export const read = <const Table extends OptionTable>(table: Table, args: ReadonlyArray<string>): Given<Table> => {
  if (args.some((text) => secret.test(text))) {
    const message =
      "a secret is never given as an argument, because other programs of this machine can read it: use --key-file, a variable such as PONTAGE_EVM_KEY, or pontage wallet new"
    throw misused(message)
  }
  const options = Object.fromEntries(
    Object.entries(table).map(([name, { many, short, value }]) => [
      name,
      {
        type: value === undefined ? ("boolean" as const) : ("string" as const),
        ...(short !== undefined && { short }),
        ...(many === true && { multiple: true })
      }
    ])
  )
  try {
    const { positionals, tokens, values } = parseArgs({
      args: [...args],
      options,
      allowPositionals: true,
      tokens: true
    })
    const given = tokens.flatMap((token) => (token.kind === "option" ? [token.name] : []))
    const doubled = given.find((name, at) => table[name]?.many !== true && given.indexOf(name) !== at)
    if (doubled !== undefined) throw new Error(`--${doubled} is given twice`)
    // oxlint-disable-next-line no-unsafe-type-assertion -- parseArgs has read them by this table
    return { values: values as Values<Table>, words: positionals }
  } catch (error) {
    const [first = ""] = (error instanceof Error ? error.message : "").split(". ")
    throw misused(`${first}; see pontage help`)
  }
}

const helpColumn = 26

/** The options as lines of help. */
export const help = (table: OptionTable): ReadonlyArray<string> =>
  Object.entries(table).flatMap(([name, { help: text, short, value }]) => {
    const left = `  ${short === undefined ? "   " : `-${short},`} --${name}${value === undefined ? "" : ` <${value}>`}`
    const rows = wrapped(text, 78 - helpColumn)
    const own = left.length >= helpColumn ? [left] : []
    const indented = rows.map((row, at) => `${(at === 0 && own.length === 0 ? left : "").padEnd(helpColumn)}${row}`)
    return own.concat(indented)
  })
