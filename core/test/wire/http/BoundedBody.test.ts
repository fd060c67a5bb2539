import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"

import * as BoundedBody from "../../../src/wire/http/BoundedBody.ts"

/** A body in these chunks, which tells whether it was given up. */
const bodyOf = (chunks: ReadonlyArray<Uint8Array>) => {
  const waiting = [...chunks]
  const state = { cancelled: false }
  const stream = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      const chunk = waiting.shift()
      if (chunk === undefined) controller.close()
      else controller.enqueue(chunk)
    },
    cancel: () => {
      state.cancelled = true
    }
  })
  return { state, stream }
}

describe("BoundedBody", () => {
  it("reads any text in any chunks up to the limit, and nothing beyond it", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.string({ unit: "binary" })), fc.nat(64), async (parts, limit) => {
        const text = new TextDecoder().decode(new TextEncoder().encode(parts.join("")))
        const bytes = new TextEncoder().encode(text)
        const middle = bytes.length >> 1
        const { stream } = bodyOf([bytes.subarray(0, middle), bytes.subarray(middle)])
        const expected: BoundedBody.BoundedBody =
          bytes.length > limit
            ? { _tag: "TooLong", maximumBytes: limit }
            : { _tag: "Read", text: text.replace(/^\uFEFF/, "") }
        assert.deepStrictEqual(await BoundedBody.read(stream, limit), expected)
      })
    )
  })

  it("gives a body up at the first byte too many, and only then", async () => {
    const ten = new Uint8Array(10).fill(0x20)
    const over = bodyOf([ten, ten, ten])
    assert.deepStrictEqual(await BoundedBody.read(over.stream, 19), { _tag: "TooLong", maximumBytes: 19 })
    assert.isTrue(over.state.cancelled)
    const exact = bodyOf([ten, ten])
    assert.deepStrictEqual(await BoundedBody.read(exact.stream, 20), { _tag: "Read", text: " ".repeat(20) })
    assert.isFalse(exact.state.cancelled)
  })

  it("reads no body as no text, and bytes that are no UTF-8 as none at all", async () => {
    assert.deepStrictEqual(await BoundedBody.read(null, 1), { _tag: "Read", text: "" })
    const { stream } = bodyOf([Uint8Array.of(0x7b, 0xff)])
    assert.deepStrictEqual(await BoundedBody.read(stream, 9), { _tag: "Read", text: undefined })
  })

  it("fails as the stream fails", async () => {
    const broken = new ReadableStream<Uint8Array>({ pull: (controller) => controller.error(new Error("reset")) })
    const failure = await BoundedBody.read(broken, 9).catch((error: unknown) => error)
    assert.match(String(failure), /reset/)
  })

  it("reads a response alike, whether its length is declared, not declared, or declared wrongly", async () => {
    const cases = [
      ["four", 4, undefined, { _tag: "Read", text: "four" }],
      ["four", 4, "4", { _tag: "Read", text: "four" }],
      ["fives", 4, undefined, { _tag: "TooLong", maximumBytes: 4 }],
      ["fives", 4, "5", { _tag: "TooLong", maximumBytes: 4 }],
      ["fives", 4, "1", { _tag: "TooLong", maximumBytes: 4 }],
      ["four", 4, "no number", { _tag: "Read", text: "four" }]
    ] as const
    for (const [text, limit, declared, expected] of cases) {
      const headers: Record<string, string> = declared === undefined ? {} : { "content-length": declared }
      // oxlint-disable-next-line no-await-in-loop -- one case after the other
      assert.deepStrictEqual(await BoundedBody.ofResponse(new Response(text, { headers }), limit), expected)
    }
    const noText = new Response(new Uint8Array([0xff]), { headers: { "content-length": "1" } })
    assert.deepStrictEqual(await BoundedBody.ofResponse(noText, 4), { _tag: "Read", text: undefined })
  })
})
