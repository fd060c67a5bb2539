/** A route's own description of its call, checked: what its documents say must hold together. */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

import { type CallDescription, type CallInput, type CallOutput, callParts } from "../../protocol/CallDescription.ts"
import * as Shape from "../../protocol/Shape.ts"
import { depthOf } from "../../protocol/text/JsonDepth.ts"
import * as RouteKey from "./RouteKey.ts"

const object = Schema.Record(Schema.String, Schema.Json)

/** The fields of a route's configuration. */
export const fields = {
  input: Schema.optional(
    Schema.Struct({
      query: Schema.optional(object),
      params: Schema.optional(object),
      body: Schema.optional(object),
      bodyType: Schema.optional(Schema.Literals(["json", "form-data", "text"])),
      example: Schema.optional(
        Schema.Struct({
          query: Schema.optional(object),
          params: Schema.optional(object),
          body: Schema.optional(Schema.Json)
        })
      )
    })
  ),
  output: Schema.optional(Schema.Struct({ schema: Schema.optional(object), example: Schema.optional(Schema.Json) }))
}

const decoded = Schema.Struct(fields)

/** Limit on a route's description as JSON, in characters; its document is kept in memory as text. */
const maximumLength = 32 * 1024

/** Peers read headers and documents with a limit of their own. */
const maximumDepth = 12

/** The description of a call without the undefined members that a program may have written. */
export interface RouteCall {
  readonly input: CallInput | undefined
  readonly output: CallOutput | undefined
}

/** A checked route as far as its call goes. */
interface NamedCall extends RouteCall {
  readonly name: string
}

/** Checks a description. A mistake is a text that begins with the place. */
export const check = (name: string, { input, output }: typeof decoded.Type): Result.Result<RouteCall, string> => {
  const text = JSON.stringify({ input, output })
  if (text.length > maximumLength || depthOf(text) > maximumDepth) {
    return Result.fail(
      `input and output: at most ${maximumLength} characters as JSON and ${maximumDepth} levels fit, got ${text.length} and ${depthOf(text)}`
    )
  }
  const plain: { readonly input?: CallInput; readonly output?: CallOutput } = JSON.parse(text)
  const mistake = plain.input && (mistakeIn(plain.input) ?? strangerIn(name, plain.input))
  return mistake === undefined ? Result.succeed({ input: plain.input, output: plain.output }) : Result.fail(mistake)
}

/** An example that its schema cannot accept, as far as required properties show it. */
const mistakeIn = (input: CallInput): string | undefined => {
  for (const part of callParts) {
    const schema = input[part]
    const example = input.example?.[part]
    if (schema === undefined && example !== undefined) return `input.example.${part}: there is no schema input.${part}`
    if (schema === undefined) continue
    if (part !== "body" && (schema["type"] ?? "object") !== "object") {
      return `input.${part}.type: expected "object", whose properties are the parameters`
    }
    const required = Array.isArray(schema["required"]) ? schema["required"].map(String) : []
    if (example === undefined && (part === "body" || required.length > 0)) {
      return `input.example.${part} is missing; give an example that input.${part} accepts`
    }
    const missing = required.find((key) => !Shape.isObject(example) || !Object.hasOwn(example, key))
    if (missing !== undefined)
      return `input.example.${part}: the required property ${JSON.stringify(missing)} is missing`
  }
  return undefined
}

/** A described path parameter that the route's key does not name. */
const strangerIn = (name: string, { params }: CallInput): string | undefined => {
  const key = RouteKey.parse(name)
  const properties = params?.["properties"]
  if (Result.isFailure(key) || !Shape.isObject(properties)) return undefined
  const named = key.success.segments.flatMap((segment) => (segment._tag === "Parameter" ? [segment.name] : []))
  const stranger = Object.keys(properties).find((one) => !named.includes(one))
  return stranger === undefined
    ? undefined
    : `input.params.properties: the route's key names no parameter ${JSON.stringify(stranger)}; it names ${named.join(", ") || "none"}`
}

const remembered = new WeakMap<NamedCall, Map<string, CallDescription>>()

/** The call of a route by this method; `undefined` if the route does not describe it. */
export const of = (route: NamedCall, method: string): CallDescription | undefined => {
  const { input, name, output } = route
  if (input === undefined) return undefined
  const calls = remembered.get(route) ?? new Map<string, CallDescription>()
  remembered.set(route, calls)
  const known = calls.get(method) ?? { method, template: templateIn(name), input, output }
  calls.set(method, known)
  return known
}

/** The path of a route's key if it names parameters; `undefined` for a name that is not a key. */
const templateIn = (name: string): string | undefined => {
  const key = RouteKey.parse(name)
  if (Result.isFailure(key) || !key.success.segments.some(({ _tag }) => _tag === "Parameter")) return undefined
  return name.slice(name.indexOf(" ") + 1)
}
