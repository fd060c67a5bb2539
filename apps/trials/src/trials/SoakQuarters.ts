/**
 * The resources of a process over time, by quarters of a run, compared with bounds. The first quarter is for warming up; use
 * in the last quarter beyond the second one and beyond the bound is growth that does not end. Resident memory is shown without a
 * bound: it follows the engine's choice of when to collect, and is returned late or not at all. Memory that is still referred to
 * shows in the heap after a collection, and in the memory outside the heap that its objects hold.
 */
import type { Broken } from "../world/TrialReport.ts"

/** One sample. Bytes, but for `descriptors` and `atMillis` (since the beginning). Figures that are not measured are left out. */
export interface SoakSample {
  readonly atMillis: number
  readonly rss: number
  /** The heap after a collection. */
  readonly heap: number
  /** Memory outside the heap that objects hold, after a collection: buffers above all. */
  readonly external: number
  readonly descriptors: number
  readonly file?: number
  /** The file of the write-ahead log. */
  readonly log?: number
}

type LineName = Exclude<keyof SoakSample, "atMillis">

/** The measure of a line in a quarter, and its allowed growth, where it has a bound: a part of itself, and a slack. */
interface Line {
  readonly name: LineName
  readonly title: string
  readonly unit: number
  readonly of: (values: ReadonlyArray<number>) => number
  readonly growth?: { readonly share: number; readonly slack: number }
}

const MiB = 1024 * 1024

const median = (values: ReadonlyArray<number>): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
const least = (values: ReadonlyArray<number>): number => Math.min(...values)
const most = (values: ReadonlyArray<number>): number => Math.max(...values)

const lines: ReadonlyArray<Line> = [
  { name: "rss", title: "RSS, median, MiB", unit: MiB, of: median },
  {
    name: "heap",
    title: "heap after a collection, least, MiB",
    unit: MiB,
    of: least,
    growth: { share: 0.1, slack: 4 * MiB }
  },
  {
    name: "external",
    title: "outside the heap, least, MiB",
    unit: MiB,
    of: least,
    growth: { share: 0.1, slack: 4 * MiB }
  },
  { name: "descriptors", title: "descriptors, median", unit: 1, of: median, growth: { share: 0.1, slack: 8 } },
  { name: "file", title: "records' file, MiB", unit: MiB, of: most, growth: { share: 0.1, slack: MiB } },
  { name: "log", title: "write-ahead log, MiB", unit: MiB, of: most, growth: { share: 0.25, slack: 4 * MiB } }
]

/** The lines of a table, and what has grown. */
export interface SoakTable {
  readonly figures: Readonly<Record<string, string>>
  readonly findings: ReadonlyArray<Broken>
}

/** The table of a run of `totalMillis` milliseconds. A quarter without a sample is a finding. */
export const table = (samples: ReadonlyArray<SoakSample>, totalMillis: number): SoakTable => {
  const figures: Record<string, string> = {}
  const findings: Array<Broken> = []
  for (const line of lines) {
    if (samples.every((sample) => sample[line.name] === undefined)) continue
    const quarters = [0, 1, 2, 3].map((quarter) =>
      samples
        .filter(({ atMillis }) => Math.min(3, Math.floor((4 * atMillis) / totalMillis)) === quarter)
        .flatMap((sample) => sample[line.name] ?? [])
    )
    const values = quarters.map((one) => (one.length === 0 ? Number.NaN : line.of(one)))
    const [, second = Number.NaN, , last = Number.NaN] = values
    const bound = line.growth && second * (1 + line.growth.share) + line.growth.slack
    const promise = bound === undefined ? "" : ` (at most ${shown(bound, line)})`
    figures[`${line.title}, by quarter`] = `${values.map((value) => shown(value, line)).join(" / ")}${promise}`
    if (values.some(Number.isNaN)) {
      findings.push({ check: "unmeasured", detail: `${line.title}: a quarter has no measurement` })
    } else if (bound !== undefined && last > bound) {
      findings.push({
        check: "growth",
        detail: `${line.title}: ${shown(last, line)} in the last quarter, ${shown(second, line)} in the second; at most ${shown(bound, line)} were expected`
      })
    }
  }
  if (samples.length === 0) findings.push({ check: "unmeasured", detail: "nothing was measured" })
  return { figures, findings }
}

const shown = (value: number, { unit }: Line): string =>
  Number.isNaN(value) ? "-" : (value / unit).toFixed(unit === 1 ? 0 : 1)
