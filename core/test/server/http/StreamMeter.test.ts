/** The meter of one response, over windows that are given out by a test. */
import * as Effect from "effect/Effect"
import { afterEach, assert, describe, it, vi } from "vitest"

import * as MeteredBody from "../../../src/server/host/MeteredBody.ts"
import * as MeterEvents from "../../../src/server/http/MeterEvents.ts"
import { MeterEnded } from "../../../src/server/http/PaymentMeter.ts"
import {
  type MeterSource,
  type MeterWindow,
  StreamMeter,
  type WindowCharge
} from "../../../src/server/http/StreamMeter.ts"

/** Windows of ten units at one each; `ends` has what became of each. */
const windows = (
  next: (give: () => MeterWindow) => ReturnType<MeterSource["next"]>,
  charge: WindowCharge = "charged",
  closed: Effect.Effect<void> = Effect.never,
  unit = "token"
) => {
  const ends: Array<string> = []
  let count = 0
  const give = (): MeterWindow => {
    const name = ++count
    return {
      amount: 10n,
      charge: (amount) =>
        Effect.as(
          Effect.sync(() => ends.push(`${name} charged ${amount}`)),
          charge
        ),
      release: (outcome) => Effect.sync(() => void ends.push(`${name} ${outcome}`))
    }
  }
  const meter = new StreamMeter({
    unit,
    tick: 1n,
    below: 400,
    first: give(),
    window: 10n,
    next: () => next(give),
    closed,
    receipt: (sums) => Effect.succeed({ ...sums, channelId: "0x1", at: 0, owed: 7n })
  })
  return { meter, ends }
}

const sink = { need: () => undefined, release: () => undefined, end: () => Promise.resolve() }
const granted = (give: () => MeterWindow) => Effect.sync(give)

const rejection = async (promise: Promise<void>) => {
  const error: unknown = await promise.then(
    () => undefined,
    (reason: unknown) => reason
  )
  return error instanceof MeterEnded ? error.end : error instanceof RangeError ? "range" : "none"
}

describe("a meter", () => {
  it("charges a window in full before the first unit of the next one, and the last one by its units", async () => {
    const { ends, meter } = windows(granted)
    meter.begin(200, sink)
    await meter.charge(8)
    assert.deepStrictEqual(ends, [])
    await meter.charge(5)
    assert.deepStrictEqual(ends, ["1 charged 10"])
    await Effect.runPromise(meter.finish("served"))
    assert.deepStrictEqual(ends, ["1 charged 10", "2 charged 3"])
    assert.strictEqual(meter.units, 13n)
  })

  it("charges calls at once in their order, and each once", async () => {
    const { ends, meter } = windows(granted)
    meter.begin(200, sink)
    await Promise.all(Array.from({ length: 25 }, () => meter.charge()))
    await Effect.runPromise(meter.finish("served"))
    await Effect.runPromise(meter.finish("failed"))
    assert.deepStrictEqual(ends, ["1 charged 10", "2 charged 10", "3 charged 5"])
  })

  it("takes whole numbers of units that cost a window at most", async () => {
    const { meter } = windows(granted)
    for (const units of [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 11, 2n ** 70n, -1n])
      // oxlint-disable-next-line no-await-in-loop -- one after another, so that a breach is told apart
      assert.strictEqual(await rejection(meter.charge(units)), "range", `${units}`)
    await meter.charge(0)
    await meter.charge(10n)
    assert.strictEqual(meter.units, 10n)
  })

  it("costs nothing where the status says so, and goes on to no second window before the head", async () => {
    for (const status of [undefined, 404, 500]) {
      const { ends, meter } = windows(granted)
      if (status !== undefined) meter.begin(status, sink)
      // oxlint-disable-next-line no-await-in-loop -- one after another
      await meter.charge(10)
      // oxlint-disable-next-line no-await-in-loop -- one after another
      if (status === undefined) assert.strictEqual(await rejection(meter.charge(1)), "unsent")
      // oxlint-disable-next-line no-await-in-loop -- one after another
      await Effect.runPromise(meter.finish("served"))
      assert.deepStrictEqual(ends, ["1 failed"])
    }
  })

  it("ends for its handler when no window comes, and gives a window back that its ledger did not record", async () => {
    for (const end of ["budget", "idle", "closed"] as const) {
      const { meter } = windows(() => Effect.succeed(end))
      meter.begin(200, sink)
      // oxlint-disable-next-line no-await-in-loop -- one after another
      await meter.charge(10)
      // oxlint-disable-next-line no-await-in-loop -- one after another
      assert.strictEqual(await rejection(meter.charge(1)), end)
      // oxlint-disable-next-line no-await-in-loop -- one after another
      assert.deepInclude(await meter.settle(), { end, charged: 10n, units: 10n })
    }
    const { ends, meter } = windows(granted, "refused")
    meter.begin(200, sink)
    await meter.charge(10)
    assert.strictEqual(await rejection(meter.charge(1)), "closed")
    assert.include(ends, "2 notRun")
  })

  it("says the whole window in its receipt when the end of its charge is unknown, because the charge goes on", async () => {
    const { ends, meter } = windows(granted, "unknown")
    meter.begin(200, sink)
    await meter.charge(1)
    assert.strictEqual(await rejection(meter.charge(10)), "closed")
    assert.deepInclude(await meter.settle(), { end: "closed", charged: 10n, units: 1n })
    assert.deepStrictEqual(ends.slice(0, 2), ["1 charged 10", "2 notRun"])
  })

  it("charges a response that it ends, although its reader takes no more bytes", async () => {
    const { ends, meter } = windows(() => Effect.succeed("idle"))
    meter.begin(200, { ...sink, end: () => new Promise(() => undefined) })
    await meter.charge(9)
    void meter.charge(2)
    await vi.waitFor(() => assert.deepStrictEqual(ends, ["1 charged 9"]), { timeout: 60_000 })
    assert.deepInclude(await meter.settle(), { end: "idle", charged: 9n, units: 9n })
  })

  it("charges the present window of a channel that is closed, although its handler waits for the reader", async () => {
    const closing = Promise.withResolvers<void>()
    const closed = Effect.promise(() => closing.promise)
    const { ends, meter } = windows(granted, "charged", closed)
    const ended = Promise.withResolvers<void>()
    meter.begin(200, { ...sink, end: async () => ended.resolve() })
    await meter.charge(4)
    closing.resolve()
    await ended.promise
    assert.deepInclude(await meter.settle(), { end: "closed", charged: 4n })
    assert.deepStrictEqual(ends, ["1 charged 4"])
    assert.strictEqual(await rejection(meter.charge(1)), "closed")
  })

  it("releases a window of which nothing was used", async () => {
    const { ends, meter } = windows(granted)
    meter.begin(200, sink)
    await meter.charge(0)
    assert.deepInclude(await meter.settle(), { charged: 0n, end: undefined })
    assert.deepStrictEqual(ends, ["1 failed"])
  })

  it("stops to wait once its buyer has left", async () => {
    let isInterrupted = false
    const begun = Promise.withResolvers<void>()
    const { ends, meter } = windows(() =>
      Effect.andThen(
        Effect.sync(() => begun.resolve()),
        Effect.onInterrupt(Effect.never, () =>
          Effect.sync(() => {
            isInterrupted = true
          })
        )
      )
    )
    meter.begin(200, sink)
    await meter.charge(9)
    const waiting = rejection(meter.charge(2))
    await begun.promise
    await Effect.runPromise(meter.finish("failed"))
    assert.strictEqual(await waiting, "gone")
    assert.isTrue(isInterrupted)
    assert.deepStrictEqual(ends, ["1 charged 9"])
  })
})

const bytes = (next: Parameters<typeof windows>[0]) => windows(next, "charged", Effect.never, "byte")

describe("a meter of bytes", () => {
  it("lets a piece of any size leave as far as its windows go, and charges all of it", async () => {
    const asked: Array<() => void> = []
    const { ends, meter } = bytes((give) =>
      Effect.map(
        Effect.promise(() => new Promise<void>((resolve) => void asked.push(resolve))),
        give
      )
    )
    let released = 0
    const next = () => vi.waitUntil(() => asked.shift())
    meter.begin(200, { ...sink, release: () => void released++ })
    await meter.charge(35)
    assert.strictEqual(meter.passing(35n), 10n)
    assert.strictEqual(meter.passing(4n), 4n)
    assert.strictEqual(meter.passing(38n), 13n, "bytes that are not charged pass")
    for (const passing of [20n, 30n, 35n]) {
      const before = released
      // oxlint-disable-next-line no-await-in-loop -- one window after the other
      ;(await next())()
      // oxlint-disable-next-line no-await-in-loop -- one window after the other
      await vi.waitUntil(() => released > before)
      assert.strictEqual(meter.passing(35n), passing)
    }
    await Effect.runPromise(meter.finish("served"))
    assert.deepStrictEqual(ends, ["1 charged 10", "2 charged 10", "3 charged 10", "4 charged 5"])
  })

  it("takes a further piece once the one before is covered, and none after the end", async () => {
    const { meter } = bytes(() => Effect.succeed("idle"))
    meter.begin(200, sink)
    await meter.charge(12)
    assert.strictEqual(await rejection(meter.charge(1)), "idle")
    assert.strictEqual(meter.passing(12n), 10n)
    assert.deepInclude(await meter.settle(), { end: "idle", charged: 10n, units: 10n })
  })

  it("waits for the head before a second window, and not for a head that the handler waits to send", async () => {
    const { ends, meter } = bytes(granted)
    await meter.charge(12)
    const waiting = meter.charge(1)
    meter.begin(200, sink)
    await waiting
    assert.strictEqual(meter.units, 13n)
    assert.deepStrictEqual(ends, ["1 charged 10"])
    const late = bytes(granted)
    await late.meter.charge(12)
    assert.strictEqual(await rejection(late.meter.charge(1)), "unsent")
    let isCut = false
    late.meter.begin(200, {
      ...sink,
      end: async () => {
        isCut = true
      }
    })
    assert.isTrue(isCut)
  })

  it("costs nothing where the status says so, and all of its body leaves", async () => {
    const { ends, meter } = bytes(granted)
    await meter.charge(35)
    meter.begin(500, sink)
    assert.strictEqual(meter.passing(35n), 35n)
    await meter.charge(1)
    await Effect.runPromise(meter.finish("served"))
    assert.deepStrictEqual(ends, ["1 failed"])
  })
})

describe("events of the gate", () => {
  afterEach(() => void vi.useRealTimers())

  it("stand between the writer's, never inside one", () => {
    const place = new MeterEvents.EventPlace()
    const completions = ["", "data: a", "\n", "\n", "data: b\r\n", "\r\n", "data: c\n\ndata: d"].map((part) => {
      place.pass(part)
      return place.completion
    })
    assert.deepStrictEqual(completions, ["", "\n\n", "\n\n", "", "\n\n", "", "\n\n"])
  })

  it("are added to plain event streams alone", () => {
    assert.isTrue(MeterEvents.areIn("text/event-stream; charset=utf-8", undefined))
    assert.isTrue(MeterEvents.areIn("Text/Event-Stream", "identity"))
    for (const [type, encoding] of [
      ["text/event-stream", "gzip"],
      ["text/event-streams", undefined],
      ["application/json", undefined],
      [undefined, undefined]
    ] as const)
      assert.isFalse(MeterEvents.areIn(type, encoding))
  })

  it("keep a quiet stream awake by comments", async () => {
    vi.useFakeTimers()
    const { meter } = windows(granted)
    const source = new ReadableStream<Uint8Array>({ pull: () => new Promise<void>(() => undefined) })
    const head = new Response(null, { headers: { "content-type": "text/event-stream" } })
    const reader = MeteredBody.join(source, head, meter).getReader()
    const read = reader.read()
    await vi.advanceTimersByTimeAsync(MeterEvents.commentMillis)
    assert.strictEqual(new TextDecoder().decode((await read).value), ":\n\n")
    await reader.cancel()
  })
})
