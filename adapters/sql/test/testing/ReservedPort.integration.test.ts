import { createServer, type Server } from "node:net"

import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"

import { ReservedPort } from "../../src/testing/index.ts"

/** The same draws for all: the second caller finds the first one's port. */
const sameLuck = Random.withSeed("a test")
const reserve = sameLuck(ReservedPort.make)

const listening = (port: number) =>
  Effect.acquireRelease(
    Effect.callback<Server>((resume) => {
      const server = createServer()
      server.listen(port, "127.0.0.1", () => resume(Effect.succeed(server)))
    }),
    (server) => Effect.callback<void>((resume) => void server.close(() => resume(Effect.void)))
  )

describe("a reserved port", () => {
  it.effect("is given to one caller alone, though no server listens on it", () =>
    Effect.gen(function* () {
      const ports = yield* Effect.forEach(Array.from({ length: 40 }), () => reserve, { concurrency: "unbounded" })
      assert.strictEqual(new Set(ports).size, 40)
    })
  )

  it.effect("is given again when its scope is over", () =>
    Effect.gen(function* () {
      const before = yield* Effect.scoped(reserve)
      assert.strictEqual(yield* Effect.scoped(reserve), before)
    })
  )

  it.effect("is not one with a listening server", () =>
    Effect.gen(function* () {
      const taken = yield* Effect.scoped(reserve)
      yield* listening(taken)
      assert.notStrictEqual(yield* reserve, taken)
    })
  )

  it.effect("is none of those that a system gives out by itself", () =>
    Effect.gen(function* () {
      const ports = yield* Effect.forEach(Array.from({ length: 40 }), () => ReservedPort.make)
      assert.isTrue(ports.every((port) => port > 1_024 && port < 32_768))
    })
  )
})
