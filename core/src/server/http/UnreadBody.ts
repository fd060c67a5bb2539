/**
 * The body of a request that nobody has read: its bytes are read and put back, so that the application's own parser finds
 * them as they came. It takes Node's stream as it is, and imports nothing of Node.
 */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"

import * as BoundedBody from "../../wire/http/BoundedBody.ts"

/** The part of Node's `IncomingMessage` (and of its HTTP/2 request) that is looked at. */
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

/** The body is longer than what is read of one. */
export class BodyTooLong extends Data.TaggedError("BodyTooLong")<{ readonly maximumBytes: number }> {}

/** The body broke off, or the stream ended before it could be put back. */
export class BodyLost extends Data.TaggedError("BodyLost")<{ readonly message: string }> {}

/** A stream that was read here counts as unread: its bytes are where they were. */
const known = new WeakMap<BodyStream, Uint8Array>()

/** Whether the body's bytes are still to be had from the stream. */
export const isUnread = (stream: BodyStream): boolean =>
  known.has(stream) || (!stream.readableDidRead && !stream.readableEnded && stream.readableFlowing !== true)

/** The bytes of an unread body, which stays unread for others. Of a body that is too long nothing is lost either. */
export const bytesOf = (stream: BodyStream, maximumBytes: number): Effect.Effect<Uint8Array, BodyTooLong | BodyLost> =>
  Effect.suspend(() => {
    const before = known.get(stream)
    return before === undefined ? Effect.andThen(turn, read(stream, maximumBytes)) : Effect.succeed(before)
  })

/** A body that came with its head is complete after this turn. To listen before that would end an empty one for everybody. */
const turn = Effect.promise(() => Promise.resolve())

const read = (stream: BodyStream, maximumBytes: number) =>
  Effect.callback<Uint8Array, BodyTooLong | BodyLost>((resume) => {
    const chunks: Array<Uint8Array> = []
    let length = 0
    /** Given back at once: on the next turn a stream that has come to its end and is empty ends for everybody. */
    const stop = (): Uint8Array => {
      stream.off("readable", take).off("end", lose).off("close", lose).off("error", lose)
      const bytes = BoundedBody.join(chunks, length)
      if (length > 0 && !stream.destroyed) stream.unshift(bytes)
      return bytes
    }
    const take = () => {
      // To read from an empty stream that is complete would end it.
      const chunk = stream.readableLength > 0 ? stream.read() : undefined
      if (chunk instanceof Uint8Array) {
        chunks.push(chunk)
        length += chunk.length
      }
      if (length > maximumBytes) {
        stop()
        resume(Effect.fail(new BodyTooLong({ maximumBytes })))
      } else if (hasArrived(stream)) {
        const bytes = stop()
        known.set(stream, bytes)
        resume(Effect.succeed(bytes))
      }
    }
    const lose = () => {
      stop()
      resume(Effect.fail(new BodyLost({ message: "the request's body broke off before its end" })))
    }
    if (stream.destroyed) return lose()
    if (hasArrived(stream)) return take()
    stream.on("readable", take)
    stream.on("end", lose)
    stream.on("close", lose)
    stream.on("error", lose)
    return Effect.sync(stop)
  })

/** Node's own mark on a stream whose source has ended; an HTTP/2 request has no other that comes in time. */
const hasArrived = (stream: BodyStream): boolean => {
  const state: unknown = Reflect.get(stream, "_readableState")
  return stream.complete || (typeof state === "object" && state !== null && Reflect.get(state, "ended") === true)
}
