/**
 * What a refusal says, from a server that may mean harm: at most 64 KiB, bounded in time and depth, decoded by the
 * dialect.
 */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"

import type { PaymentRequired } from "../protocol/PaymentRequired.ts"
import { invalid, type ValidationError } from "../protocol/ValidationError.ts"
import { depthOf } from "../wire/AsciiJson.ts"
import * as BoundedBody from "../wire/BoundedBody.ts"
import type { Dialect } from "../wire/Dialect.ts"

/**
 * The most that is read of a refusal's body, in bytes.
 *
 * @category constants
 */
export const maximumBytes = 64 * 1024

/** The deepest a refusal may be nested: an offer's `extra` may hold any JSON. */
const maximumDepth = 32

/** How long a refusal's body may take. */
const patience = "30 seconds"

/**
 * Reads a refusal. Fails with `malformed` where its body is too long, too slow, broken off, no JSON, or no refusal.
 *
 * @category conversions
 */
export const read = (dialect: Dialect, response: Response): Effect.Effect<PaymentRequired, ValidationError> =>
  Effect.tryPromise({
    try: (signal) => BoundedBody.read(abortable(response.body, signal), maximumBytes),
    catch: () => malformed("broken_off", "broke off before its end")
  }).pipe(
    Effect.timeoutOrElse({
      duration: patience,
      orElse: () => Effect.fail(malformed("too_slow", `took longer than ${patience}`))
    }),
    Effect.flatMap((body) =>
      Effect.fromResult(
        body._tag === "Read"
          ? Result.flatMap(parse(body.text), dialect.readRefusal)
          : Result.fail(malformed("too_long", `is longer than ${maximumBytes} bytes`))
      )
    )
  )

/** The stream, given up when the signal says so: a peer that never ends its body must not hold the connection. */
const abortable = (body: ReadableStream<Uint8Array> | null, signal: AbortSignal) =>
  body === null ? null : body.pipeThrough(new TransformStream<Uint8Array, Uint8Array>(), { signal })

const parse = (text: string | undefined): Result.Result<unknown, ValidationError> => {
  if (text === undefined) return Result.fail(malformed("not_utf8", "is not UTF-8"))
  if (depthOf(text) > maximumDepth) return Result.fail(malformed("too_deep", `is nested deeper than ${maximumDepth}`))
  try {
    const json: unknown = JSON.parse(text)
    return Result.succeed(json)
  } catch {
    return Result.fail(malformed("not_json", "is not JSON"))
  }
}

const malformed = (detail: string, what: string): ValidationError =>
  invalid("malformed", `refusal_${detail}`, `the body of the server's refusal ${what}; expected a payment request`)
