import { readFileSync } from "node:fs"

import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"

import { applied, fileOf } from "../../../src/attacks/SourceMutation.ts"
import { evmSourceMutations, search } from "../../../src/simulation/evm/EvmSourceMutations.ts"

describe("faults of the EVM scheme, brought back into its source", () => {
  for (const [name, { mutation }] of Object.entries(evmSourceMutations)) {
    it(`${name} still has its place`, () => {
      for (const one of mutation) {
        const source = readFileSync(fileOf(one.module), "utf8")
        assert.notStrictEqual(applied(source, one), source)
      }
    })
  }

  it.live("are found by the simulation, which finds nothing without them", () =>
    Effect.gen(function* () {
      const { broken, seeds } = yield* Effect.promise(() => search("status-is-proof", 1, 60))
      assert.isDefined(broken)
      const sound = yield* Effect.promise(() => search(undefined, 1, seeds))
      assert.isUndefined(sound.broken)
    })
  )
})
