/**
 * Forgeries of a signed payload: each leaf of its JSON changed in one character, each field removed. They are
 * independent of the scheme, so no field of a new one is missed.
 */
import type * as Schema from "effect/Schema"

/** A forgery, and the change made. */
export interface Forgery {
  readonly name: string
  readonly payload: unknown
}

type Path = ReadonlyArray<string>

/**
 * All forgeries of a payload. Its `binding` is changed but not removed: without it the payment is a valid unbound one.
 */
export const all = (payload: Schema.Json): ReadonlyArray<Forgery> => [
  ...leavesOf(payload).map(([path, leaf]) => ({
    name: `${path.join(".")} changed`,
    payload: replaced(payload, path, changed(leaf))
  })),
  ...fieldsOf(payload)
    .filter((path) => path.join(".") !== "binding")
    .map((path) => ({ name: `${path.join(".")} left out`, payload: replaced(payload, path, undefined) }))
]

/** A payload with the value at a path replaced, or removed if it is `undefined`. */
export const replaced = (payload: unknown, [name, ...rest]: Path, value: unknown): unknown => {
  if (name === undefined) return value
  if (Array.isArray(payload))
    return payload.map((item, index) => (`${index}` === name ? replaced(item, rest, value) : item))
  const fields = Object.entries(isRecord(payload) ? payload : {})
  const inside = replaced(fields.find(([key]) => key === name)?.[1], rest, value)
  return Object.fromEntries([
    ...fields.filter(([key]) => key !== name),
    ...(inside === undefined ? [] : [[name, inside]])
  ])
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const entriesOf = (value: unknown): ReadonlyArray<readonly [string, unknown]> =>
  typeof value === "object" && value !== null ? Object.entries(value) : []

const leavesOf = (value: unknown, path: Path = []): ReadonlyArray<readonly [Path, unknown]> =>
  typeof value === "object" && value !== null
    ? entriesOf(value).flatMap(([key, inner]) => leavesOf(inner, [...path, key]))
    : [[path, value]]

const fieldsOf = (value: unknown, path: Path = []): ReadonlyArray<Path> =>
  entriesOf(value).flatMap(([key, inner]) => {
    const here = [...path, key]
    return [here].concat(fieldsOf(inner, here).map((field) => field.slice()))
  })

/** Another value of the same form: one character in the middle becomes another of its kind. */
const changed = (leaf: unknown): unknown => {
  if (typeof leaf === "number") return leaf + 1
  if (typeof leaf === "boolean") return !leaf
  if (typeof leaf !== "string" || leaf === "") return "0"
  const middle = Math.floor(leaf.length / 2)
  return `${leaf.slice(0, middle)}${another(leaf.charAt(middle))}${leaf.slice(middle + 1)}`
}

const another = (character: string): string => {
  if (/[0-8]/.test(character)) return String.fromCharCode(character.charCodeAt(0) + 1)
  if (character === "9") return "1"
  return character === "a" || character === "A" ? "b" : "a"
}
