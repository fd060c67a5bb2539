/**
 * Options, checked where they are given. A key that nobody knows is refused: `perday` beside a `perDay` that was meant is a
 * limit that is silently not there. A table names the keys of an options type once; its own type makes the compiler ask for
 * the key of every option that is added later.
 *
 * Values are told by their kind alone ("a text"), because some of them are secrets.
 */
import * as Duration from "effect/Duration"
import * as Option from "effect/Option"
import * as Result from "effect/Result"

import { Misconfigured } from "./ProtocolError.ts"
import { Fault } from "./Shape.ts"
import { escape } from "./text/AsciiEscape.ts"
import * as LikelySpelling from "./text/LikelySpelling.ts"

/** A check, whatever the type. */
interface Judge {
  /** Where the value is wrong, and how; `undefined` where it is right. */
  readonly fault: (value: unknown) => Fault | undefined
  /** The keys of an object of options, for hints. */
  readonly keys?: ReadonlyArray<string>
}

/** What the value of an option has to be. `A` is the type that the check stands for, no wider and no narrower. */
export interface Check<in out A> extends Judge {
  /** Never there: it ties the check to its type. */
  readonly type?: (value: A) => A
}

/** The keys of an options type, each with what its value has to be. */
export type Table<A> = { readonly [K in keyof A]-?: Check<A[K]> }

/** What passes a guard; `expected` tells people what that is. */
export const given = <A>(expected: string, isRight: (value: unknown) => boolean): Check<A> => ({
  fault: (value) => (isRight(value) ? undefined : unlike(expected, value))
})

const unlike = (expected: string, value: unknown): Fault => new Fault("", `expected ${expected}, got ${kindOf(value)}`)

const kindOf = (value: unknown): string => {
  if (value === undefined) return "nothing"
  if (value === null) return "null"
  if (Array.isArray(value)) return "a list"
  if (typeof value === "string") return value === "" ? "an empty text" : "a text"
  if (typeof value !== "object") return typeof value === "boolean" ? "true or false" : `a ${typeof value}`
  if (isPlain(value)) return "an object"
  const name: unknown = Object.getPrototypeOf(value)?.constructor?.name
  return typeof name === "string" && name !== "Object" && name !== ""
    ? `a value of class ${shown(name).slice(1, -1)}`
    : "an object that inherits from another"
}

/** A text. */
export const text: Check<string> = /* @__PURE__ */ given("a text", (value) => typeof value === "string")

/** Yes or no. */
export const flag: Check<boolean> = /* @__PURE__ */ given("true or false", (value) => typeof value === "boolean")

/** Any value: who uses it looks at it. */
export const any = <A>(): Check<A> => given("anything", () => true)

/** A function. */
export const callable = <A>(): Check<A> => given("a function", (value) => typeof value === "function")

/** A whole number in this range. No secret, so the number that came is told. */
export const whole = (least = 0, most: number = Number.MAX_SAFE_INTEGER): Check<number> => {
  const range = most === Number.MAX_SAFE_INTEGER ? `of at least ${least}` : `between ${least} and ${most}`
  return {
    fault: (value) => {
      if (typeof value !== "number") return unlike(`a whole number ${range}`, value)
      if (Number.isSafeInteger(value) && value >= least && value <= most) return undefined
      return new Fault("", `expected a whole number ${range}, got ${value}`)
    }
  }
}

/** An amount: a big integer of at least this. */
export const amount = (least = 0n): Check<bigint> => ({
  fault: (value) => {
    if (typeof value !== "bigint") return unlike(`a bigint of at least ${least}, such as 1000n`, value)
    return value >= least ? undefined : new Fault("", `expected a bigint of at least ${least}, got ${value}n`)
  }
})

/** How long something may take: above zero. */
export const duration: Check<Duration.Input> = /* @__PURE__ */ given(
  'a duration such as "10 seconds", or milliseconds',
  (value) => mayBeDuration(value) && Option.isSome(Option.filter(Duration.fromInput(value), Duration.isPositive))
)

/** The rest is Effect's to tell. */
const mayBeDuration = (value: unknown): value is Duration.Input =>
  Duration.isDuration(value) ||
  ["number", "bigint", "string"].includes(typeof value) ||
  Array.isArray(value) ||
  isPlain(value)

/** One of these texts. No secret, so the text that came is told. */
export const oneOf = <const A extends string>(...texts: ReadonlyArray<A>): Check<A> => {
  const expected = texts.map((one) => JSON.stringify(one)).join(" or ")
  return {
    fault: (value) => {
      if (typeof value !== "string") return unlike(expected, value)
      if (texts.some((one) => one === value)) return undefined
      return new Fault("", `expected ${expected}, got ${shown(value)}`)
    }
  }
}

const shown = (value: string): string => escape(JSON.stringify(value.slice(0, 60)))

/** An object, a function or a value of a class that has these members; `expected` tells people what that is. */
export const having = <A>(expected: string, ...members: ReadonlyArray<string>): Check<A> =>
  given(
    expected,
    (value) =>
      ((typeof value === "object" && value !== null) || typeof value === "function") &&
      members.every((member) => member in value)
  )

/** What may be left out, or be `undefined`. `null` may not: it is a value. */
export const optional = <A>(check: Check<A>): Check<A | undefined> => ({
  fault: (value) => (value === undefined ? undefined : check.fault(value)),
  ...(check.keys && { keys: check.keys })
})

/** One or the other. Where neither fits, the one that the value comes closer to says why. */
export const either = <A, B>(one: Check<A>, other: Check<B>): Check<A | B> => ({
  fault: (value) => {
    const [first, second] = [one.fault(value), other.fault(value)]
    if (first === undefined || second === undefined) return undefined
    if (first.path !== second.path) return first.path.length > second.path.length ? first : second
    return new Fault(first.path, `${first.problem}; or ${second.problem.replace(/, got .*$/s, "")}`)
  }
})

/** A list of equals. */
export const list = <A>(check: Check<A>): Check<ReadonlyArray<A>> => ({
  fault: (value) => {
    if (!Array.isArray(value)) return unlike("a list", value)
    for (const [index, item] of value.entries()) {
      const fault = check.fault(item)
      if (fault !== undefined) return within(`[${index}]`, fault)
    }
    return undefined
  }
})

/** A list of equals that is not empty; `mend` tells people what an empty one might have been meant for. */
export const filled = <A>(check: Check<A>, mend: string): Check<ReadonlyArray<A>> => ({
  fault: (value) =>
    Array.isArray(value) && value.length === 0 ? new Fault("", `the list is empty; ${mend}`) : list(check).fault(value)
})

/** An object whose keys are the caller's own, all with values of one kind. */
export const record = <A>(check: Check<A>): Check<Readonly<Record<string, A>>> => ({
  fault: (value) => {
    if (!isPlain(value)) return unlike("a plain object", value)
    for (const [key, item] of Object.entries(value)) {
      const fault = check.fault(item)
      if (fault !== undefined) return within(`[${shown(key)}]`, fault)
    }
    return undefined
  }
})

/** An object of options: the keys of the table and no others, all of them its own. */
export const options = <A>(table: Table<A>): Check<A> => {
  const checks = Object.entries<Judge>(table)
  const keys = checks.map(([key]) => key)
  const hints = [...keys, ...checks.flatMap(([key, { keys = [] }]) => keys.map((inner) => `${key}.${inner}`))]
  return {
    keys,
    fault: (value) => {
      const unknown = unknownKey(keys, value, hints)
      if (unknown !== undefined || !isPlain(value)) return unknown
      for (const [key, check] of checks) {
        const fault = check.fault(Object.hasOwn(value, key) ? value[key] : undefined)
        if (fault !== undefined) return within(`.${key}`, fault)
      }
      return undefined
    }
  }
}

const within = (step: string, { path, problem }: Fault): Fault => new Fault(`${step}${path}`, problem)

/**
 * What is wrong with an object as far as its keys tell it: that it is none, or has a key that is not among these. For what a
 * schema decodes afterwards; `options` looks at the values too.
 */
export const unknownKey = (
  keys: ReadonlyArray<string>,
  value: unknown,
  hints: ReadonlyArray<string> = keys
): Fault | undefined => {
  if (!isPlain(value)) return unlike("a plain object", value)
  const unknown = Reflect.ownKeys(value).find((key) => typeof key === "symbol" || !keys.includes(key))
  if (unknown === undefined) return undefined
  const name = String(unknown)
  const likely = LikelySpelling.of(name, hints)
  const mend = likely === undefined ? `the keys are ${keys.join(", ")}` : `did you mean ${likely}?`
  return new Fault(/^[\w$]{1,60}$/.test(name) ? `.${name}` : `[${shown(name)}]`, `unknown key; ${mend}`)
}

/**
 * An object written as one, or made by `JSON.parse`, of this realm or another. What a class or another object lends to a
 * value would be read in one place and missed in the next.
 */
const isPlain = (value: unknown): value is Readonly<Record<string, unknown>> => {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return (
    prototype === null ||
    (Object.getPrototypeOf(prototype) === null && Object.hasOwn(Object(prototype), "isPrototypeOf"))
  )
}

/**
 * The options, if they are such. A mistake is `Misconfigured`, with the place (`limits.perday`) behind the name of the
 * constructor if it has one.
 */
export const read = <A>(check: Check<A>, value: A, constructor = ""): Result.Result<A, Misconfigured> => {
  const fault = check.fault(value)
  if (fault === undefined) return Result.succeed(value)
  const message = constructor === "" ? described(fault) : `${constructor}: ${described(fault)}`
  return Result.fail(new Misconfigured({ message }))
}

/** A fault in words, its place first. */
export const described = ({ path, problem }: Fault): string =>
  `${path === "" ? "the options" : path.replace(/^\./, "")}: ${problem}`
