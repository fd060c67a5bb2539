import { createServer } from "node:http"

import { assert, describe, it } from "@effect/vitest"
import { listen } from "@pontage/devnet/LoopbackServer"
import * as Effect from "effect/Effect"
import { generatePrivateKey } from "viem/accounts"

import * as BuyerCrowd from "../../src/buyers/BuyerCrowd.ts"

const crowdAt = (url: string) =>
  BuyerCrowd.start({
    buyer: "ours",
    keys: [generatePrivateKey(), generatePrivateKey()],
    rpcUrl: "http://127.0.0.1:1",
    url
  })

const bought = (url: string, buyers: number) =>
  Effect.promise(async (): Promise<BuyerCrowd.Seen> => {
    const response = await fetch(`${url}/?buyers=${buyers}&millis=50`)
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the same program wrote the value with this type
    return (await response.json()) as BuyerCrowd.Seen
  })

describe("a crowd of buyers", () => {
  it.live("tells every response, how long it took, and how many requests it was", () =>
    Effect.scoped(
      Effect.gen(function* () {
        let asked = 0
        const shop = createServer((_request, response) => {
          response.statusCode = ++asked % 2 === 0 ? 200 : 500
          response.end()
        })
        const crowd = yield* crowdAt(yield* listen(shop))
        const { answers, millis, requests } = yield* bought(crowd.url, 2)
        assert.isAtLeast(millis.length, 2)
        assert.strictEqual(requests, millis.length)
        assert.strictEqual((answers["200"] ?? 0) + (answers["500"] ?? 0), millis.length)
        assert.isAtMost(Math.abs((answers["200"] ?? 0) - (answers["500"] ?? 0)), 1)
        assert.strictEqual(requests, asked)
      })
    )
  )

  it.live("names the error where there is no response, and counts anew each time", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const gone = yield* Effect.scoped(listen(createServer()))
        const crowd = yield* crowdAt(gone)
        for (const buyers of [1, 2]) {
          const { answers, millis } = yield* bought(crowd.url, buyers)
          assert.isAtLeast(millis.length, buyers)
          const [[name, count] = ["none", 0], ...others] = Object.entries(answers)
          assert.isEmpty(others)
          assert.notStrictEqual(name, "200")
          assert.strictEqual(count, millis.length)
        }
      })
    )
  )
})
