/**
 * Follows a metered stream: passes its body on as it comes, without a buffer of its own, while its course signs the vouchers. A body
 * that its caller does not read is not read here either, so nothing is signed for it.
 */
import type * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"

import type { Progress, Scene } from "../ChannelVoucher.ts"
import type { JournalEntry } from "../JournalEntry.ts"
import * as PurchaseResponse from "../PurchaseResponse.ts"
import * as EventReader from "./EventReader.ts"
import * as FollowedStream from "./FollowedStream.ts"
import type { MeteredTerms } from "./MeteredTerms.ts"
import * as StreamAccount from "./StreamAccount.ts"
import * as StreamCourse from "./StreamCourse.ts"
import * as StreamEnding from "./StreamEnding.ts"

/** Whether the shop meters the body of a response. */
export const isMetered = ({ body, headers, status }: Response): boolean =>
  status < 400 && body !== null && headers.get("payment-voucher-url") !== null

const pools = new WeakMap<object, Map<string, StreamAccount.StreamPool>>()

const poolOf = ({ context: { journal }, offered, order }: Scene): StreamAccount.StreamPool => {
  const all = pools.get(journal) ?? new Map<string, StreamAccount.StreamPool>()
  pools.set(journal, all)
  const name = `${offered.id} ${new URL(order.quote.url).host}`
  const pool = all.get(name) ?? StreamAccount.emptyPool()
  all.set(name, pool)
  return pool
}

const hasEvents = ({ headers }: Response): boolean =>
  /^text\/event-stream\s*(?:;|$)/i.test(headers.get("content-type") ?? "")

/** The entry of a stream whose head has come: it is over, and each further window adds to its spendings. */
const followedEntry = (purchase: JournalEntry, response: Response): JournalEntry => {
  const { headers: _, ...entry } = purchase
  const receipt = PurchaseResponse.settlementOf(response)
  return { ...entry, state: "settled", ...(receipt && { receipt }) }
}

/** A metered response with a body that is followed, after the voucher of its first window. */
export const follow = Effect.fnUntraced(function* (
  scene: Scene,
  terms: MeteredTerms,
  progress: Progress,
  response: Response
): Effect.fn.Return<Response> {
  const { body } = response
  if (body === null) return response
  const pool = poolOf(scene)
  const isEvents = hasEvents(response)
  const account: StreamAccount.StreamAccount = {
    terms,
    measure: StreamAccount.measureOf(terms, isEvents),
    began: yield* StreamCourse.monotonicMillis,
    total: BigInt(progress.entry.amount),
    events: 0n,
    bytes: 0n,
    seen: pool.arrivals
  }
  StreamAccount.join(pool, account)
  const course: StreamCourse.StreamCourse = {
    scene: { ...scene, terms },
    pool,
    account,
    progress: { ...progress, entry: followedEntry(progress.entry, response) },
    need: undefined,
    receipt: undefined,
    stopped: undefined,
    repeats: 0
  }
  return passed({ course }, response, body.getReader(), isEvents, yield* Effect.context())
})

/** The response with a body that passes through the course. */
const passed = (
  cell: StreamCourse.CourseCell,
  response: Response,
  reader: ReadableStreamDefaultReader<Uint8Array>,
  isEvents: boolean,
  context: Context.Context<never>
): Response => {
  const signing = isEvents ? eventsOf(cell, context) : bytesOf(cell, context)
  const ended = Deferred.makeUnsafe<FollowedStream.StreamEnd>()
  const end = async (how: StreamEnding.BodyEnd, reason?: unknown) => {
    await signing.end()
    const { broken, settlement, ...last } = await Effect.runPromiseWith(context)(
      StreamEnding.conclude(cell, isEvents, how, reason)
    )
    PurchaseResponse.noteReceipt(made, settlement)
    Deferred.doneUnsafe(ended, Effect.succeed(last))
    return broken
  }
  const body = new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        try {
          const { done, value } = await reader.read()
          if (!done) {
            controller.enqueue(value)
            return signing.take(value)
          }
          if (!isEvents) demandAll(response, cell.course.account.bytes)
        } catch (error) {
          throw await end("broken", error)
        }
        await end("ended")
        return controller.close()
      },
      cancel: async (reason) => {
        await Promise.all([end("cancelled", reason), reader.cancel(reason)])
      }
    },
    { highWaterMark: 0 }
  )
  const made = PurchaseResponse.withBody(response, body)
  const { account, scene } = cell.course
  const stream = { terms: scene.terms, signed: () => account.total, ended: Effect.runPromise(Deferred.await(ended)) }
  FollowedStream.note(made, stream)
  return made
}

/** Throws for a body that is shorter than its head announces. A coding, and the pages of other origins to which none is shown, hide that. */
const demandAll = ({ headers, type }: Response, bytes: bigint): void => {
  const announced = headers.get("content-length") ?? ""
  if (type === "cors" || headers.has("content-encoding") || !/^\d{1,16}$/.test(announced)) return
  if (bytes < BigInt(announced)) throw new Error(`the body ended after ${bytes} of ${announced} bytes`)
}

/** The signing beside a body. */
interface Signing {
  /** Takes a chunk; the signing goes on by itself. */
  readonly take: (chunk: Uint8Array) => void
  /** Resolves when nothing is being signed or sent any more, and nothing will be. */
  readonly end: () => Promise<void>
}

/** One answer after the other; the body's end interrupts the one under way. */
const answering = (context: Context.Context<never>, answer: Effect.Effect<void>) => {
  const stopping = new AbortController()
  let wakes = 0
  let running: Promise<void> | undefined
  const run = async () => {
    while (wakes > 0 && !stopping.signal.aborted) {
      wakes = 0
      // oxlint-disable-next-line no-await-in-loop -- one answer after the other
      await Effect.runPromiseExitWith(context)(answer, { signal: stopping.signal })
    }
    running = undefined
  }
  return {
    wake: () => {
      wakes++
      running ??= run()
    },
    end: async () => {
      stopping.abort()
      await running
    }
  }
}

const eventsOf = (cell: StreamCourse.CourseCell, context: Context.Context<never>): Signing => {
  const { push } = EventReader.make()
  const { end, wake } = answering(context, StreamCourse.answerEvents(cell))
  return {
    take: (chunk) => {
      cell.course.account.bytes += BigInt(chunk.byteLength)
      for (const event of push(chunk)) StreamCourse.takeEvent(cell, event)
      if (cell.course.need !== undefined) wake()
    },
    end
  }
}

/** Signs a window when the ones before have come: a shop reserves whole windows, and waits for the voucher that covers the next one. */
const bytesOf = (cell: StreamCourse.CourseCell, context: Context.Context<never>): Signing => {
  const { window } = cell.course.scene.terms
  const { end, wake } = answering(context, StreamCourse.answerBytes(cell))
  return {
    take: (chunk) => {
      StreamCourse.takeBytes(cell, chunk.byteLength)
      if (StreamCourse.due(cell, Effect.runSyncWith(context)(StreamCourse.monotonicMillis)) === window) wake()
    },
    end
  }
}
