import { copyFileSync, existsSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs"

import { assert, describe, it } from "@effect/vitest"
import { type PaymentStore, Signals } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import * as SqlClient from "effect/sql/SqlClient"

import * as GroupCommit from "../../src/database/GroupCommit.ts"
import * as SqlDialect from "../../src/database/SqlDialect.ts"
import * as SchemaUpgrade from "../../src/schema/SchemaUpgrade.ts"
import { SqlitePaymentStore } from "../../src/sqlite.ts"
import * as RecordImage from "../../src/sqlite/RecordImage.ts"
import * as SqliteFile from "../../src/sqlite/SqliteFile.ts"
import * as SqlPaymentStore from "../../src/SqlPaymentStore.ts"
import * as DatabaseFile from "../DatabaseFile.ts"
import * as TrialPayments from "../TrialPayments.ts"

type Store = PaymentStore.PaymentStore["Service"]

/** A store on a file, with a connection for the test. */
const opened = Effect.fnUntraced(function* (onStatement: (text: string, filename: string) => void = () => {}) {
  const filename = yield* DatabaseFile.filename
  const file = yield* SqliteFile.open({ filename, onStatement: (text) => onStatement(text, filename) })
  yield* Effect.provideServiceEffect(
    SchemaUpgrade.upgrade(SqlDialect.sqlite),
    SqlClient.SqlClient,
    SqliteFile.toClient(file)
  )
  const signals = Signals.make()
  const transactions = yield* GroupCommit.make(file, signals, RecordImage.make())
  const store = SqlPaymentStore.make({ dialect: SqlDialect.sqlite, ...transactions }, signals)
  return { file, filename, say: (text: string) => file.connection.execute(text, [], undefined), store }
})

const claim = (store: Store, name: string) => store.claim(TrialPayments.payment(name), undefined)

/** The equal result of a claim and of the probe. */
const troubleOf = Effect.fnUntraced(function* (store: Store) {
  const claimed = yield* Effect.flip(claim(store, "in-trouble"))
  const probed = yield* Effect.flip(store.probe)
  assert.strictEqual(claimed._tag, "FacilitatorUnavailable")
  assert.strictEqual(probed.message, claimed.message)
  return claimed.message
})

const countOf = (store: Store) => Effect.map(store.page(0n, 100), (page) => page.length)

describe("a file that is in its place no more:", () => {
  const ways: Readonly<Record<string, readonly [(filename: string) => void, string]>> = {
    "moved away": [(name) => renameSync(name, `${name}.old`), "was deleted or moved away"],
    "replaced by a copy of itself": [
      (name) => {
        copyFileSync(name, `${name}.copy`)
        renameSync(`${name}.copy`, name)
      },
      "was replaced by another"
    ],
    "without its log": [(name) => unlinkSync(`${name}-wal`), "the log of the records' file was deleted"],
    "with another log": [
      (name) => {
        unlinkSync(`${name}-wal`)
        writeFileSync(`${name}-wal`, "")
      },
      "the log of the records' file was replaced"
    ]
  }
  for (const [name, [displace, words]] of Object.entries(ways)) {
    it.effect(`${name}, it takes no payment, and says why in its answers and in the log`, () => {
      const said: Array<string> = []
      const logger = Logger.make(({ message }) => said.push(String(message)))
      return Effect.gen(function* () {
        const { filename, store } = yield* opened()
        yield* claim(store, "before")
        yield* store.probe
        displace(filename)
        const message = yield* troubleOf(store)
        assert.include(message, words)
        assert.include(message, "put the same file back in its place")
        assert.strictEqual((yield* Effect.flip(claim(store, "again")))._tag, "FacilitatorUnavailable")
        assert.lengthOf(
          said.filter((one) => one.includes(words)),
          1
        )
        // Records can still be read.
        assert.strictEqual(yield* countOf(store), 1)
        assert.strictEqual((yield* store.find("pay_before"))?.status, "accepted")
      }).pipe(Effect.provide(Logger.layer([logger])))
    })
  }

  it.effect("behind a link, it sees that the link leads elsewhere, and that its log is gone", () =>
    Effect.gen(function* () {
      const target = yield* DatabaseFile.filename
      const link = `${target}.link`
      for (const displace of [
        () => {
          unlinkSync(link)
          symlinkSync(`${target}.other`, link)
        },
        () => unlinkSync(`${target}-wal`)
      ]) {
        yield* Effect.scoped(
          Effect.gen(function* () {
            rmSync(link, { force: true })
            symlinkSync(target, link)
            const store = yield* SqlitePaymentStore.make({ filename: link })
            yield* store.probe
            displace()
            assert.include((yield* Effect.flip(store.probe)).message, "was deleted or moved away")
          })
        )
      }
    })
  )

  it.effect("goes on when the same file is back", () =>
    Effect.gen(function* () {
      const { filename, store } = yield* opened()
      yield* claim(store, "before")
      renameSync(filename, `${filename}.old`)
      yield* troubleOf(store)
      renameSync(`${filename}.old`, filename)
      yield* store.probe
      yield* claim(store, "after")
      assert.strictEqual(yield* countOf(store), 2)
    })
  )

  it.effect("deleted right before the commit, it answers no caller that a payment is kept", () =>
    Effect.gen(function* () {
      let armed = false
      const { filename, store } = yield* opened((text, name) => {
        if (armed && text === "COMMIT") rmSync(name)
      })
      armed = true
      const error = yield* Effect.flip(claim(store, "late"))
      assert.include(error.message, "was deleted or moved away")
      assert.isFalse(existsSync(filename))
    })
  )
})

describe("a file in trouble is told by its cause and its mend, and works again afterwards:", () => {
  it.effect("a full disk", () =>
    Effect.gen(function* () {
      const { say, store } = yield* opened()
      yield* store.probe
      yield* claim(store, "before")
      yield* say("PRAGMA max_page_count = 1")
      const filling = Effect.forEach(Array.from({ length: 200 }), (_, index) => claim(store, `filling-${index}`), {
        discard: true
      })
      const words = "the disk is full: make room on the disk of the database (13)"
      assert.include((yield* Effect.flip(filling)).message, words)
      // The probe rewrites its own place and needs no new one; with the payments' pages gone it fails as they do.
      assert.include((yield* Effect.flip(claim(store, "full"))).message, words)
      yield* say("PRAGMA max_page_count = 1000000")
      yield* store.probe
      yield* claim(store, "after")
    })
  )

  it.effect("a read-only database", () =>
    Effect.gen(function* () {
      const { say, store } = yield* opened()
      yield* say("PRAGMA query_only = ON")
      assert.include(
        yield* troubleOf(store),
        "the database is read-only: let this process write the file and its folder"
      )
      yield* say("PRAGMA query_only = OFF")
      yield* store.probe
      yield* claim(store, "after")
    })
  )

  it.effect("tables that are gone", () =>
    Effect.gen(function* () {
      const { say, store } = yield* opened()
      yield* say("DROP TABLE probe")
      assert.include((yield* Effect.flip(store.probe)).message, "the tables of the records are not there")
    })
  )
})
