import { assert, describe, it } from "@effect/vitest"
import { Misconfigured } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"

import * as BestCrypto from "../../src/crypto/BestCrypto.ts"
import * as CryptoSelfTest from "../../src/crypto/CryptoSelfTest.ts"
import * as EvmCrypto from "../../src/crypto/EvmCrypto.ts"
import * as NativeCrypto from "../../src/crypto/NativeCrypto.ts"
import * as WasmCrypto from "../../src/crypto/WasmCrypto.ts"
import * as CryptoTable from "../CryptoTable.ts"

const named = (name: string) => Effect.succeed({ ...EvmCrypto.javaScript, name })
const missing = (message: string) => Effect.fail(new Misconfigured({ message }))

const logged = Effect.fnUntraced(function* <A, E>(effect: Effect.Effect<A, E>) {
  const lines: Array<string> = []
  const logger = Logger.make(({ message }) => void lines.push(String(message)))
  const value = yield* Effect.provide(effect, Logger.layer([logger]))
  return { lines, value }
})

describe("BestCrypto", () => {
  it.effect("takes the first that is there, and says which", () =>
    Effect.gen(function* () {
      const { lines, value } = yield* logged(BestCrypto.choose([named("A"), missing("B is missing"), named("C")]))
      assert.strictEqual(value.name, "A")
      assert.deepStrictEqual(lines, ["EVM signatures use cryptography by A"])
    })
  )

  it.effect("goes on where one is missing or wrong, and says why", () =>
    Effect.gen(function* () {
      const broken = CryptoSelfTest.verify({ ...EvmCrypto.javaScript, name: "B", recoverPublicKey: () => undefined })
      const { lines, value } = yield* logged(BestCrypto.choose([missing("A is missing"), broken, named("C")]))
      assert.strictEqual(value.name, "C")
      assert.deepStrictEqual(lines, [
        "falling back to slower cryptography: A is missing",
        "falling back to slower cryptography: the self-test of the cryptography by B failed: it does not recover",
        "EVM signatures use cryptography by C"
      ])
    })
  )

  it.effect("fails where none is right", () =>
    Effect.gen(function* () {
      const { value } = yield* logged(
        Effect.flip(BestCrypto.choose([missing("A is missing"), missing("B is missing")]))
      )
      assert.strictEqual(value.message, "B is missing")
    })
  )

  it.effect("is the addon on this machine where there is one, and else WebAssembly", () =>
    Effect.gen(function* () {
      const { value } = yield* logged(Effect.provide(EvmCrypto.EvmCrypto, BestCrypto.layer))
      const expected = CryptoTable.nativeIsExpected ? yield* NativeCrypto.make : WasmCrypto.wasm
      assert.strictEqual(value.name, expected.name)
    })
  )

  it.effect("gives each by name too", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* Effect.provide(EvmCrypto.EvmCrypto, WasmCrypto.layer), WasmCrypto.wasm)
      const native = yield* Effect.option(Effect.provide(EvmCrypto.EvmCrypto, NativeCrypto.layer))
      assert.strictEqual(native._tag, CryptoTable.nativeIsExpected ? "Some" : "None")
    })
  )
})
