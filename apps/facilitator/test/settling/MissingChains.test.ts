import { assert, describe, it } from "@effect/vitest"
import { type FacilitatorScheme, Network } from "@pontage/core"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"

import * as MissingChains from "../../src/settling/MissingChains.ts"
import { schemeWith } from "../TestFacilitator.ts"

/** A chain to whose node a connection is made like this. */
const chainOf = (network: string, connecting: (scheme: FacilitatorScheme) => FacilitatorScheme) => {
  const scheme = Effect.sync(() => schemeWith(Effect.succeed([]), { network: Network.make(network) }))
  return { scheme: "exact", network, node: "https://node.example", connect: connecting(scheme) }
}

const good = chainOf("eip155:1", (scheme) => scheme)

/** Starts a service on the good chain and this one; its times of service, and the seconds at which each began and ended. */
const times = Effect.fnUntraced(function* (other: typeof good) {
  const seen: Array<string> = []
  const note = (what: string) =>
    Effect.map(Clock.currentTimeMillis, (now) => void seen.push(`${what} at ${now / 1000}`))
  const serve = MissingChains.serve([good, other], ({ schemes }) => {
    const names = schemes.map(({ network }) => network).join(" and ")
    return Effect.acquireRelease(note(`begins with ${names}`), () => note("ends"))
  })
  const starting = yield* Effect.forkScoped(serve)
  yield* TestClock.adjust("5 seconds")
  yield* Fiber.await(starting)
  yield* Effect.repeat(TestClock.adjust("1 second"), { times: 300 })
  return seen
})

const begun = "begins with eip155:1 at 5"

describe("a missing chain", () => {
  it.effect("is taken in once if its node takes longer than a start allows, and the others are served meanwhile", () =>
    Effect.gen(function* () {
      const seen = yield* times(chainOf("eip155:2", Effect.delay(Duration.seconds(8))))
      assert.deepStrictEqual(seen, [begun, "ends at 21", "begins with eip155:1 and eip155:2 at 21"])
    })
  )

  it.effect("ends no service if its node takes longer than any attempt allows", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* times(chainOf("eip155:2", Effect.delay(Duration.seconds(21)))), [begun])
    })
  )

  it.effect("ends no service if its node responds to one connection and not to the next", () =>
    Effect.gen(function* () {
      let count = 0
      const everySecond = (scheme: FacilitatorScheme) =>
        Effect.suspend(() => (count++ % 2 === 0 ? Effect.never : scheme))
      assert.deepStrictEqual(yield* times(chainOf("eip155:2", everySecond)), [begun])
      assert.isAbove(count, 10)
    })
  )
})
