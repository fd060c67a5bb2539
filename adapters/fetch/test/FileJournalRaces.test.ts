/**
 * Processes that want one journal at the same time, in many orders of their calls to the file system. Each process is a part
 * played in this one; whether a holder is dead is known to the play.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { assert, describe, it, vi } from "vitest"

import * as FileLock from "../src/FileLock.ts"
import * as JournalFile from "../src/JournalFile.ts"
import type * as LockHolder from "../src/LockHolder.ts"
import { entryOf } from "./JournalEntries.ts"
import * as SteppedFiles from "./SteppedFiles.ts"

/** The parts and the tokens that are taken for dead, and whose each token is. */
const { dead, owners } = vi.hoisted(() => ({ dead: new Set<string>(), owners: new Map<string, string>() }))

vi.mock("node:fs/promises", async (importOriginal) => (await import("./SteppedFiles.ts")).wrap(await importOriginal()))
vi.mock("../src/LockHolder.ts", async (importOriginal) => {
  const module = await importOriginal<typeof LockHolder>()
  const { current } = await import("./SteppedFiles.ts")
  return {
    ...module,
    mine: (token: string) => {
      owners.set(token, current() ?? "nobody")
      return module.mine(token)
    },
    isAlive: ({ token }: LockHolder.LockHolder) => !dead.has(token) && !dead.has(owners.get(token) ?? "")
  }
})

/** Each is an order of steps. */
const seeds = Array.from({ length: 40 }, (_, seed) => seed)

const staged = async (seed: number, run: (path: string, chance: (bound: number) => number) => Promise<void>) => {
  const folder = mkdtempSync(join(tmpdir(), "journal-"))
  dead.clear()
  owners.clear()
  try {
    await run(join(folder, "payments.jsonl"), SteppedFiles.chanceOf(seed))
  } finally {
    await SteppedFiles.closeAll()
    rmSync(folder, { recursive: true })
  }
}

/** A process that takes a lock, and what it knows of itself. */
const starter = (name: string, path: string) => {
  const scope = Scope.makeUnsafe()
  const state: { lock?: FileLock.FileLock } = {}
  const run = async () => {
    const result = await Effect.runPromise(
      Effect.result(Effect.provideService(FileLock.take(path), Scope.Scope, scope))
    )
    if (result._tag === "Success") state.lock = result.success
  }
  return { name, state, run, close: () => Effect.runPromise(Scope.close(scope, Exit.void)) }
}

type Starter = ReturnType<typeof starter>

const partsOf = (starters: ReadonlyArray<Starter>) => Object.fromEntries(starters.map(({ name, run }) => [name, run]))

const holding = async (starters: ReadonlyArray<Starter>) => {
  const held = await Promise.all(starters.map(async ({ state }) => (await state.lock?.isHeld()) === true))
  return starters.filter((_, index) => held[index])
}

/** Takes the lock, has it for a while where it is free, and gives it back. */
const comeAndGo = async ({ close, name, run, state }: Starter, stolen: Array<string>) => {
  await run()
  if (state.lock === undefined) return
  if (!(await state.lock.isHeld())) stolen.push(name)
  await close()
  delete state.lock
}

const leaveDeadLock = (path: string) => {
  writeFileSync(path, JSON.stringify({ pid: 1, host: "container", token: "first" }))
  dead.add("first")
}

describe("starters that find a dead holder's lock at once", () => {
  it.each(seeds)("give it to one of them, in the order of seed %i", (seed) =>
    staged(seed, async (path, chance) => {
      leaveDeadLock(path)
      const starters = ["a", "b", "c", "d"].map((name) => starter(name, path))
      await SteppedFiles.play(partsOf(starters), chance, {
        onStep: async () => assert.isAtMost((await holding(starters)).length, 1)
      })
      assert.strictEqual((await holding(starters)).length, 1)
      assert.strictEqual(starters.filter(({ state }) => state.lock !== undefined).length, 1, "nobody else believes it")
      await Promise.all(starters.map(({ close }) => close()))
      const next = starter("next", path)
      await next.run()
      assert.strictEqual((await holding([next])).length, 1, "it is free for the next one")
    })
  )

  it.each(seeds)("leave it to the next one where some of them crash, in the order of seed %i", (seed) =>
    staged(seed, async (path, chance) => {
      leaveDeadLock(path)
      const starters = ["a", "b", "c", "d"].map((name) => starter(name, path))
      const alive = () => starters.filter(({ name }) => !dead.has(name))
      await SteppedFiles.play(partsOf(starters), chance, {
        onStep: async (resting, crash) => {
          const victim = resting[chance(resting.length * 6)]
          if (victim !== undefined) {
            crash(victim)
            dead.add(victim)
          }
          assert.isAtMost((await holding(alive())).length, 1)
        }
      })
      const winners = await holding(alive())
      for (const { name } of winners) dead.add(name)
      const next = starter("next", path)
      await SteppedFiles.play(partsOf([next]), chance)
      assert.strictEqual((await holding([next])).length, 1, "no person has to remove anything")
    })
  )

  it.each(seeds)("never take it from one that is alive, whoever comes and goes, in the order of seed %i", (seed) =>
    staged(seed, async (path, chance) => {
      const starters = ["a", "b", "c", "d", "e"].map((name) => starter(name, path))
      const stolen: Array<string> = []
      const comings = starters.map((one) => [one.name, () => comeAndGo(one, stolen)] as const)
      await SteppedFiles.play(Object.fromEntries(comings), chance, {
        onStep: async () => assert.isAtMost((await holding(starters)).length, 1)
      })
      assert.deepStrictEqual(stolen, [])
    })
  )
})

/** A process with the journal open, and the ids of which it was told that they are durable. */
const writer = async (path: string) => {
  const durable: Array<string> = []
  const one = starter("writer", `${path}.lock`)
  const latest: JournalFile.Latest = new Map()
  let file: JournalFile.JournalFile | undefined
  const open = async () => {
    await one.run()
    if (one.state.lock !== undefined) file = await JournalFile.takeOver(path, one.state.lock, latest, now)
  }
  const append = async (id: string) => {
    if (file === undefined) return
    const entry = entryOf({ ...young, id })
    file = await JournalFile.append(file, [entry])
    latest.set(id, entry)
    durable.push(id)
  }
  const compact = async () => {
    if (file === undefined || one.state.lock === undefined) return
    const before = file
    file = await JournalFile.writeAnew(path, one.state.lock, latest, now)
    await before.handle.close()
  }
  const close = () => file?.handle.close()
  return { one, durable, latest, open, append, compact, close }
}

const now = 1_000_000
const young = { at: now, validBefore: now }

const idsIn = (path: string) =>
  readFileSync(path, "utf8")
    .split("\n")
    .slice(0, -1)
    .map((line) => (JSON.parse(line) as { readonly id: string }).id)

/** One after another, until one is refused: who has lost the journal is told so. */
const inTurn = (...calls: ReadonlyArray<() => Promise<void>>) =>
  calls.reduce((before, call) => before.then(call), Promise.resolve())

describe("a holder that is taken for dead and is not", () => {
  it.each(seeds)("loses no line of which it was told that it is durable, nor does its heir; seed %i", (seed) =>
    staged(seed, async (path, chance) => {
      const late = await writer(path)
      await late.open()
      await late.append("before")
      dead.add(late.one.state.lock?.token ?? assert.fail())
      const heir = await writer(path)
      await SteppedFiles.play(
        {
          late: () =>
            inTurn(
              () => late.append("late 1"),
              late.compact,
              () => late.append("late 2"),
              late.compact,
              () => late.append("late 3")
            ).finally(late.one.close),
          heir: () =>
            inTurn(
              heir.open,
              () => heir.append("heir 1"),
              heir.compact,
              () => heir.append("heir 2")
            )
        },
        chance
      )
      const ids = new Set(idsIn(path))
      for (const id of [...late.durable, ...heir.durable]) assert.isTrue(ids.has(id), id)
      // It may have come while the late one was giving the lock back, and then has nothing.
      if (heir.one.state.lock !== undefined) {
        for (const id of late.durable) assert.isTrue(heir.latest.has(id), `the heir knows ${id}`)
        assert.deepStrictEqual(heir.durable, ["heir 1", "heir 2"])
        assert.isTrue(await heir.one.state.lock.isHeld(), "what the late one gives back is not the heir's")
      }
      await late.close()
      await heir.close()
    })
  )
})
