/**
 * Figures as a table to be read.
 */
import type { Ratio, Row } from "./Row.ts"

/** A line for each row, and under it a line for each comparison. */
export const toText = (rows: ReadonlyArray<Row>): string => {
  const widest = Math.max(0, ...rows.map(({ name }) => name.length))
  return rows
    .flatMap(({ name, note = "", ratios = [], unit, value }) => [
      `${name.padEnd(widest)}  ${value.toFixed(2).padStart(10)} ${unit.padEnd(12)} ${note}`.trimEnd(),
      ...ratios.map((ratio) => `${" ".repeat(widest)}  ${compared(ratio)}`)
    ])
    .join("\n")
}

const compared = ({ ratio, target, than }: Ratio): string => {
  const times = `${ratio.toFixed(2)}× ${than}`
  if (target === undefined) return times
  return `${times}, target ${target}×${ratio < target ? ": missed" : ""}`
}
