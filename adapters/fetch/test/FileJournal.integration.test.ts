import { spawnSync } from "node:child_process"
import { appendFile, copyFile, mkdtemp, readFile, rm, stat, truncate, writeFile } from "node:fs/promises"
import { hostname, tmpdir } from "node:os"
import { join } from "node:path"

import { assert, describe, it } from "@effect/vitest"
import { PaymentJournal } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/testing/TestClock"

import { fileJournal, layerFile } from "../src/node.ts"
import { allowed, entryOf } from "./JournalEntries.ts"
import * as PaidShop from "./PaidShop.ts"
import * as TestPayer from "./TestPayer.ts"

/** A folder that is gone afterwards. */
const folder = async () => {
  const path = await mkdtemp(join(tmpdir(), "journal-"))
  return { path: join(path, "payments.jsonl"), [Symbol.asyncDispose]: () => rm(path, { recursive: true }) }
}

const young = () => ({ at: Number.MAX_SAFE_INTEGER, validBefore: Number.MAX_SAFE_INTEGER })

const opened = async (path: string) => {
  const { close, journal } = await fileJournal(path)
  return { journal, [Symbol.asyncDispose]: close }
}

const spentOf = ({ spent }: PaymentJournal.PaymentJournal["Service"]) =>
  Effect.runPromise(Effect.map(spent, (spent) => spent("$").digits))

describe("fileJournal", () => {
  it("knows after a start what it knew before", async () => {
    await using place = await folder()
    {
      await using first = await opened(place.path)
      await Effect.runPromise(first.journal.write(entryOf(young())))
      await Effect.runPromise(
        first.journal.write(entryOf({ ...young(), id: "two", state: "settled", request: "other" }))
      )
    }
    await using second = await opened(place.path)
    assert.strictEqual(await spentOf(second.journal), 20n)
    assert.deepStrictEqual(await Effect.runPromise(second.journal.adopt("request")), entryOf(young()))
    assert.isUndefined(await Effect.runPromise(second.journal.adopt("other")))
  })

  it("has what was signed on the disk before it is sent, so that a crash pays once", async () => {
    await using place = await folder()
    const crashed = `${place.path}.crashed`
    let isDown = true
    await using shop = await PaidShop.open(
      PaidShop.paidWith((response, arrival) => {
        if (!isDown) return PaidShop.serve(response, arrival)
        // What is in the file at this moment is what a crash would leave.
        void copyFile(place.path, crashed).then(() => response.destroy())
      })
    )
    {
      await using first = await opened(place.path)
      await TestPayer.rejection(TestPayer.make({ journal: first.journal }).fetch(shop.origin))
    }
    isDown = false
    await using second = await opened(crashed)
    const { fetch, signed } = TestPayer.make({ journal: second.journal })
    assert.strictEqual((await fetch(shop.origin)).status, 200)
    assert.strictEqual(signed.length, 0, "nothing is signed after the crash")
    assert.strictEqual(new Set(shop.paid().map(({ payment }) => payment)).size, 1)
  })

  it("forgets a reservation that was never sent", async () => {
    await using place = await folder()
    {
      await using first = await opened(place.path)
      await Effect.runPromise(first.journal.reserve(entryOf({ ...young(), state: "reserved" }), allowed))
      assert.strictEqual(await spentOf(first.journal), 10n)
    }
    await using second = await opened(place.path)
    assert.strictEqual(await spentOf(second.journal), 0n)
  })

  it("takes a last line that a crash has broken off for unwritten, and goes on behind the one before", async () => {
    await using place = await folder()
    {
      await using first = await opened(place.path)
      await Effect.runPromise(first.journal.write(entryOf(young())))
      await Effect.runPromise(first.journal.write(entryOf({ ...young(), id: "two" })))
    }
    await truncate(place.path, (await stat(place.path)).size - 10)
    {
      await using second = await opened(place.path)
      assert.strictEqual(await spentOf(second.journal), 10n)
      await Effect.runPromise(second.journal.write(entryOf({ ...young(), id: "three" })))
    }
    await using third = await opened(place.path)
    assert.strictEqual(await spentOf(third.journal), 20n)
  })

  it("cuts off what a failed attempt has left behind", async () => {
    await using place = await folder()
    {
      await using first = await opened(place.path)
      await Effect.runPromise(first.journal.write(entryOf(young())))
      await appendFile(place.path, '{"id":"half')
      await Effect.runPromise(first.journal.write(entryOf({ ...young(), id: "two" })))
    }
    await using second = await opened(place.path)
    assert.strictEqual(await spentOf(second.journal), 20n)
  })

  it.each(["garbage\n", '{"id":"one"}\n', "\n"])("is closed when a line inside is damaged: %j", async (line) => {
    await using place = await folder()
    await writeFile(place.path, line + `${JSON.stringify(entryOf(young()))}\n`)
    const error = await TestPayer.rejection(fileJournal(place.path))
    assert.include(error, { _tag: "JournalUnavailable" })
    assert.include(error.message, "line 1")
    await writeFile(place.path, "")
    await using after = await opened(place.path)
    assert.strictEqual(await spentOf(after.journal), 0n, "the lock was given back")
  })

  it("is written anew without what no longer matters when it is opened", async () => {
    await using place = await folder()
    {
      await using first = await opened(place.path)
      await Effect.runPromise(first.journal.write(entryOf(young())))
      await Effect.runPromise(first.journal.write(entryOf({ ...young(), state: "settled" })))
      await Effect.runPromise(first.journal.write(entryOf({ id: "old", at: 0 })))
      await Effect.runPromise(first.journal.write(entryOf({ ...young(), id: "two", state: "released" })))
    }
    await using _ = await opened(place.path)
    const { headers: _dropped, ...over } = entryOf({ ...young(), state: "settled" })
    assert.strictEqual(await readFile(place.path, "utf8"), `${JSON.stringify(over)}\n`)
  })

  it("is for the eyes of its owner alone", async () => {
    await using place = await folder()
    await using _ = await opened(place.path)
    assert.strictEqual((await stat(place.path)).mode & 0o777, 0o600)
  })

  it("rejects where it cannot be", async () => {
    await using place = await folder()
    const error = await TestPayer.rejection(fileJournal(join(place.path, "no", "such", "folder")))
    assert.include(error, { _tag: "JournalUnavailable" })
  })

  it("writes nothing after it was closed", async () => {
    await using place = await folder()
    const { close, journal } = await fileJournal(place.path)
    await close()
    const error = await TestPayer.rejection(Effect.runPromise(journal.write(entryOf(young()))))
    assert.include(error, { _tag: "JournalUnavailable" })
  })

  it("keeps the order of a hundred writes at once", async () => {
    await using place = await folder()
    {
      await using first = await opened(place.path)
      const write = (index: number) => first.journal.write(entryOf({ ...young(), id: `${index}` }))
      await Effect.runPromise(
        Effect.all(
          Array.from({ length: 100 }, (_, index) => write(index)),
          { concurrency: "unbounded" }
        )
      )
      assert.strictEqual(await spentOf(first.journal), 1000n)
    }
    await using second = await opened(place.path)
    assert.strictEqual(await spentOf(second.journal), 1000n)
  })
})

const holder = (changes: object) => JSON.stringify({ pid: process.pid, host: hostname(), token: "other", ...changes })

describe("the lock", () => {
  it("refuses a second user and names the first", async () => {
    await using place = await folder()
    await using first = await opened(place.path)
    const error = await TestPayer.rejection(fileJournal(place.path))
    assert.include(error, { _tag: "JournalUnavailable" })
    assert.include(error.message, `process ${process.pid}`)
    await Effect.runPromise(first.journal.write(entryOf(young())))
  })

  it("is free again when it is closed", async () => {
    await using place = await folder()
    await (await fileJournal(place.path)).close()
    await using _ = await opened(place.path)
    assert.include(await readFile(`${place.path}.lock`, "utf8"), `${process.pid}`)
  })

  it("of a process that is gone is taken over", async () => {
    await using place = await folder()
    const { pid } = spawnSync(process.execPath, ["-e", ""])
    await writeFile(`${place.path}.lock`, holder({ pid }))
    await using _ = await opened(place.path)
    assert.include(await readFile(`${place.path}.lock`, "utf8"), `"pid":${process.pid},`)
  })

  it.each([
    ["of another machine", holder({ pid: 1, host: "elsewhere" })],
    ["that cannot be read", "{"]
  ])("%s is left alone", async (_, text) => {
    await using place = await folder()
    await writeFile(`${place.path}.lock`, text)
    const error = await TestPayer.rejection(fileJournal(place.path))
    assert.include(error, { _tag: "JournalUnavailable" })
    assert.include(error.message, `${place.path}.lock`)
    assert.strictEqual(await readFile(`${place.path}.lock`, "utf8"), text)
  })

  it("that was taken from us ends our writing", async () => {
    await using place = await folder()
    await using first = await opened(place.path)
    await writeFile(`${place.path}.lock`, holder({}))
    const error = await TestPayer.rejection(Effect.runPromise(first.journal.write(entryOf(young()))))
    assert.include(error, { _tag: "JournalUnavailable" })
    assert.strictEqual(await readFile(place.path, "utf8"), "")
  })

  it("goes to one of many that want it at once", async () => {
    await using place = await folder()
    const { pid } = spawnSync(process.execPath, ["-e", ""])
    await writeFile(`${place.path}.lock`, holder({ pid }))
    const outcomes = await Promise.allSettled(Array.from({ length: 20 }, () => fileJournal(place.path)))
    const winners = outcomes.filter((outcome) => outcome.status === "fulfilled")
    const writers = await Promise.allSettled(
      winners.map(({ value }) => Effect.runPromise(value.journal.write(entryOf(young()))))
    )
    assert.isAtMost(writers.filter(({ status }) => status === "fulfilled").length, 1)
    await Promise.all(winners.map(({ value }) => value.close()))
  })
})

describe("layerFile", () => {
  it.effect("holds the file while the layer lives", () =>
    Effect.gen(function* () {
      const place = yield* Effect.acquireRelease(Effect.promise(folder), (place) =>
        Effect.promise(() => place[Symbol.asyncDispose]())
      )
      yield* TestClock.setTime(1000)
      const write = Effect.flatMap(PaymentJournal.PaymentJournal, (journal) => journal.write(entryOf()))
      yield* Effect.provide(write, Layer.fresh(layerFile(place.path)))
      yield* Effect.provide(write, Layer.fresh(layerFile(place.path)))
      assert.strictEqual(
        yield* Effect.promise(() => readFile(place.path, "utf8")),
        `${JSON.stringify(entryOf())}\n`.repeat(2)
      )
    })
  )
})
