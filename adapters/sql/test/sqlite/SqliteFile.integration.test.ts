import { spawnSync } from "node:child_process"
import { writeFileSync } from "node:fs"
import { dirname, join } from "node:path"

import { assert, describe, it } from "@effect/vitest"
import { PaymentStore } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"

import { SqlitePaymentStore } from "../../src/sqlite.ts"
import * as ChildProcess from "../ChildProcess.ts"
import * as DatabaseFile from "../DatabaseFile.ts"
import * as TrialPayments from "../TrialPayments.ts"

const opened = (filename: string) => SqlitePaymentStore.make({ filename })
const refusal = (filename: string) => Effect.map(Effect.flip(Effect.scoped(opened(filename))), (error) => error.message)

describe("a file", () => {
  it.effect("keeps what was written, and its tables, when it is opened again", () =>
    Effect.gen(function* () {
      const filename = yield* DatabaseFile.filename
      const payment = TrialPayments.payment("kept")
      yield* Effect.scoped(Effect.flatMap(opened(filename), (store) => store.claim(payment, undefined)))
      const found = yield* Effect.scoped(Effect.flatMap(opened(filename), (store) => store.find(payment.paymentId)))
      assert.deepStrictEqual(found?.authorization, payment.authorization)
    })
  )

  it.effect("is refused to a second store of this process", () =>
    Effect.gen(function* () {
      const filename = yield* DatabaseFile.filename
      yield* opened(filename)
      assert.include(yield* refusal(filename), "is in use by another process")
    })
  )

  it.live("is refused to another process, and free the moment its owner was killed; what was answered is there", () =>
    Effect.gen(function* () {
      const filename = yield* DatabaseFile.filename
      for (const round of ["a", "b", "c"]) {
        const owner = yield* ChildProcess.run("SqliteClaimant.ts", filename, round)
        yield* owner.line(`answered pay_${round}-3-0`)
        const message = yield* refusal(filename)
        assert.include(message, filename)
        assert.include(message, "stop that one first, or use PostgreSQL")
        yield* owner.signal("SIGKILL")
        yield* owner.exited
        const answered = owner.lines.filter((line) => line.startsWith("answered "))
        assert.isAtLeast(answered.length, 15)
        yield* Effect.scoped(
          Effect.gen(function* () {
            const store = yield* opened(filename)
            for (const line of answered) {
              const id = line.slice("answered ".length)
              assert.strictEqual((yield* store.find(id))?.status, "accepted", id)
            }
          })
        )
      }
    })
  )

  it.live("is refused to a process that comes second", () =>
    Effect.gen(function* () {
      const filename = yield* DatabaseFile.filename
      yield* opened(filename)
      const second = yield* ChildProcess.run("SqliteClaimant.ts", filename, "second")
      assert.include(yield* second.line("Misconfigured"), "is in use by another process")
      yield* second.exited
    })
  )

  it.effect("is free when its scope closes", () =>
    Effect.gen(function* () {
      const filename = yield* DatabaseFile.filename
      const scope = yield* Scope.make()
      const store = yield* Scope.provide(opened(filename), scope)
      yield* Scope.close(scope, Exit.void)
      assert.include((yield* Effect.flip(store.find("pay_x"))).message, "this process is stopping")
      yield* opened(filename)
    })
  )

  it.effect("has to be a database, in a folder, on a disk", () =>
    Effect.gen(function* () {
      const filename = yield* DatabaseFile.filename
      writeFileSync(filename, "these are not the records of a facilitator, nor of anybody else".repeat(20))
      assert.include(yield* refusal(filename), "is not a SQLite database")
      assert.include(yield* refusal(join(dirname(filename), "nowhere", "records.db")), "create its folder")
      assert.include(yield* refusal(":memory:"), "must be a file on a local disk")
    })
  )

  it.effect("is refused in words by a Node that has no SQLite, as older ones have none", () =>
    Effect.gen(function* () {
      const filename = yield* DatabaseFile.filename
      const program = join(import.meta.dirname, "../SqliteClaimant.ts")
      const flags = ["--conditions=@pontage/source", "--no-warnings", "--no-experimental-sqlite"]
      const { status, stdout } = spawnSync(process.execPath, [...flags, program, filename])
      assert.match(String(stdout), /^Misconfigured: .* need the SQLite of Node 22\.16 or newer, and this is Node \d+/)
      assert.strictEqual(status, 0)
    })
  )

  it.effect("that cannot be read is said to be so, and does not break the process", () =>
    Effect.gen(function* () {
      const filename = yield* DatabaseFile.filename
      const payment = TrialPayments.payment("spoilt")
      yield* Effect.scoped(Effect.flatMap(opened(filename), (store) => store.claim(payment, undefined)))
      const { status } = spawnSync(process.execPath, [
        "--no-warnings",
        "--eval",
        `new (require("node:sqlite").DatabaseSync)(${JSON.stringify(filename)}).exec("UPDATE payment SET status = 'gone'")`
      ])
      assert.strictEqual(status, 0)
      const store = yield* opened(filename)
      const error = yield* Effect.flip(store.find(payment.paymentId))
      assert.strictEqual(error._tag, "FacilitatorUnavailable")
      assert.include(error.message, "a row of the table payment cannot be read")
    })
  )
})

describe("the layer", () => {
  it.effect("fails with Misconfigured and not later", () =>
    Effect.gen(function* () {
      const filename = join(yield* DatabaseFile.filename, "is-no-folder", "records.db")
      const build = Effect.provide(Effect.asVoid(PaymentStore.PaymentStore), SqlitePaymentStore.layer({ filename }))
      assert.strictEqual((yield* Effect.flip(build))._tag, "Misconfigured")
    })
  )
})
