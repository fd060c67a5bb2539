/**
 * Where a text is not as described. The words of a schema's issue may quote the value, which may be a secret: only the
 * places are told, and the names that a place may have.
 */
import { LikelySpelling } from "@pontage/core"
import * as SchemaIssue from "effect/SchemaIssue"

/** A place that is not as described. */
interface Place {
  /** The names on the way there with dots between; the empty text is the whole. */
  readonly name: string
  readonly problem: string
}

const undescribed = " is missing or not as described"

/** In the formatter's words stands what a place whose name nobody knows might have been called: a JSON list. */
const format = SchemaIssue.makeFormatterStandardSchemaV1({
  leafHook: (issue) => (issue._tag === "UnexpectedKey" ? JSON.stringify(namesIn(issue)) : "")
})

const namesIn = ({ ast }: SchemaIssue.UnexpectedKey): ReadonlyArray<string> =>
  ast._tag === "Objects" ? ast.propertySignatures.map(({ name }) => String(name)) : []

/** The places of an issue, each once. */
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
