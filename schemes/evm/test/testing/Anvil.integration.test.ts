import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"

import { Anvil } from "../../src/testing/index.ts"

const ask = (rpcUrl: string, method: string, params: ReadonlyArray<unknown> = []) =>
  Effect.promise(async () => {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params })
    const response = await fetch(rpcUrl, { method: "POST", headers: { "content-type": "application/json" }, body })
    const answer: { readonly result: unknown } = await response.json()
    return answer.result
  })

describe("Anvil", () => {
  it.effect("responds with the chain id it was given, and is gone with its scope", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const { rpcUrl } = yield* Scope.provide(Anvil.make({ chainId: 4217 }), scope)
      assert.strictEqual(yield* ask(rpcUrl, "eth_chainId"), "0x1079")
      yield* Scope.close(scope, Exit.void)
      assert.strictEqual((yield* Effect.exit(ask(rpcUrl, "eth_chainId")))._tag, "Failure")
    })
  )

  it.effect("starts several at once, each on a port of its own", () =>
    Effect.gen(function* () {
      const nodes = yield* Effect.all([Anvil.make(), Anvil.make(), Anvil.make()], { concurrency: "unbounded" })
      assert.strictEqual(new Set(nodes.map((node) => node.rpcUrl)).size, 3)
    })
  )

  it.effect("keeps no old states and computes no roots where it is not to age, and without a word both", () =>
    Effect.gen(function* () {
      const seen = Effect.fnUntraced(function* (rpcUrl: string) {
        yield* ask(rpcUrl, "anvil_mine", ["0x14"])
        const balanceAtFirst = yield* ask(rpcUrl, "eth_getBalance", [
          "0x0000000000000000000000000000000000000001",
          "0x1"
        ])
        const { stateRoot } = Object(yield* ask(rpcUrl, "eth_getBlockByNumber", ["latest", false]))
        return { balanceAtFirst, hasRoot: BigInt(stateRoot) !== 0n }
      })
      const { rpcUrl: ageless } = yield* Anvil.make({ ageless: true, blockTime: 60 })
      assert.deepStrictEqual(yield* seen(ageless), { balanceAtFirst: undefined, hasRoot: false })
      const { rpcUrl: usual } = yield* Anvil.make()
      assert.deepStrictEqual(yield* seen(usual), { balanceAtFirst: "0x0", hasRoot: true })
    })
  )

  it.effect("says why when the port is taken", () =>
    Effect.gen(function* () {
      const { rpcUrl } = yield* Anvil.make()
      const error = yield* Effect.flip(Anvil.make({ port: Number(new URL(rpcUrl).port) }))
      assert.strictEqual(error._tag, "AnvilFailed")
      assert.match(error.message, /Address already in use|ended with code/)
    })
  )
})
