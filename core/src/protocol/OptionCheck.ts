/**
 * Checks of option objects, at the place where they are given. Unknown keys are refused: `perday` instead of `perDay` would be
 * a limit that is silently missing. A table names the keys of an options type once; its own type makes the compiler demand
 * the key of every option that is added later.
 *
 * Messages name a value by its kind alone ("a text"), because some values are secrets.
 */
import * as Duration from "effect/Duration"
import * as Option from "effect/Option"
import * as Result from "effect/Result"

import * as PlainObject from "../platform/PlainObject.ts"
import { Misconfigured } from "./ProtocolError.ts"
import { Fault } from "./Shape.ts"
import { escape } from "./text/AsciiEscape.ts"
import * as LikelySpelling from "./text/LikelySpelling.ts"

/** A check of a value of any type. */
interface Judge {
  /** The place and the kind of the mistake; `undefined` for a valid value. */
  readonly fault: (value: unknown) => Fault | undefined
  /** The keys of an object of options, for hints. */
  readonly keys?: ReadonlyArray<string>
}

/** A check of an option's value. `A` is exactly the type of the values that pass. */
export interface Check<in out A> extends Judge {
  /** Never present at run time: it ties the check to its type. */
  readonly type?: (value: A) => A
}

/** The keys of an options type, each with the check of its value. */
export type Table<A> = { readonly [K in keyof A]-?: Check<A[K]> }

/** Values that pass a guard; `expected` describes them in messages. */
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
  if (PlainObject.isPlain(value)) return "an object"
  const name: unknown = Object.getPrototypeOf(value)?.constructor?.name
  return typeof name === "string" && name !== "Object" && name !== ""
    ? `a value of class ${shown(name).slice(1, -1)}`
    : "an object that inherits from another"
}

/** A text. */
export const text: Check<string> = /* @__PURE__ */ given("a text", (value) => typeof value === "string")

/**
 * A text that commonly comes from the environment, where it may be missing; `expected` describes it with an example. Its value
 * is never shown: it may hold a key.
 */
export const setting = (expected: string, isRight: (text: string) => boolean = () => true): Check<string> => ({
  fault: (value) => {
    const unset = unsetSetting(expected, value)
    if (unset !== undefined) return unset
    return typeof value === "string" && isRight(value) ? undefined : unlike(expected, value)
  }
})

/** The fault of a setting that is absent or empty: an unset variable is the most common mistake of all. */
export const unsetSetting = (expected: string, value: unknown): Fault | undefined =>
  value === undefined || value === ""
    ? new Fault("", `expected ${expected}, got ${kindOf(value)}; is the environment variable that holds it set?`)
    : undefined

/** The URL of a chain's node. */
export const nodeUrl = (example: string): Check<string> =>
  setting(
    `the URL of a node, with http:// or https://, such as "${example}"`,
    (text) => /^https?:\/\/[^/]/i.test(text) && URL.canParse(text)
  )

/** `true` or `false`. */
export const flag: Check<boolean> = /* @__PURE__ */ given("true or false", (value) => typeof value === "boolean")

/** Any value: its user checks it. */
export const any = <A>(): Check<A> => given("anything", () => true)

/** A function. */
export const callable = <A>(): Check<A> => given("a function", (value) => typeof value === "function")

/** A whole number in this range. It is never a secret, so messages quote the value that came. */
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

/** A duration above zero. */
export const duration: Check<Duration.Input> = /* @__PURE__ */ given(
  'a duration such as "10 seconds", or milliseconds',
  (value) => mayBeDuration(value) && Option.isSome(Option.filter(Duration.fromInput(value), Duration.isPositive))
)

/** Effect checks the rest. */
const mayBeDuration = (value: unknown): value is Duration.Input =>
  Duration.isDuration(value) ||
  ["number", "bigint", "string"].includes(typeof value) ||
  Array.isArray(value) ||
  PlainObject.isPlain(value)

/** One of these texts. They are never secrets, so messages quote the value that came. */
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

/** An object, a function or an instance of a class that has these members; `expected` describes it in messages. */
export const having = <A>(expected: string, ...members: ReadonlyArray<string>): Check<A> =>
  given(
    expected,
    (value) =>
      ((typeof value === "object" && value !== null) || typeof value === "function") &&
      members.every((member) => member in value)
  )

/** An option that may be absent or `undefined`, but not `null`: that is a value. */
export const optional = <A>(check: Check<A>): Check<A | undefined> => ({
  fault: (value) => (value === undefined ? undefined : check.fault(value)),
  ...(check.keys && { keys: check.keys })
})

/** One of two checks. If both fail, the message comes from the one that the value is closer to. */
export const either = <A, B>(one: Check<A>, other: Check<B>): Check<A | B> => ({
  fault: (value) => {
    const [first, second] = [one.fault(value), other.fault(value)]
    if (first === undefined || second === undefined) return undefined
    if (first.path !== second.path) return first.path.length > second.path.length ? first : second
    return new Fault(first.path, `${first.problem}; or ${second.problem.replace(/, got .*$/s, "")}`)
  }
})

/** A list whose items all pass one check; `example` is one, for messages. */
export const list = <A>(check: Check<A>, example?: string): Check<ReadonlyArray<A>> => ({
  fault: (value) => {
    if (!Array.isArray(value)) return unlike(example === undefined ? "a list" : `a list such as ${example}`, value)
    for (const [index, item] of value.entries()) {
      const fault = check.fault(item)
      if (fault !== undefined) return within(`[${index}]`, fault)
    }
    return undefined
  }
})

/** A non-empty list whose items all pass one check; `mend` is the advice for an empty one. */
export const filled = <A>(check: Check<A>, mend: string): Check<ReadonlyArray<A>> => ({
  fault: (value) =>
    Array.isArray(value) && value.length === 0 ? new Fault("", `the list is empty; ${mend}`) : list(check).fault(value)
})

/** An object whose keys are the caller's own, all with values of one kind. */
export const record = <A>(check: Check<A>): Check<Readonly<Record<string, A>>> => ({
  fault: (value) => {
    if (!PlainObject.isPlain(value)) return unlike("a plain object", value)
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
      if (unknown !== undefined || !PlainObject.isPlain(value)) return unknown
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
 * The mistake in an object as far as its keys show it: the value is not an object, or has an unknown key. For values that a
 * schema decodes afterwards; `options` checks the values too.
 */
export const unknownKey = (
  keys: ReadonlyArray<string>,
  value: unknown,
  hints: ReadonlyArray<string> = keys
): Fault | undefined => {
  if (!PlainObject.isPlain(value)) return unlike("a plain object", value)
  const unknown = Reflect.ownKeys(value).find((key) => typeof key === "symbol" || !keys.includes(key))
  if (unknown === undefined) return undefined
  const name = String(unknown)
  const likely = LikelySpelling.of(name, hints)
  const mend = likely === undefined ? `the keys are ${keys.join(", ")}` : `did you mean ${likely}?`
  return new Fault(/^[\w$]{1,60}$/.test(name) ? `.${name}` : `[${shown(name)}]`, `unknown key; ${mend}`)
}

/**
 * The checked options. A mistake fails with `Misconfigured`, which names the constructor, if any, and the place
 * (`limits.perday`).
 */
export const read = <A>(check: Check<A>, value: A, constructor = ""): Result.Result<A, Misconfigured> => {
  const fault = check.fault(value)
  if (fault === undefined) return Result.succeed(value)
  const message = constructor === "" ? described(fault) : `${constructor}: ${described(fault)}`
  return Result.fail(new Misconfigured({ message }))
}

/** The message of a fault, its place first. */
export const described = ({ path, problem }: Fault): string =>
  `${path === "" ? "the options" : path.replace(/^\./, "")}: ${problem}`
