/**
 * Where a text is not as described. The words of a schema's issue may quote the value, which may be a secret: only the
 * places are told.
 */
import * as SchemaIssue from "effect/SchemaIssue"

const format = SchemaIssue.makeFormatterStandardSchemaV1()

/**
 * The places of an issue, each once, as the names on the way there with dots between; the empty text is the whole.
 *
 * @category getters
 */
export const placesOf = (issue: SchemaIssue.Issue): ReadonlyArray<string> => {
  const places = format(issue).issues.map(({ path = [] }) =>
    path.map((one) => String(typeof one === "object" ? one.key : one)).join(".")
  )
  return [...new Set(places)]
}
