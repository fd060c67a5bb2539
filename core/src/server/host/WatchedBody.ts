/**
 * Watches how far a host reads the body of a `Response`. The web platform tells neither that a response was delivered nor
 * that its client has left, so the bytes that the host has taken are counted.
 */
import * as ResponseWatch from "../http/ResponseWatch.ts"
import * as BodyPiece from "./BodyPiece.ts"

/** A body that is read on demand, and the tests whether enough of it was taken. */
export interface BodyWatch {
  /** The bytes that make a response count as delivered, if it is cut off. */
  readonly enough: number
  /** Whether the client has disconnected, if the host tells. */
  readonly isGone: () => boolean
  /** Called once: whether the response was delivered. */
  readonly over: (delivered: boolean) => void
}

/** The end of a body whose reader has taken nothing for too long. */
export class ReaderStalled extends Error {
  override readonly name = "ReaderStalled"

  constructor(millis: number) {
    super(`the reader has taken nothing of the response for ${millis / 1_000} seconds`)
  }
}

/** Half of the body if its length is known and that is smaller, else the same bytes as on Node. */
export const enoughOf = (headers: Headers): number => {
  const length = Number(headers.get("content-length") ?? Number.NaN)
  return Number.isNaN(length)
    ? ResponseWatch.deliveredBytes
    : Math.min(ResponseWatch.deliveredBytes, Math.ceil(length / 2))
}

type Reader = ReadableStreamDefaultReader<Uint8Array>

/**
 * The same body, which tells its end: read to the end, broken, cancelled, its client gone, or dropped unread by its host.
 * A chunk counts once the host asks for the next one. `watch` must hold nothing that holds the response.
 */
export const watch = (
  body: ReadableStream<Uint8Array>,
  signal: AbortSignal | undefined,
  watch: BodyWatch
): ReadableStream<Uint8Array> => {
  const reader = body.getReader()
  const progress = new Progress(watch)
  const leave = leaving(progress, new WeakRef(reader))
  const stream = new ReadableStream<Uint8Array>(
    {
      start: (controller) => {
        const held = new WeakRef(controller)
        // A host that waits for its reader asks for nothing, so the error must not wait for the next question.
        reader.closed.catch((error: unknown) => {
          if (!(error instanceof ReaderStalled)) return
          progress.cut()
          held.deref()?.error(error)
        })
      },
      pull: async (controller) => {
        progress.next()
        try {
          const { done, value } = await reader.read()
          if (done) {
            progress.end()
            controller.close()
          } else {
            progress.hand(BodyPiece.lengthOf(value))
            controller.enqueue(value)
          }
        } catch (error) {
          progress.cut()
          controller.error(error)
        }
      },
      cancel: (reason) => {
        progress.cut()
        return reader.cancel(reason)
      }
    },
    { highWaterMark: 0 }
  )
  signal?.addEventListener("abort", leave, { once: true })
  if (signal?.aborted === true) leave()
  dropped.register(stream, leave)
  return stream
}

/**
 * Ends the watch of a body that no one reads any more. It lasts as long as the process if the host drops the body, so it holds nothing that
 * may hold the body: neither its controller, nor its reader, whose source may know the context of the request and the response in it.
 */
const leaving = (progress: Progress, reader: WeakRef<Reader>) => (): void => {
  progress.cut()
  void reader
    .deref()
    ?.cancel()
    .catch(() => undefined)
}

/** A host that answers HEAD, or replaces a response, may forget the body without cancelling it. */
const dropped = /* @__PURE__ */ new FinalizationRegistry<() => void>((leave) => leave())

class Progress {
  readonly #watch: BodyWatch
  #taken = 0
  #handed = 0
  #isOver = false

  constructor(watch: BodyWatch) {
    this.#watch = watch
  }

  next(): void {
    this.#taken += this.#handed
    this.#handed = 0
  }

  hand(bytes: number): void {
    this.#handed = bytes
  }

  end(): void {
    this.#tell(!this.#watch.isGone() || this.#taken >= this.#watch.enough)
  }

  cut(): void {
    this.#tell(this.#taken >= this.#watch.enough)
  }

  #tell(delivered: boolean): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#watch.over(delivered)
  }
}
