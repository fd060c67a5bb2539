/**
 * A text for a value that a host has parsed (a body, the arguments of a call): the same values have the same text in whatever
 * order their fields came, and other values another one. It is digested, never read back, so it need not be JSON.
 */
import * as PlainObject from "../../platform/PlainObject.ts"

/** Deeper than any arguments; a bound for the recursion. */
const maximumDepth = 128

class NoText extends Error {}

/**
 * The text of a value as a parser or a schema makes them: what JSON has, and dates, big integers, maps and sets. `undefined` for
 * values that could not be told apart: functions, symbols, and instances of classes without `toJSON` or iterator.
 */
export const of = (value: unknown): string | undefined => {
  try {
    return write(value, 0)
  } catch (error) {
    if (error instanceof NoText) return undefined
    throw error
  }
}

const write = (value: unknown, depth: number): string => {
  switch (typeof value) {
    case "string":
      return JSON.stringify(value)
    case "number":
    case "boolean":
    case "undefined":
      return `${value}`
    case "bigint":
      return `${value}n`
    case "object":
      return value === null ? "null" : writeObject(value, depth + 1)
    case "function":
    case "symbol":
      throw new NoText()
  }
}

const writeObject = (value: object, depth: number): string => {
  if (depth > maximumDepth) throw new NoText()
  if (Array.isArray(value)) return list(value, depth)
  const kind = Object.prototype.toString.call(value)
  if ("toJSON" in value && typeof value.toJSON === "function") return `${kind}${write(value.toJSON(), depth)}`
  if (isIterable(value)) return `${kind}${list([...value], depth)}`
  if (!PlainObject.isPlain(value)) throw new NoText()
  const fields = Object.entries(value)
    .filter(([, field]) => field !== undefined)
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
  return `{${fields.map(([name, field]) => `${JSON.stringify(name)}:${write(field, depth)}`).join(",")}}`
}

const list = (items: ReadonlyArray<unknown>, depth: number): string =>
  `[${Array.from(items, (item) => write(item, depth)).join(",")}]`

const isIterable = (value: object): value is Iterable<unknown> =>
  Symbol.iterator in value && typeof value[Symbol.iterator] === "function"
