import { spawnSync } from "node:child_process"
import {
  appendFile,
  copyFile,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  truncate,
  writeFile
} from "node:fs/promises"
import { hostname, tmpdir } from "node:os"
import { join } from "node:path"

import { assert, describe, it } from "@effect/vitest"
import { type ChannelEntry, type JournalEntry, PaymentJournal } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import * as TestClock from "effect/testing/TestClock"

import * as FileJournal from "../src/FileJournal.ts"
import * as JournalFile from "../src/JournalFile.ts"
import * as LockHolder from "../src/LockHolder.ts"
import { fileJournal, layerFile } from "../src/node.ts"
import { allowed, channelOf, entryOf } from "./JournalEntries.ts"
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

const line = (id: string) => `${JSON.stringify(entryOf({ ...young(), id }))}\n`

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
        // The file's content at this moment is what a crash would leave.
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

  it("never forgets a channel, nor its highest voucher or its deposit", async () => {
    await using place = await folder()
    const { at } = young()
    const kept = channelOf({ signed: "30", charged: "15", at })
    {
      await using first = await opened(place.path)
      const { draw } = first.journal
      const write = (channel: ChannelEntry.ChannelEntry) =>
        draw("one", () => Result.succeed([undefined, [channel, entryOf()]]))
      await Effect.runPromise(write(channelOf()))
      await Effect.runPromise(write(channelOf({ signed: "30", charged: "20" })))
      await Effect.runPromise(write(channelOf({ charged: "15", at })))
    }
    {
      await using again = await opened(place.path)
      assert.deepStrictEqual([...(await Effect.runPromise(again.journal.channels)).values()], [kept])
    }
    await using later = await opened(place.path)
    assert.deepStrictEqual([...(await Effect.runPromise(later.journal.channels)).values()], [kept])
    assert.strictEqual(await readFile(place.path, "utf8"), `${JSON.stringify(kept)}\n`)
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

  it("reads what version 0.1 has written, and counts it alike", async () => {
    await using place = await folder()
    await copyFile(new URL("fixtures/journal-0.1.0.jsonl", import.meta.url), place.path)
    const states = (await readFile(place.path, "utf8"))
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line) as JournalEntry)
    const last = new Map(states.map((entry) => [entry.id, entry]))
    await using first = await opened(place.path)
    const spent = await Effect.runPromise(first.journal.spent)
    assert.deepStrictEqual(spent("$"), { unit: "$", digits: 60_000n, scale: 6 })
    assert.strictEqual(spent("eip155/0x2222222222222222222222222222222222222222").digits, 60_000n)
    const found: Array<string> = []
    for (const { id, request, state } of last.values()) {
      // oxlint-disable-next-line no-await-in-loop -- calls are made one after another
      const adopted = await Effect.runPromise(first.journal.adopt(request))
      if (adopted === undefined) assert.include(["settled", "refused", "owed"], state)
      else assert.deepStrictEqual(adopted, last.get(id))
      if (adopted !== undefined) found.push(state)
    }
    assert.include(found, "pending", "what was sent and not answered is sent again")
  })

  it("stays where a link leads, and is one journal by all its names", async () => {
    await using place = await folder()
    const link = `${place.path}.link`
    await symlink(place.path, link)
    {
      await using first = await opened(link)
      await Effect.runPromise(first.journal.write(entryOf(young())))
      assert.include((await TestPayer.rejection(fileJournal(place.path))).message, `process ${process.pid}`)
    }
    assert.isTrue((await lstat(link)).isSymbolicLink())
    await using second = await opened(place.path)
    assert.strictEqual(await spentOf(second.journal), 10n)
  })

  it.each(["round.a", "."])("is refused where it cannot be a file of its own: %s", async (name) => {
    await using place = await folder()
    const path = join(place.path, "..", name)
    await symlink("round.b", join(place.path, "..", "round.a"))
    await symlink("round.a", join(place.path, "..", "round.b"))
    assert.include(await TestPayer.rejection(fileJournal(path)), { _tag: "JournalUnavailable" })
  })

  it.each(["replaced", "removed"] as const)("that is %s while it is open is written to no more", async (how) => {
    await using place = await folder()
    await using first = await opened(place.path)
    await Effect.runPromise(first.journal.write(entryOf(young())))
    await rename(place.path, `${place.path}.away`)
    if (how === "replaced") await copyFile(`${place.path}.away`, place.path)
    const error = await TestPayer.rejection(Effect.runPromise(first.journal.write(entryOf({ ...young(), id: "two" }))))
    assert.include(error, { _tag: "JournalUnavailable" })
    assert.include(error.message, "open it again")
    assert.notInclude(await readFile(`${place.path}.away`, "utf8"), '"two"')
  })

  it("takes a last line that a power cut has left in part for unwritten, and no other", async () => {
    await using place = await folder()
    const half = `\0\0\0${line("two").slice(3)}`
    await writeFile(place.path, line("one") + half)
    {
      await using first = await opened(place.path)
      assert.strictEqual(await spentOf(first.journal), 10n)
    }
    await writeFile(place.path, line("one") + half + line("three"))
    assert.include((await TestPayer.rejection(fileJournal(place.path))).message, "line 2")
  })

  it("writes no line that it would not read", async () => {
    await using place = await folder()
    {
      await using first = await opened(place.path)
      await Effect.runPromise(first.journal.write(entryOf(young())))
      const url = `https://shop.example/${"a".repeat(JournalFile.maximumLine)}`
      const error = await TestPayer.rejection(
        Effect.runPromise(first.journal.write(entryOf({ ...young(), id: "long", url })))
      )
      assert.include(error.message, "shorter URL")
      await Effect.runPromise(first.journal.write(entryOf({ ...young(), id: "two" })))
    }
    await using second = await opened(place.path)
    assert.strictEqual(await spentOf(second.journal), 20n)
  })

  it("forgets nothing because the clock is ahead when it is opened", async () => {
    await using place = await folder()
    await writeFile(place.path, `${JSON.stringify(entryOf())}\n`)
    await using _ = await opened(place.path)
    assert.include(await readFile(place.path, "utf8"), '"one"', "it is the youngest, however old the clock says it is")
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

const manyLines = (from: number, count: number) =>
  Array.from({ length: count }, (_, index) => entryOf({ ...young(), id: `${from + index}`, state: "released" }))

const append = (log: PaymentJournal.JournalLog, lines: ReadonlyArray<JournalEntry>) =>
  log.transact((news) => [news, lines] as const)

describe("writing the file anew", () => {
  it.effect("drops what no longer matters, and what is over keeps no headers", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const place = yield* Effect.acquireRelease(Effect.promise(folder), (place) =>
          Effect.promise(() => place[Symbol.asyncDispose]())
        )
        const log = yield* FileJournal.log(place.path)
        yield* append(log, [entryOf({ ...young(), id: "open" }), entryOf({ ...young(), id: "over" })])
        yield* append(log, [entryOf({ ...young(), id: "over", state: "settled" })])
        yield* append(log, manyLines(0, 10_000))
        const lines = (yield* Effect.promise(() => readFile(place.path, "utf8"))).split("\n").slice(0, -1)
        const kept = lines.map((line) => JSON.parse(line) as JournalEntry)
        assert.deepStrictEqual(
          kept.map(({ headers, id, state }) => [id, state, headers !== undefined]),
          [
            ["open", "pending", true],
            ["over", "settled", false]
          ]
        )
        yield* append(log, [entryOf({ ...young(), id: "next" })])
        assert.include(yield* Effect.promise(() => readFile(place.path, "utf8")), '"next"')
      })
    )
  )

  it.effect("that fails costs nothing: the step has happened, and is known", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const place = yield* Effect.acquireRelease(Effect.promise(folder), (place) =>
          Effect.promise(() => place[Symbol.asyncDispose]())
        )
        const log = yield* FileJournal.log(place.path)
        const { token } = JSON.parse(yield* Effect.promise(() => readFile(`${place.path}.lock`, "utf8")))
        // A folder in the draft's place: it can neither be removed as a file nor written.
        yield* Effect.promise(() => mkdir(`${place.path}.${token}.new`))
        const lines = manyLines(0, 10_001)
        yield* append(log, lines)
        assert.strictEqual((yield* append(log, [])).length, lines.length, "what was written is told of")
        yield* append(log, [entryOf({ ...young(), id: "next" })])
        assert.include(yield* Effect.promise(() => readFile(place.path, "utf8")), '"next"')
      })
    )
  )
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
    ["of version 0.1", {}],
    ["of today", { started: "an earlier one", thread: 0 }]
  ])("of an earlier start with our own process id is taken over, as in a container: %s", async (_, left) => {
    await using place = await folder()
    await writeFile(`${place.path}.lock`, holder(left))
    await using _held = await opened(place.path)
    assert.notInclude(await readFile(`${place.path}.lock`, "utf8"), '"other"')
  })

  it.runIf(process.platform === "linux")("of a process whose id another one has now is taken over", async () => {
    await using place = await folder()
    await writeFile(`${place.path}.lock`, holder({ pid: process.ppid, started: "an earlier one" }))
    await using _ = await opened(place.path)
    assert.include(await readFile(`${place.path}.lock`, "utf8"), `"pid":${process.pid},`)
  })

  it("of a process that is there, and does not say when it was started, is left alone", async () => {
    await using place = await folder()
    await writeFile(`${place.path}.lock`, holder({ pid: process.ppid }))
    assert.include((await TestPayer.rejection(fileJournal(place.path))).message, `process ${process.ppid}`)
  })

  it("of another thread of ours is left alone", async () => {
    await using place = await folder()
    const text = JSON.stringify(LockHolder.mine("other"))
    await writeFile(`${place.path}.lock`, text.replace(/"thread":\d+/, '"thread":99'))
    assert.include((await TestPayer.rejection(fileJournal(place.path))).message, `process ${process.pid}`)
  })

  it("with a token that would lead to another file is left alone", async () => {
    await using place = await folder()
    await writeFile(`${place.path}.lock`, holder({ token: "/../../elsewhere" }))
    assert.include((await TestPayer.rejection(fileJournal(place.path))).message, "cannot be read")
  })

  it("leaves nothing behind but the journal", async () => {
    await using place = await folder()
    const { pid } = spawnSync(process.execPath, ["-e", ""])
    await writeFile(`${place.path}.lock`, holder({ pid }))
    await writeFile(`${place.path}.lock.other`, holder({ pid, token: "heir" }))
    await writeFile(`${place.path}.lock.stray.draft`, holder({ pid, token: "stray" }))
    await writeFile(`${place.path}.stray.new`, "{")
    await (await fileJournal(place.path)).close()
    assert.deepStrictEqual(await readdir(join(place.path, "..")), ["payments.jsonl"])
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
