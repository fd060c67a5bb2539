/**
 * Reads the unread body of a request and puts it back, so that the application's own parser finds it unchanged. It
 * takes Node's stream structurally and imports nothing of Node.
 */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"

import * as BoundedBody from "../../wire/http/BoundedBody.ts"

/** The members of Node's `IncomingMessage` (and of its HTTP/2 request) that are used. */
export interface BodyStream {
  /** Whether the whole message has arrived. */
  readonly complete: boolean
  readonly destroyed: boolean
  readonly httpVersionMajor: number
  readonly readableDidRead: boolean
  readonly readableEnded: boolean
  readonly readableFlowing: boolean | null
  readonly readableLength: number
  read(size?: number): unknown
  unshift(chunk: Uint8Array): void
  on(event: "readable" | "end" | "close" | "error", listener: () => void): unknown
  off(event: "readable" | "end" | "close" | "error", listener: () => void): this
}

/** The body exceeds the limit. */
export class BodyTooLong extends Data.TaggedError("BodyTooLong")<{ readonly maximumBytes: number }> {}

/** The body broke off, or the stream ended before the bytes could be put back. */
export class BodyLost extends Data.TaggedError("BodyLost")<{ readonly message: string }> {}

/** The failure of a body that broke off. */
export const brokenOff: BodyLost = new BodyLost({ message: "the request's body broke off before its end" })

/** Streams that were read here count as unread: their bytes were put back. */
const known = new WeakMap<BodyStream, Uint8Array>()

/** The number of bytes after which reading stopped, because they exceeded a limit. */
const exceeded = new WeakMap<BodyStream, number>()

/** Whether the body's bytes can still be read from the stream. */
export const isUnread = (stream: BodyStream): boolean =>
  known.has(stream) ||
  exceeded.has(stream) ||
  (!stream.readableDidRead && !stream.readableEnded && stream.readableFlowing !== true)

/** The bytes of an unread body, which stays unread for others. A body that is too long keeps its bytes too. */
export const bytesOf = (stream: BodyStream, maximumBytes: number): Effect.Effect<Uint8Array, BodyTooLong | BodyLost> =>
  Effect.suspend(() => {
    const before = known.get(stream)
    if ((exceeded.get(stream) ?? 0) > maximumBytes) return Effect.fail(new BodyTooLong({ maximumBytes }))
    return before === undefined ? Effect.andThen(turn, read(stream, maximumBytes)) : Effect.succeed(before)
  })

/**
 * One turn of the event loop: a body that arrived with its head is complete after it. Listening earlier would end an
 * empty body for all readers.
 */
const turn = Effect.promise(() => Promise.resolve())

const read = (stream: BodyStream, maximumBytes: number) =>
  Effect.callback<Uint8Array, BodyTooLong | BodyLost>((resume) => {
    const chunks: Array<Uint8Array> = []
    let length = 0
    /** Puts the bytes back at once: on the next turn an empty stream that has reached its end ends for all readers. */
    const stop = (): Uint8Array => {
      stream.off("readable", take).off("end", lose).off("close", lose).off("error", lose)
      const bytes = BoundedBody.join(chunks, length)
      if (length > 0 && !stream.destroyed) stream.unshift(bytes)
      return bytes
    }
    const take = () => {
      // Reading from an empty, complete stream would end it.
      const chunk = stream.readableLength > 0 ? stream.read() : undefined
      if (chunk instanceof Uint8Array) {
        chunks.push(chunk)
        length += chunk.length
      }
      if (length > maximumBytes) {
        stop()
        exceeded.set(stream, length)
        resume(Effect.fail(new BodyTooLong({ maximumBytes })))
      } else if (hasArrived(stream)) {
        const bytes = stop()
        known.set(stream, bytes)
        resume(Effect.succeed(bytes))
      }
    }
    const lose = () => {
      stop()
      resume(Effect.fail(brokenOff))
    }
    if (stream.destroyed) return lose()
    if (hasArrived(stream)) return take()
    stream.on("readable", take)
    stream.on("end", lose)
    stream.on("close", lose)
    stream.on("error", lose)
    return Effect.sync(stop)
  })

/**
 * Whether the body has arrived, by Node's own flag on a stream whose source has ended; an HTTP/2 request has no other
 * flag in time.
 */
const hasArrived = (stream: BodyStream): boolean => {
  const state: unknown = Reflect.get(stream, "_readableState")
  return stream.complete || (typeof state === "object" && state !== null && Reflect.get(state, "ended") === true)
}
