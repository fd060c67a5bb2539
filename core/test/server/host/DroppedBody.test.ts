/** Bodies of paid responses that their host drops unread: garbage collection tells of them. */
import * as Effect from "effect/Effect"
import { assert, describe, it } from "vitest"

import * as MeteredBody from "../../../src/server/host/MeteredBody.ts"
import * as WatchedBody from "../../../src/server/host/WatchedBody.ts"
import { StreamMeter } from "../../../src/server/http/StreamMeter.ts"
import * as Collection from "./Collection.ts"

type Watched = ReadableStream<Uint8Array>

const goods = new TextEncoder().encode("It will rain.")

/** Watches a body; `told` has what was said of its end. The client stays. */
const watching = (body: Watched) => {
  const told: Array<boolean> = []
  const client = new AbortController()
  const watched = WatchedBody.watch(body, client.signal, {
    enough: 2,
    isGone: () => false,
    over: (delivered) => void told.push(delivered)
  })
  return { told, client, watched }
}

const dropped = (body: Watched) => {
  const { client, told } = watching(body)
  return { client, told }
}

/** A body whose source waits, and whose maker holds it. */
const quiet = () => {
  const made: { controller?: ReadableStreamDefaultController<Uint8Array>; isCancelled: boolean } = {
    isCancelled: false
  }
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      made.controller = controller
    },
    cancel: () => {
      made.isCancelled = true
    }
  })
  return { made, body }
}

/** A dropped body whose source knows the context of its request, and that the response. */
const droppedByContext = () => {
  const context: { response?: Response } = {}
  const source = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.enqueue(context.response === undefined ? goods : new Uint8Array(1))
  })
  const { told, watched } = watching(source)
  context.response = new Response(watched)
  return told
}

describe("a body that its host drops", () => {
  it("is told as not delivered, though its client stays", async ({ signal }) => {
    const { client, told } = dropped(new Response(goods).body ?? assert.fail("the response has no body"))
    await Collection.until(() => told.length > 0, signal)
    assert.deepStrictEqual(told, [false])
    assert.isFalse(client.signal.aborted)
  })

  it("is told, and cancelled, if its maker holds it still", async ({ signal }) => {
    const { body, made } = quiet()
    const { told } = dropped(body)
    await Collection.until(() => made.isCancelled, signal)
    assert.deepStrictEqual(told, [false])
  })

  it("is told if its source holds the response that has it", async ({ signal }) => {
    const told = droppedByContext()
    await Collection.until(() => told.length > 0, signal)
    assert.deepStrictEqual(told, [false])
  })

  it("is told, and its window is released, if it is metered", async ({ signal }) => {
    const ends: Array<string> = []
    const meter = new StreamMeter({
      unit: "token",
      tick: 1n,
      below: 400,
      first: {
        amount: 10n,
        charge: (amount) =>
          Effect.as(
            Effect.sync(() => ends.push(`charged ${amount}`)),
            "charged"
          ),
        release: (outcome) => Effect.sync(() => void ends.push(outcome))
      },
      window: 10n,
      next: () => Effect.never,
      closed: Effect.never,
      receipt: (sums) => Effect.succeed({ ...sums, channelId: "0x1", at: 0, owed: 0n })
    })
    const drop = () => {
      const { body, made } = quiet()
      return { made, told: dropped(MeteredBody.join(body, new Response(), meter)).told }
    }
    const { made, told } = drop()
    await Collection.until(() => told.length > 0, signal)
    assert.deepStrictEqual(told, [false])
    await Effect.runPromise(meter.finish("failed"))
    assert.deepStrictEqual(ends, ["failed"])
    assert.isTrue(made.isCancelled)
  })
})

describe("a body whose reader waits", () => {
  it("is not taken from it, though nothing but its source holds it", async ({ signal }) => {
    const { body, made } = quiet()
    const told: Array<boolean> = []
    const read = async () => {
      const watched = WatchedBody.watch(body, undefined, {
        enough: 2,
        isGone: () => false,
        over: (delivered) => void told.push(delivered)
      })
      return watched.getReader().read()
    }
    const reading = read()
    let collections = 0
    await Collection.until(() => collections++ === 5, signal)
    made.controller?.enqueue(goods)
    assert.deepStrictEqual(await reading, { done: false, value: goods })
    assert.deepStrictEqual(told, [])
  })
})
