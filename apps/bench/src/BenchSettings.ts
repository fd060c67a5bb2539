/**
 * The settings of a run, as the command line names them.
 */
import { parseArgs } from "node:util"

/** The settings. */
export interface BenchSettings {
  /** The names of the parts, in their order. */
  readonly parts: ReadonlyArray<string>
  /** The number of open streams in the part `streams`. */
  readonly streams: number
}

/** Reads them; throws an error that says how the command is used. */
export const read = (
  args: ReadonlyArray<string>,
  known: ReadonlyArray<string>,
  usualStreams: number
): BenchSettings => {
  const usage = `bench [--only <part>[,<part>]] [--streams <number>], where a part is one of ${known.join(", ")}`
  const { only, streams } = valuesOf(args, usage)
  const parts = only?.split(",") ?? known
  const number = streams === undefined ? usualStreams : Number(streams)
  const isCount = Number.isInteger(number) && number >= 1 && number <= most && /^\d+$/.test(streams ?? "1")
  if (!isCount) throw new Error(`--streams is a whole number from 1 to ${most}, not ${streams}; ${usage}`)
  const unknown = parts.find((name) => !known.includes(name))
  if (unknown !== undefined) throw new Error(`there is no part "${unknown}"; ${usage}`)
  return { parts, streams: number }
}

/** A machine has no more ports for connections to one address than this. */
const most = 28_000

const valuesOf = (args: ReadonlyArray<string>, usage: string) => {
  try {
    return parseArgs({ args: [...args], options: { only: { type: "string" }, streams: { type: "string" } } }).values
  } catch (error) {
    throw new Error(usage, { cause: error })
  }
}
