import { createServer } from "node:net"

import { assert, describe, it } from "@effect/vitest"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"

import * as UsablePorts from "../src/UsablePorts.ts"

const listening = Effect.acquireRelease(
  Effect.callback<ReturnType<typeof createServer>>((resume) => {
    const server = createServer()
    server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
  }),
  (server) => Effect.sync(() => server.close())
)

describe("UsablePorts", () => {
  it.live("tells a taken port, and takes a free one for it", () =>
    Effect.gen(function* () {
      const address = (yield* listening).address()
      const port = address !== null && typeof address === "object" ? address.port : assert.fail("no port")
      assert.isTrue(yield* UsablePorts.isTaken(port))
      const free = yield* UsablePorts.orFree(port)
      assert.notStrictEqual(free, port)
      assert.isFalse(yield* UsablePorts.isTaken(free))
      assert.strictEqual(yield* UsablePorts.orFree(free), free)
      assert.strictEqual(yield* UsablePorts.orFree(0), 0)
    }).pipe(Effect.scoped)
  )
})

const read = (PORT: string | undefined) =>
  Effect.result(
    UsablePorts.fromEnvironment("PORT", 8545).parse(ConfigProvider.fromUnknown(PORT === undefined ? {} : { PORT }))
  )

describe("a port of the environment", () => {
  it.effect("is any where it is 0, and the usual one where it is not set", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* read("0"), Result.succeed(0))
      assert.deepStrictEqual(yield* read("65535"), Result.succeed(65_535))
      assert.deepStrictEqual(yield* read(undefined), Result.succeed(8545))
    })
  )

  it.effect("is refused where it is none", () =>
    Effect.gen(function* () {
      for (const text of ["-1", "65536", "1.5", "a", "0x10"]) assert.isTrue(Result.isFailure(yield* read(text)), text)
    })
  )
})
