import { assert, describe, it } from "@effect/vitest"
import type { ResponseStore } from "@pontage/core"
import { ResponseStoreLaws } from "@pontage/core/testing"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/testing/TestClock"

import { SqliteResponseStore } from "../src/sqlite.ts"
import * as DatabaseFile from "./DatabaseFile.ts"

const layer = Layer.unwrap(Effect.map(DatabaseFile.filename, (filename) => SqliteResponseStore.layer({ filename })))

const inFile = <A, E>(filename: string, use: (store: ResponseStore["Service"]) => Effect.Effect<A, E>) =>
  Effect.scoped(Effect.flatMap(SqliteResponseStore.make({ filename }), use))

describe("the laws of a store of kept responses, in a file", () => {
  for (const { effect, name } of ResponseStoreLaws.all) it.effect(name, () => Effect.provide(effect, layer))

  it.effect("keeps the responses of a process that has ended, until their time is over", () =>
    Effect.gen(function* () {
      const filename = yield* DatabaseFile.filename
      yield* inFile(filename, (store) => store.keep("name", "text", 60_000))
      assert.strictEqual(yield* inFile(filename, (store) => store.find("name")), "text")
      yield* TestClock.adjust("60 seconds")
      assert.isUndefined(yield* inFile(filename, (store) => store.find("name")))
    })
  )

  it.effect("deletes the responses whose time is over, when others are kept", () =>
    Effect.gen(function* () {
      const filename = yield* DatabaseFile.filename
      const statements: Array<string> = []
      const store = yield* SqliteResponseStore.make({ filename, onStatement: (text) => statements.push(text) })
      const deleted = () =>
        statements.filter((text) => text.startsWith("DELETE FROM kept_response WHERE name IN")).length
      yield* TestClock.adjust("10 seconds")
      yield* store.keep("one", "text", 60_000)
      yield* store.keep("two", "text", 60_000)
      assert.strictEqual(deleted(), 1)
      yield* TestClock.adjust("1 second")
      yield* store.keep("three", "text", 60_000)
      assert.strictEqual(deleted(), 2)
    })
  )
})
