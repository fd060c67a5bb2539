/**
 * What a request may be: a JSON body of at most 64 KiB, not nested too deep for those who walk through it. It stands before
 * the decoding, and every way in which decoding or answering fails gets a body that says so.
 */
import { AsciiJson } from "@pontage/core"
import * as ByteSize from "effect/ByteSize"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as HttpApiError from "effect/http-api/HttpApiError"
import * as HttpApiMiddleware from "effect/http-api/HttpApiMiddleware"
import type { HttpServerError } from "effect/http/HttpServerError"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as Layer from "effect/Layer"
import type { unhandled } from "effect/Types"

import { Defect, Malformed, TooLarge } from "./FacilitatorFault.ts"

/**
 * The longest body that is read, in bytes.
 *
 * @category constants
 */
export const maximumBodyBytes = 64 * 1024

/**
 * The deepest nesting that is read: a payment header may be nested 16 deep, and here stands in an object.
 *
 * @category constants
 */
export const maximumDepth = 17

/**
 * The bounds, around an endpoint.
 *
 * @category middleware
 */
export class RequestBounds extends HttpApiMiddleware.Service<RequestBounds>()("@pontage/facilitator/RequestBounds", {
  error: [Malformed, TooLarge, Defect]
}) {
  static readonly layer = Layer.succeed(RequestBounds, (httpEffect) =>
    check.pipe(
      Effect.andThen(httpEffect),
      Effect.catch((error): Effect.Effect<never, Fault | unhandled> =>
        HttpApiError.HttpApiSchemaError.is(error) ? undecodable(error) : Effect.fail(error)
      ),
      Effect.catchDefect(defective)
    )
  )
}

type Fault = Malformed | TooLarge | Defect

const maximumBody = ByteSize.bytes(BigInt(maximumBodyBytes))

/** The text is kept by the request: the decoding that follows reads it again without cost. */
const check = Effect.gen(function* () {
  const request = yield* HttpServerRequest.HttpServerRequest
  if (request.method === "GET" || request.method === "HEAD") return
  const type = request.headers["content-type"]
  if (type !== undefined && !/^application\/json\s*(;|$)/i.test(type)) {
    return yield* new Malformed({ message: `the body is declared as ${type.slice(0, 100)}; send application/json` })
  }
  if (Number(request.headers["content-length"] ?? 0) > maximumBodyBytes) return yield* tooLarge
  const text = yield* request.text.pipe(
    Effect.provideService(HttpServerRequest.MaxBodySize, maximumBody),
    Effect.mapError(unread)
  )
  if (AsciiJson.depthOf(text) > maximumDepth) {
    return yield* new Malformed({ message: `the body is nested deeper than ${maximumDepth}` })
  }
})

const tooLarge = new TooLarge({ message: `the body is longer than ${maximumBodyBytes} bytes` })

const unread = ({ reason }: HttpServerError) =>
  reason._tag === "RequestParseError" && reason.reason === "BodyTooLarge"
    ? tooLarge
    : new Malformed({ message: "the body could not be read" })

const undecodable = (error: HttpApiError.HttpApiSchemaError): Effect.Effect<never, Fault> =>
  error.kind === "Body" || error.kind === "ResponseHeaders"
    ? defective(error.cause)
    : Effect.fail(new Malformed({ message: `the request is not what this endpoint takes: ${wordsOf(error)}` }))

/** A body that is none of several shapes is told each thing once. */
const wordsOf = ({ cause }: HttpApiError.HttpApiSchemaError): string =>
  [...new Set(cause.message.split(/\n(?! )/))].join("\n").slice(0, 500)

const defective = (defect: unknown) =>
  Effect.andThen(
    Effect.logError("a request met a defect", Cause.die(defect)),
    Effect.fail(new Defect({ message: "The facilitator failed on this request. Nothing is decided: send it again." }))
  )
