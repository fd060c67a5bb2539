/**
 * The result of a trial: figures, differences, and whether the promise was kept.
 */
import type { Finding } from "../audit/Audit.ts"
import type { TrialOptions, TrialOutput } from "./TrialOptions.ts"

/** A run of a trial. */
export interface TrialReport {
  readonly goal: string
  /** The trial in a few words. */
  readonly title: string
  readonly options: TrialOptions
  /** The measurements by name. */
  readonly figures: Readonly<Record<string, number | string>>
  /** Findings of the audit, and promises that the trial itself saw broken. */
  readonly findings: ReadonlyArray<Finding | Broken>
}

/** A promise that the trial saw broken beside the audit. */
export interface Broken {
  readonly check: string
  readonly detail: string
}

/** Differences shown of each kind. */
const shown = 4

/** Last lines shown of each process, where something was found. */
const shownLines = 150

const outputOf = ({ log, url }: TrialOutput): ReadonlyArray<string> => [
  `output of the process at ${url}, its last ${Math.min(shownLines, log.length)} lines:`,
  ...log.slice(-shownLines).map((line) => `  | ${line}`)
]

/** A table for people, and after it the same as one line of JSON. Where something was found, the output of the processes comes first. */
export const toText = ({ figures, findings, goal, options, title }: TrialReport): string => {
  const { outputs = [], ...settings } = options
  const { mutation, seed, store } = settings
  const rows = Object.entries({ store, seed, ...(mutation && { mutation }), ...figures })
  const widest = Math.max(...rows.map(([name]) => name.length))
  const counts = new Map<string, number>()
  for (const { check } of findings) counts.set(check, (counts.get(check) ?? 0) + 1)
  const verdict =
    findings.length === 0 ? "kept" : `BROKEN: ${[...counts].map(([check, count]) => `${check} ${count}`).join(", ")}`
  return [
    ...(findings.length === 0 ? [] : outputs.flatMap(outputOf)),
    `${goal}: ${title}`,
    ...rows.map(([name, value]) => `  ${name.padEnd(widest)}  ${value}`),
    ...[...counts.keys()].flatMap((kind) =>
      findings
        .filter(({ check }) => check === kind)
        .slice(0, shown)
        .map(({ check, detail }) => `  ! ${check}: ${detail}`)
    ),
    `  ${verdict}`,
    JSON.stringify({ goal, ok: findings.length === 0, ...settings, figures, broken: Object.fromEntries(counts) })
  ].join("\n")
}
