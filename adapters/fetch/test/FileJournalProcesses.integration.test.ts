/**
 * A file journal among real processes: many that want it at once, some that are killed, one whose disk is full, and one whose
 * memory is small.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { open } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"

import { assert, describe, it } from "@effect/vitest"

import { entryOf } from "./JournalEntries.ts"

const program = join(import.meta.dirname, "JournalProcess.ts")

class Buyer {
  readonly #child: ChildProcess
  readonly #answers: AsyncIterator<string>

  constructor({ prefix = [], options = [] }: { prefix?: ReadonlyArray<string>; options?: ReadonlyArray<string> } = {}) {
    const [command, ...rest] = [
      ...prefix,
      process.execPath,
      "--conditions=@pontage/source",
      "--no-warnings",
      ...options,
      program
    ]
    this.#child = spawn(command, rest, {
      stdio: ["pipe", "pipe", "inherit"],
      env: { ...process.env, NODE_OPTIONS: "" }
    })
    this.#answers = createInterface({ input: this.#child.stdout ?? assert.fail() })[Symbol.asyncIterator]()
  }

  async ask(command: string): Promise<string> {
    this.#child.stdin?.write(`${command}\n`)
    const { value } = await this.#answers.next()
    return String(value)
  }

  async kill(): Promise<void> {
    const exited = once(this.#child, "exit")
    this.#child.kill("SIGKILL")
    await exited
  }
}

/** A place for a journal, and processes that are gone with it. */
const scene = () => {
  const folder = mkdtempSync(join(tmpdir(), "journal-"))
  const buyers = new Set<Buyer>()
  const start = (options?: ConstructorParameters<typeof Buyer>[0]) => {
    const buyer = new Buyer(options)
    buyers.add(buyer)
    return buyer
  }
  const kill = async (buyer: Buyer) => {
    buyers.delete(buyer)
    await buyer.kill()
  }
  return {
    path: join(folder, "payments.jsonl"),
    buyers,
    start,
    kill,
    [Symbol.asyncDispose]: async () => {
      await Promise.all([...buyers].map((buyer) => buyer.kill()))
      rmSync(folder, { recursive: true })
    }
  }
}

const idsIn = (path: string) =>
  readFileSync(path, "utf8")
    .split("\n")
    .slice(0, -1)
    .map((line) => (JSON.parse(line) as { readonly id: string }).id)

type Scene = ReturnType<typeof scene>

/** All ask for the journal at once; the one that gets it writes a line, and is killed or goes. */
const handOver = async ({ buyers, kill, path, start }: Scene, round: number): Promise<void> => {
  const all = [...buyers]
  const answers = await Promise.all(all.map((buyer) => buyer.ask(`open ${path}`)))
  const winners = all.filter((_, index) => answers[index]?.startsWith("ok"))
  assert.strictEqual(winners.length, 1, answers.join("\n"))
  for (const answer of answers) assert.match(answer, /^ok|in use by process/)
  const winner = winners[0] ?? assert.fail()
  assert.match(await winner.ask(`write round-${round}`), /^ok/)
  if (round % 3 === 0) assert.match(await winner.ask("close"), /^ok/)
  else {
    await kill(winner)
    start()
  }
}

describe("twelve processes that want one journal", () => {
  it("get it one at a time, whoever is killed, and lose no line", async () => {
    await using place = scene()
    for (let index = 0; index < 12; index++) place.start()
    const rounds = 6
    await Array.from({ length: rounds }, (_, round) => round).reduce(
      (before, round) => before.then(() => handOver(place, round)),
      Promise.resolve()
    )
    const [reader = assert.fail()] = place.buyers
    assert.match(await reader.ask(`open ${place.path}`), /^ok/)
    assert.deepStrictEqual(
      idsIn(place.path),
      Array.from({ length: rounds }, (_, round) => `round-${round}`)
    )
  }, 900_000)
})

describe("a process whose file may not grow", () => {
  it.runIf(process.platform === "linux")("keeps what was written, and the next one reads it", async () => {
    await using place = scene()
    // The limit makes a write end in its middle, as a full disk does; 16 blocks are 16 KiB.
    const full = place.start({ prefix: ["bash", "-c", 'trap "" XFSZ; ulimit -f 16; exec "$@"', "bash"] })
    assert.match(await full.ask(`open ${place.path}`), /^ok/)
    assert.match(await full.ask("write one"), /^ok/)
    assert.match(await full.ask("write long 30000"), /^no .*cannot be written/)
    assert.deepStrictEqual(idsIn(place.path), ["one"], "the half line is gone at once")
    assert.match(await full.ask("write two"), /^ok/, "what fits is written")
    assert.match(await full.ask("write again 30000"), /^no/)
    assert.strictEqual(await full.ask("spent"), "ok 20")
    await place.kill(full)
    const next = place.start()
    assert.match(await next.ask(`open ${place.path}`), /^ok/)
    assert.strictEqual(await next.ask("spent"), "ok 20")
  })
})

/** Writes a journal of lines that were all settled later, with the headers that version 0.1 kept. */
const writeLarge = async (path: string, mebibytes: number): Promise<number> => {
  const handle = await open(path, "w")
  const headers = { "X-Payment": "a".repeat(250_000) }
  const young = { at: Number.MAX_SAFE_INTEGER, validBefore: Number.MAX_SAFE_INTEGER, state: "settled" as const }
  const count = mebibytes * 4
  const line = (index: number) => `${JSON.stringify(entryOf({ ...young, id: `${index}`, headers }))}\n`
  await Array.from({ length: count }, (_, index) => index).reduce(
    (before, index) => before.then(() => handle.appendFile(line(index))),
    Promise.resolve()
  )
  await handle.close()
  return count
}

describe("a journal that is larger than the memory of its process", () => {
  it("is read, and written anew without what nobody needs", async () => {
    await using place = scene()
    const count = await writeLarge(place.path, 48)
    const small = place.start({ options: ["--max-old-space-size=32"] })
    assert.match(await small.ask(`open ${place.path}`), /^ok/)
    assert.strictEqual(await small.ask("spent"), `ok ${count * 10}`)
    assert.isBelow(readFileSync(place.path).length, 1024 * 1024)
  })
})
