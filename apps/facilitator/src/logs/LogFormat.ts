/**
 * The form of the log: one line for each entry on standard output, as text for people or as JSON for programs, with its time in
 * ISO 8601 (UTC), its level, its message and its fields.
 */
import * as Cause from "effect/Cause"
import type * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import type * as LogLevel from "effect/LogLevel"
import * as References from "effect/References"

/** The forms. */
export const forms = ["text", "json"] as const

export type LogForm = (typeof forms)[number]

/** The least levels that can be set. */
export const levels = ["debug", "info", "warn", "error"] as const

const levelOf: Readonly<Record<(typeof levels)[number], LogLevel.LogLevel>> = {
  debug: "Debug",
  info: "Info",
  warn: "Warn",
  error: "Error"
}

/** An entry as JSON. */
interface Entry {
  readonly time: string
  readonly level: string
  readonly message: string
  readonly cause?: string
  readonly [field: string]: unknown
}

const messageOf = (part: unknown): string => {
  if (Cause.isCause(part)) return Cause.pretty(part)
  return typeof part === "string" ? part : part instanceof Error ? part.message : JSON.stringify(part)
}

const entryOf = ({ cause, date, fiber, logLevel, message }: Logger.Options<unknown>): Entry => {
  const parts = Array.isArray(message) ? message : [message]
  return {
    time: date.toISOString(),
    level: logLevel.toUpperCase(),
    message: parts.map(messageOf).join(" "),
    ...(cause.reasons.length > 0 && { cause: Cause.pretty(cause) }),
    ...fiber.getRef(References.CurrentLogAnnotations)
  }
}

const fieldOf = ([name, value]: readonly [string, unknown]): string =>
  ` ${name}=${typeof value === "string" && /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value)}`

const toText = ({ cause, level, message, time, ...fields }: Entry): string =>
  `${time} ${level} ${message}${Object.entries(fields).map(fieldOf).join("")}${cause === undefined ? "" : `\n${cause}`}`

/**
 * Gathers the lines of one turn of the event loop into one write, because the payments of a batch end together and each write to
 * a pipe is a system call. A process that exits writes the rest first.
 */
export const gathered = (write: (lines: string) => void): ((line: string) => void) => {
  let waiting = ""
  const flush = () => {
    const lines = waiting
    waiting = ""
    if (lines !== "") write(lines)
  }
  process.once("exit", flush)
  return (line) => {
    if (waiting === "") setImmediate(flush)
    waiting += line
  }
}

/** The logger of a form. `write` gets whole lines, each with its newline. */
export const logger = (form: LogForm, write: (line: string) => void): Logger.Logger<unknown, void> =>
  Logger.make((options) => {
    const entry = entryOf(options)
    write(`${form === "json" ? JSON.stringify(entry) : toText(entry)}\n`)
  })

type Variables = Readonly<Record<string, string | undefined>>

/**
 * The form and the least level of `PONTAGE_LOG` and `PONTAGE_LOG_LEVEL`, which hold even for the message about a mistake in
 * other variables. A value that is none of them counts as the default here, and is a mistake of the settings.
 */
export const fromVariables = (variables: Variables): { readonly form: LogForm; readonly level: LogLevel.LogLevel } => {
  const form = forms.find((one) => one === variables["PONTAGE_LOG"]) ?? "text"
  const level = levels.find((one) => one === variables["PONTAGE_LOG_LEVEL"]) ?? "info"
  return { form, level: levelOf[level] }
}

/** The log as a layer. */
export const layer = ({ form }: { readonly form: LogForm }): Layer.Layer<never> =>
  Logger.layer([
    logger(
      form,
      gathered((lines) => void process.stdout.write(lines))
    )
  ])
