import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Result from "effect/Result"
import * as TestClock from "effect/testing/TestClock"

import * as ChainNodeClient from "../../../src/wire/http/ChainNodeClient.ts"
import * as HttpOrigin from "../../../src/wire/http/HttpOrigin.ts"
import * as LoopbackServer from "../LoopbackServer.ts"

const network = "test:1"
const key = "0123456789abcdef"

const clientOf = (options: Partial<ChainNodeClient.Options>, maximumBytes = 1_000) =>
  ChainNodeClient.make({ url: "http://127.0.0.1:1", network, ...options }, maximumBytes)

const readText = ({ body }: HttpOrigin.HttpResponse) => ChainNodeClient.readJson(body)

/** Fails as Deno does, whose errors tell the URL, and with a field for it, as Bun does. */
const failing = (input: unknown) =>
  Promise.reject(Object.assign(new TypeError(`error sending request for url (${String(input)})`), { path: input }))

const never = (): HttpOrigin.HttpOrigin => ({ send: () => Effect.never })

describe("a node's client", () => {
  it.effect("sends JSON to the URL's path and query, with the headers and the URL's credentials", () =>
    Effect.gen(function* () {
      const { origin, requests } = yield* LoopbackServer.make(LoopbackServer.saying(LoopbackServer.answer("[1]")))
      const url = `${origin.replace("//", "//us%20er:pass@")}/v2/${key}/?q=1`
      const { send } = yield* clientOf({ url, headers: { "X-Key": "value", Authorization: "Bearer other" } })
      assert.deepStrictEqual(yield* send({ name: "whole", body: { a: 1 } }, readText), [1])
      assert.deepStrictEqual(yield* send({ name: "below", path: "wallet/get", body: [] }, readText), [1])
      const [whole = "", below = ""] = requests
      assert.match(whole, new RegExp(`^POST /v2/${key}/\\?q=1 HTTP`))
      assert.match(whole, /\r\nx-key: value\r\n/i)
      assert.match(whole, /\r\ncontent-type: application\/json\r\n/i)
      assert.deepStrictEqual(whole.match(/\r\nauthorization: .*/gi), [`\r\nauthorization: Basic ${btoa("us er:pass")}`])
      assert.isTrue(whole.endsWith('\r\n\r\n{"a":1}'))
      assert.match(below, new RegExp(`^POST /v2/${key}/wallet/get\\?q=1 HTTP`))
    })
  )

  it.effect("reads no more of a response than it may, and no JSON into something else", () =>
    Effect.gen(function* () {
      const outcomes: Array<string> = []
      for (const body of ["1".repeat(17), "{", ""]) {
        const { origin } = yield* LoopbackServer.make(LoopbackServer.saying(LoopbackServer.answer(body)))
        const { send } = yield* clientOf({ url: origin }, 16)
        outcomes.push((yield* Effect.flip(send({ name: "ask", body: {} }, readText))).message)
      }
      assert.deepStrictEqual(outcomes, [
        "The node of test:1, asked for ask, responded with more than 16 bytes",
        "The node of test:1, asked for ask, responded with something that is not JSON",
        "The node of test:1, asked for ask, responded with something that is not JSON"
      ])
      const noText = ChainNodeClient.readJson({ _tag: "Read", text: undefined })
      assert.deepStrictEqual(noText, Result.fail("responded with something that is not UTF-8"))
    })
  )

  it.effect("shows no secret of the URL or the headers, whoever repeats it", () =>
    Effect.gen(function* () {
      const { origin } = yield* LoopbackServer.make(LoopbackServer.saying(LoopbackServer.answer("[]")))
      const options = { url: `${origin}/${key}`, headers: { "x-api-key": "5ecret" } }
      const { quote, send } = yield* clientOf(options)
      assert.strictEqual(quote(`no ${key} with 5ecret`), "no <hidden> with <hidden>")
      const wrong = send({ name: "ask", body: {} }, () => Result.fail(`failed: ${key} 5ecret ${"x".repeat(9_999)}`))
      const { message } = yield* Effect.flip(wrong)
      assert.match(message, /failed: <hidden> <hidden> x+$/)
      assert.isBelow(message.length, 600)
    })
  )

  it.effect("shows no secret where the platform's error has the URL in it", () =>
    Effect.gen(function* () {
      const { send } = yield* clientOf({ url: `http://127.0.0.1:1/${key}`, fetch: failing })
      const error = yield* Effect.flip(send({ name: "ask", body: {} }, readText))
      assert.match(error.message, /could not be reached/)
      assert.instanceOf(error.cause, Error)
      assert.strictEqual(error.cause.name, "TypeError")
      assert.notInclude(JSON.stringify(error, Object.getOwnPropertyNames(error)) + String(error.cause), key)
      assert.match(String(error.cause), /<hidden>/)
    })
  )

  it.effect("waits for a response no longer than it may, 10 seconds unless told", () =>
    Effect.gen(function* () {
      for (const [timeout, words] of [
        [undefined, "10s"],
        ["3 seconds", "3s"]
      ] as const) {
        const client = clientOf(timeout === undefined ? {} : { timeout })
        const { send } = yield* Effect.provideService(client, HttpOrigin.HttpOrigins, never)
        const asked = yield* Effect.forkChild(Effect.flip(send({ name: "ask", body: {} }, readText)))
        yield* TestClock.adjust("10 seconds")
        const { message } = yield* Fiber.join(asked)
        assert.strictEqual(message, `The node of test:1, asked for ask, did not respond within ${words}`)
      }
    })
  )

  it.effect("tells the name of every request it sends, and tells it when it is sent", () =>
    Effect.gen(function* () {
      const { origin } = yield* LoopbackServer.make(LoopbackServer.saying(LoopbackServer.answer("[]")))
      const names: Array<string> = []
      const { send } = yield* clientOf({ url: origin, onRequest: (name) => void names.push(name) })
      const request = send({ name: "ask", body: {} }, readText)
      assert.deepStrictEqual(names, [])
      yield* request
      yield* request
      assert.deepStrictEqual(names, ["ask", "ask"])
    })
  )

  it.effect("is not made of a URL that is not one of HTTP, and does not show it", () =>
    Effect.gen(function* () {
      for (const url of ["", "secret", "ftp://secret/", "file:///secret", "ws://secret/"]) {
        const error = yield* Effect.flip(clientOf({ url }))
        assert.strictEqual(error._tag, "Misconfigured")
        assert.notInclude(error.message, "secret")
      }
    })
  )

  it.effect("takes credentials that are no Latin-1 and percent signs that encode nothing", () =>
    Effect.gen(function* () {
      const { origin, requests } = yield* LoopbackServer.make(LoopbackServer.saying(LoopbackServer.answer("[]")))
      const { send } = yield* clientOf({ url: origin.replace("//", "//\u20ac:100%@") })
      yield* send({ name: "ask", body: {} }, readText)
      const basic = Buffer.from("\u20ac:100%").toString("base64")
      assert.include(requests[0], `authorization: Basic ${basic}`)
    })
  )
})
