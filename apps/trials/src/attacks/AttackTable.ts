/**
 * The battery's table for people: attack, target, expected, seen, and the costs of both sides.
 */
import { isAsItShould, type Row } from "./AttackTrial.ts"

const verdictOf = (row: Row): string => {
  if (row.target === "mutated") return row.seen.held ? "NOT FOUND" : "found"
  return row.seen.held ? "held" : "BROKEN"
}

/** One attack that has come to an end, on two lines. */
export const lineOf = (row: Row): string => {
  const { attack, seen, target } = row
  const costs = [
    seen.attackerCost === undefined ? "" : `; the attacker pays ${seen.attackerCost}`,
    seen.targetCost === undefined ? "" : `, the target ${seen.targetCost}`
  ].join("")
  return `${verdictOf(row).padEnd(9)} ${target.padEnd(8)} ${attack.name}: ${attack.what}\n          expected ${attack.expected}; seen ${seen.seen}${costs}`
}

/** The last line: how many were held, and how many were not. */
export const summaryOf = (rows: ReadonlyArray<Row>): string => {
  const of = (target: Row["target"]) => rows.filter((row) => row.target === target)
  const broken = of("pontage").filter((row) => !isAsItShould(row)).length
  const theirs = of("x402").filter(({ seen }) => !seen.held).length
  const missed = of("mutated").filter((row) => !isAsItShould(row)).length
  return [
    `${of("pontage").length} attacks on Pontage, ${broken} broken`,
    ...(of("x402").length > 0 ? [`${of("x402").length} on x402, ${theirs} broken`] : []),
    ...(of("mutated").length > 0 ? [`${of("mutated").length} faults brought back, ${missed} not found`] : [])
  ].join("; ")
}
