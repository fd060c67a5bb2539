/**
 * The body of a request: JSON of at most 64 KiB, bounded in depth, and of the shape that its endpoint takes. It is read by
 * Node's events, because an Effect stream around one short text costs more than the rest of most requests.
 */
import { IncomingMessage } from "node:http"

import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { AsciiJson } from "@pontage/core"
import * as ByteSize from "effect/ByteSize"
import * as Effect from "effect/Effect"
import type { HttpServerError } from "effect/http/HttpServerError"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

import { Malformed, NotJson, TooLarge } from "./FacilitatorFault.ts"

type Request = HttpServerRequest.HttpServerRequest

/** The longest body that is read, in bytes. */
export const maximumBytes = 64 * 1024

/** The deepest nesting that is read: a payment header of at most 16 levels, inside an object. */
export const maximumDepth = 17

/** Reads bodies of one shape. */
export const reader = <Shape extends Schema.ConstraintDecoder<unknown>>(
  shape: Shape
): ((request: Request) => Effect.Effect<Shape["Type"], Malformed | NotJson | TooLarge>) => {
  const decode = Schema.decodeUnknownResult(Schema.toCodecJson(shape))
  return (request) =>
    Effect.flatMapEager(textOf(request), (text) => {
      if (AsciiJson.depthOf(text) > maximumDepth) {
        return Effect.fail(new Malformed({ message: `the body is nested deeper than ${maximumDepth}` }))
      }
      const body = Result.flatMap(parsed(text), (json) => Result.mapError(decode(json), misshapen))
      return Effect.fromResult(body)
    })
}

/** The fault of a request of another shape than its endpoint takes. */
export const misshapen = ({ message }: { readonly message: string }): Malformed =>
  new Malformed({ message: `this endpoint does not take such a request: ${onceEach(message)}` })

/** Removes repeated lines: each of several shapes may report the same mistake. */
const onceEach = (message: string): string => [...new Set(message.split(/\n(?! )/))].join("\n").slice(0, 500)

const parsed = (text: string): Result.Result<unknown, Malformed> => {
  if (text === "") return Result.succeed(undefined)
  try {
    const json: unknown = JSON.parse(text)
    return Result.succeed(json)
  } catch {
    return Result.fail(misshapen({ message: "Expected a valid JSON body" }))
  }
}

/** The exact media type, with or without parameters. A list of types, as from a duplicate header, does not match. */
const jsonType = /^application\/json(?:[ \t]*;[ \t]*[a-z0-9_-]+=(?:[a-z0-9._-]+|"[^",;]*"))*[ \t]*$/i

/** A charset other than UTF-8, which JSON requires. */
const otherCharset = /charset=(?!"?utf-8"?[ \t]*(?:;|$))/i

/** Whether the body is declared as JSON. One without a type is not: any web page can have a browser send it. */
const isJson = (type: string | undefined): boolean =>
  type !== undefined && jsonType.test(type) && !otherCharset.test(type)

const notJson = (type: string | undefined) =>
  new NotJson({
    message: `the body is declared as ${type === undefined ? "nothing" : JSON.stringify(type.slice(0, 100))}; send it with "Content-Type: application/json"`
  })

const textOf = (request: Request): Effect.Effect<string, Malformed | NotJson | TooLarge> => {
  const { "content-length": declared, "content-type": type, expect } = request.headers
  if (!isJson(type)) return Effect.fail(notJson(type))
  if (Number(declared ?? 0) > maximumBytes) return Effect.fail(tooLarge)
  const source = NodeHttpServerRequest.toIncomingMessage(request)
  return declared === undefined || expect !== undefined || !(source instanceof IncomingMessage)
    ? streamed(request)
    : received(source)
}

const decoder = new TextDecoder()

/** Reads a body of declared length; Node enforces the length. */
const received = (source: IncomingMessage): Effect.Effect<string, Malformed> =>
  Effect.callback((resume) => {
    const chunks: Array<Buffer> = []
    const take = (chunk: Buffer) => chunks.push(chunk)
    const release = () => source.off("data", take).off("end", end).off("error", fail).off("close", fail)
    const end = () => {
      release()
      resume(Effect.succeed(decoder.decode(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks))))
    }
    const fail = () => {
      release()
      resume(Effect.fail(unread))
    }
    if (source.destroyed) return fail()
    source.on("data", take).on("end", end).on("error", fail).on("close", fail)
    return Effect.sync(release)
  })

const maximumBody = ByteSize.bytes(BigInt(maximumBytes))

/** Reads a body without declared length, or one that waits for `100 Continue`. */
const streamed = (request: Request): Effect.Effect<string, Malformed | NotJson | TooLarge> =>
  request.text.pipe(
    Effect.provideService(HttpServerRequest.MaxBodySize, maximumBody),
    Effect.mapError(({ reason }: HttpServerError) =>
      reason._tag === "RequestParseError" && reason.reason === "BodyTooLarge" ? tooLarge : unread
    )
  )

const tooLarge = new TooLarge({ message: `the body is longer than ${maximumBytes} bytes` })
const unread = new Malformed({ message: "the body ended before it was complete" })
