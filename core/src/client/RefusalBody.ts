/**
 * Reads a refusal from a possibly hostile server: at most 64 KiB, bounded in time and depth, read by the first dialect
 * that recognises it. A response that none recognises is left untouched.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"

import { invalid, type ValidationError } from "../protocol/ValidationError.ts"
import { depthOf } from "../wire/http/AsciiJson.ts"
import * as BoundedBody from "../wire/http/BoundedBody.ts"
import type { ResponseHead, PayerDialect, ReadRefusal } from "../wire/pontage/Dialect.ts"

/** Maximum length of a refusal's body, in bytes. */
export const maximumBytes = 64 * 1024

/** Maximum nesting of a refusal: an offer's `extra` may hold any JSON. */
const maximumDepth = 32

/** Time limit for reading a refusal's body. */
const readTimeout = Duration.seconds(30)

/**
 * A refusal that a dialect has recognised; `malformed` if it is too long, too slow, broken off, not JSON, or lacks a
 * required field.
 */
export type Recognised = Result.Result<ReadRefusal, ValidationError>

/**
 * Reads a refusal; `undefined` if the response is in none of these dialects, and then its body is still unread. If only
 * the body can tell, a copy of it is read, and the response's own is cancelled once it is recognised.
 */
export const read = Effect.fnUntraced(function* (
  dialects: ReadonlyArray<PayerDialect>,
  response: Response
): Effect.fn.Return<Recognised | undefined> {
  const head: ResponseHead = { status: response.status, header: (name) => response.headers.get(name) }
  const candidates = dialects.filter((dialect) => dialect.mayRefuse(head))
  if (candidates.length === 0) return undefined
  if (candidates.some(({ isKnownByHead }) => isKnownByHead)) {
    return recognise(candidates, head, yield* Effect.result(jsonOf(response)))
  }
  const recognised = recognise(candidates, head, yield* Effect.result(jsonOf(response.clone())))
  if (recognised !== undefined) void response.body?.cancel().catch(() => undefined)
  return recognised
})

/** The refusal by the first dialect that can read it; otherwise the failure of the first that recognised it. */
const recognise = (
  candidates: ReadonlyArray<PayerDialect>,
  head: ResponseHead,
  body: Result.Result<unknown, ValidationError>
): Recognised | undefined => {
  let unreadable: Recognised | undefined
  for (const dialect of candidates) {
    const refusal = dialect.readRefusal(head, Result.getOrUndefined(body))
    if (refusal === undefined) continue
    if (Result.isSuccess(refusal)) return refusal
    unreadable ??= Result.isFailure(body) ? Result.fail(body.failure) : refusal
  }
  return unreadable
}

const jsonOf = (response: Response): Effect.Effect<unknown, ValidationError> =>
  Effect.tryPromise({
    try: (signal) => BoundedBody.read(response.body, maximumBytes, signal),
    catch: () => malformed("broken_off", "broke off before its end")
  }).pipe(
    Effect.timeoutOrElse({
      duration: readTimeout,
      orElse: () => Effect.fail(malformed("too_slow", `took longer than ${Duration.toSeconds(readTimeout)} seconds`))
    }),
    Effect.flatMap((body) =>
      Effect.fromResult(
        body._tag === "Read"
          ? parse(body.text)
          : Result.fail(malformed("too_long", `is longer than ${maximumBytes} bytes`))
      )
    )
  )

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

const malformed = (detail: string, problem: string): ValidationError =>
  invalid("malformed", `refusal_${detail}`, `the body of the server's refusal ${problem}; expected a payment request`)
