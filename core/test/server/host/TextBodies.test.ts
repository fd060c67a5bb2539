/** Streams whose pieces are texts, as streams of Node give them: hosts send them as UTF-8. */
import { Readable } from "node:stream"

import * as Effect from "effect/Effect"
import { assert, describe, it } from "vitest"

import * as HeldBody from "../../../src/server/host/HeldBody.ts"
import * as MeteredBody from "../../../src/server/host/MeteredBody.ts"
import * as WatchedBody from "../../../src/server/host/WatchedBody.ts"
import { StreamMeter } from "../../../src/server/http/StreamMeter.ts"

const bodyOf = (pieces: Iterable<unknown>): ReadableStream<Uint8Array> =>
  new Response(Readable.toWeb(Readable.from(pieces, { highWaterMark: 0 })) as ReadableStream<Uint8Array>).body ??
  assert.fail("the response has no body")

const { signal } = new AbortController()
const text = (bytes: Uint8Array | undefined) => new TextDecoder().decode(bytes)

const umlauts = (length: number) => "ü".repeat(length)

/** More than a held body may have. */
function* long(made: { pieces: number }) {
  while (made.pieces < 20) {
    made.pieces++
    yield umlauts(1024 * 1024)
  }
}

describe("a held body", () => {
  it("has texts as their bytes", async () => {
    assert.strictEqual(
      text(await HeldBody.bytesOf(bodyOf(["It will ", Buffer.from("rain"), "ü."]), signal)),
      "It will rainü."
    )
  })

  it("is refused above the limit, counted in the bytes of its texts", async () => {
    const made = { pieces: 0 }
    const error = await HeldBody.bytesOf(bodyOf(long(made)), signal).catch((thrown: unknown) => thrown)
    assert.instanceOf(error, HeldBody.NotHeld)
    assert.isBelow(made.pieces, 10)
  })

  it("is refused if its pieces are neither bytes nor texts", async () => {
    const error = await HeldBody.bytesOf(bodyOf([{ rain: true }]), signal).catch((thrown: unknown) => thrown)
    assert.match(String(error), /^TypeError: .* bytes or texts; got a piece of type object/)
  })

  it("is left, and cancelled, once its client has left", async () => {
    const client = new AbortController()
    let isCancelled = false
    const body = new ReadableStream<Uint8Array>(
      {
        pull: () => client.abort(),
        cancel: () => {
          isCancelled = true
        }
      },
      { highWaterMark: 0 }
    )
    await HeldBody.bytesOf(body, client.signal)
    assert.isTrue(isCancelled)
  })
})

describe("the beginning of a body", () => {
  it("has texts as their bytes", async () => {
    const { bytes } = await HeldBody.beginningOf(bodyOf(["It will ", "rainü."]), signal)
    assert.strictEqual(text(bytes), "It will rainü.")
  })

  it("is read up to the limit, counted in the bytes of its texts, and the rest follows", async () => {
    const made = { pieces: 0 }
    const begun = await HeldBody.beginningOf(bodyOf(long(made)), signal)
    assert.isBelow(made.pieces, 10)
    const reader = begun.bytes === undefined ? begun.stream.getReader() : assert.fail("the body has no end")
    for (let piece = 0; piece < 6; piece++) {
      // oxlint-disable-next-line no-await-in-loop -- chunks arrive one after another
      const { value } = await reader.read()
      assert.strictEqual(typeof value === "string" ? value : text(value), umlauts(1024 * 1024))
    }
    await reader.cancel()
  })

  it("leaves pieces that are neither bytes nor texts to the host", async () => {
    const begun = await HeldBody.beginningOf(bodyOf(["It", { rain: true }, "will"]), signal)
    const reader = begun.bytes === undefined ? begun.stream.getReader() : assert.fail("the body has no bytes")
    assert.deepStrictEqual(text((await reader.read()).value), "It")
    const odd: unknown = (await reader.read()).value
    assert.deepStrictEqual(odd, { rain: true })
    await reader.cancel()
  })
})

describe("a watched body", () => {
  it.each([
    ["few", 3, false],
    ["enough", 4, true]
  ] as const)("counts the bytes of texts: %s", async (_, pieces, isDelivered) => {
    const told: Array<boolean> = []
    const over = (delivered: boolean) => void told.push(delivered)
    const body = WatchedBody.watch(bodyOf(["ü", "ü", "ü", "ü", "ü"]), undefined, {
      enough: 6,
      isGone: () => false,
      over
    })
    const reader = body.getReader()
    for (let piece = 0; piece < pieces; piece++) {
      // oxlint-disable-next-line no-await-in-loop -- chunks arrive one after another
      await reader.read()
    }
    await reader.cancel()
    assert.deepStrictEqual(told, [isDelivered])
  })
})

describe("a metered body", () => {
  it("has texts as their bytes", async () => {
    const ends: Array<string> = []
    const meter = new StreamMeter({
      unit: "byte",
      tick: 1n,
      below: 400,
      first: {
        amount: 100n,
        charge: (amount) =>
          Effect.as(
            Effect.sync(() => ends.push(`charged ${amount}`)),
            "charged"
          ),
        release: (outcome) => Effect.sync(() => void ends.push(outcome))
      },
      window: 100n,
      next: () => Effect.never,
      closed: Effect.never,
      receipt: (sums) => Effect.succeed({ ...sums, channelId: "0x1", at: 0, owed: 0n })
    })
    const body = MeteredBody.join(bodyOf(["It will ", "rainü."]), new Response(), meter)
    const charging = meter.charge(15)
    assert.strictEqual(await new Response(body).text(), "It will rainü.")
    await charging
    assert.deepStrictEqual(ends, ["charged 15"])
  })
})
