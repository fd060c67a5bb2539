/**
 * Places of a text that do not match its schema. A schema issue's message may quote the value, which may be a secret, so only
 * the places and the valid names are reported.
 */
import { LikelySpelling } from "@pontage/core"
import * as SchemaIssue from "effect/SchemaIssue"

/** A place that does not match. */
interface Place {
  /** The path with dots between its names; empty for the whole text. */
  readonly name: string
  readonly problem: string
}

const undescribed = " is missing or not as described"

/** Messages of unknown keys are the valid keys as a JSON list; all other messages are empty. */
const format = SchemaIssue.makeFormatterStandardSchemaV1({
  leafHook: (issue) => (issue._tag === "UnexpectedKey" ? JSON.stringify(namesIn(issue)) : "")
})

const namesIn = ({ ast }: SchemaIssue.UnexpectedKey): ReadonlyArray<string> =>
  ast._tag === "Objects" ? ast.propertySignatures.map(({ name }) => String(name)) : []

/** Places of an issue, each once. */
export const placesOf = (issue: SchemaIssue.Issue): ReadonlyArray<Place> => {
  const places = new Map<string, Place>()
  for (const { message, path = [] } of format(issue).issues) {
    const steps = path.map((one) => String(typeof one === "object" ? one.key : one))
    const name = steps.join(".")
    if (!places.has(name)) places.set(name, { name, problem: problemOf(steps.at(-1) ?? "", message) })
  }
  return [...places.values()]
}

const problemOf = (key: string, message: string): string => {
  if (!message.startsWith("[")) return undescribed
  const names: unknown = JSON.parse(message)
  const known = Array.isArray(names) ? names.map(String) : []
  const likely = LikelySpelling.of(key, known)
  return `: unknown key; ${likely === undefined ? `the keys are ${known.join(", ")}` : `did you mean ${likely}?`}`
}
