import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"

import { JsonRpcRelay } from "../../src/testing/index.ts"

const post = (url: string, body: unknown) =>
  Effect.promise(() =>
    fetch(url, { method: "POST", body: typeof body === "string" ? body : JSON.stringify(body) }).then(
      async (response) => ({
        status: response.status,
        text: await response.text(),
        after: response.headers.get("retry-after")
      }),
      () => "broken"
    )
  )

/** Answers with the method's name, or refuses. */
const echo = JsonRpcRelay.each(({ method, params }) =>
  Promise.resolve(method === "no" ? { error: { code: 1, message: "no" } } : { result: [method, ...params] })
)

describe("a relay before a node", () => {
  it.effect("answers one request and several in one message, each under its own id", () =>
    Effect.gen(function* () {
      const { url } = yield* JsonRpcRelay.make(echo)
      const one = yield* post(url, { jsonrpc: "2.0", id: 7, method: "a", params: [1] })
      assert.deepInclude(one, { status: 200, text: '{"jsonrpc":"2.0","id":7,"result":["a",1]}' })
      const many = yield* post(url, [
        { id: "x", method: "no" },
        { id: 2, method: "b" }
      ])
      const error = '{"jsonrpc":"2.0","id":"x","error":{"code":1,"message":"no"}}'
      assert.deepInclude(many, { text: `[${error},{"jsonrpc":"2.0","id":2,"result":["b"]}]` })
    })
  )

  it.effect("passes a request on to a node and gives its response or its refusal back", () =>
    Effect.gen(function* () {
      const node = yield* JsonRpcRelay.make(echo)
      const { url } = yield* JsonRpcRelay.make(JsonRpcRelay.each(JsonRpcRelay.passTo(node.url)))
      assert.deepInclude(yield* post(url, { id: 1, method: "a" }), { text: '{"jsonrpc":"2.0","id":1,"result":["a"]}' })
      const refused = yield* post(url, { id: 1, method: "no" })
      assert.deepInclude(refused, { text: '{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"no"}}' })
    })
  )

  it.effect(
    "responds by a status alone, and breaks the connection on request, on failure, or on an invalid request",
    () =>
      Effect.gen(function* () {
        const { url } = yield* JsonRpcRelay.make(async ([request]) => {
          if (request?.method === "throw") throw new Error("gone")
          if (request?.method === "break") return { _tag: "Broken" }
          return { _tag: "Http", status: 429, headers: { "retry-after": "1" }, body: "later" }
        })
        assert.deepStrictEqual(yield* post(url, { id: 1, method: "a" }), { status: 429, text: "later", after: "1" })
        for (const body of [{ id: 1, method: "throw" }, { id: 1, method: "break" }, "nonsense", { id: 1 }])
          assert.strictEqual(yield* post(url, body), "broken")
      })
  )
})
