import { createServer } from "node:net"

import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"

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
