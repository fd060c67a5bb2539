import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"

import * as FacilitatorExchange from "../../../src/facilitator/remote/FacilitatorExchange.ts"
import { FacilitatorUnavailable } from "../../../src/protocol/ProtocolError.ts"
import * as LoopbackServer from "../../wire/LoopbackServer.ts"

const failing = Effect.fnUntraced(function* (url: string, options: Partial<FacilitatorExchange.Options> = {}) {
  const exchange = Result.getOrThrow(FacilitatorExchange.make({ url, ...options }))
  return yield* Effect.flip(exchange.call({ method: "POST", path: "/settle", body: {} }))
})

const refusingUrl = Effect.map(
  Effect.scoped(LoopbackServer.make(() => undefined)),
  ({ port }) => `http://localhost:${port}`
)

const ways = [
  ["the platform's client", undefined],
  ["a fetch", globalThis.fetch]
] as const

describe.each(ways)("a call over %s", (_, fetch) => {
  const options = fetch === undefined ? {} : { fetch }

  it.effect("has certainly reached nobody where no connection was made", () =>
    Effect.gen(function* () {
      const refused = yield* failing(yield* refusingUrl, options)
      assert.include(refused.message, "ECONNREFUSED")
      assert.isTrue(FacilitatorExchange.isUnsent(refused))
      assert.isTrue(FacilitatorExchange.isUnsent(yield* failing("https://nowhere.invalid", options)))
    })
  )

  it.effect("may have been heard where the connection broke afterwards, also one that was kept", () =>
    Effect.gen(function* () {
      const answer = LoopbackServer.answer("{}")
      const server = yield* LoopbackServer.make((socket, nth) =>
        nth === 1 ? void socket.write(answer) : socket.resetAndDestroy()
      )
      assert.isFalse(FacilitatorExchange.isUnsent(yield* failing(server.origin, options)))
      const exchange = Result.getOrThrow(FacilitatorExchange.make({ url: server.origin, ...options }))
      const call = { method: "POST", path: "/settle", body: {} } as const
      yield* exchange.call(call)
      assert.isFalse(FacilitatorExchange.isUnsent(yield* Effect.flip(exchange.call(call))))
      assert.strictEqual(server.requests.length, 3)
    })
  )

  it.effect("has certainly reached nobody where its headers could not be had", () =>
    Effect.gen(function* () {
      for (const headers of [() => Promise.reject(new Error("secret")), () => Promise.resolve({ a: "secret\n\nb" })]) {
        const failure = yield* failing("http://localhost:1", { ...options, headers })
        assert.include(failure.message, "got no request")
        assert.notInclude(`${failure.message} ${JSON.stringify(failure.cause)}`, "secret")
        assert.isTrue(FacilitatorExchange.isUnsent(failure))
      }
    })
  )
})

const failed = (...errors: ReadonlyArray<object>) =>
  new FacilitatorUnavailable({
    message: "",
    cause: new AggregateError(errors.map((error) => Object.assign(new Error(""), error)))
  })

describe("a failure of several addresses", () => {
  const timedOut = { code: "ETIMEDOUT", syscall: "connect" }

  it("is one before sending when it is that at each", () => {
    assert.isTrue(FacilitatorExchange.isUnsent(failed(timedOut, { code: "ECONNREFUSED", syscall: "connect" })))
    assert.isFalse(FacilitatorExchange.isUnsent(failed(timedOut, { code: "ETIMEDOUT", syscall: "read" })))
    assert.isFalse(FacilitatorExchange.isUnsent(failed()))
  })
})
