/** A process with a file journal, told over a pipe what to do: a command a line in, a response a line out. */
import { flushCompileCache } from "node:module"
import { createInterface } from "node:readline"

import * as Effect from "effect/Effect"

import { fileJournal, type FileJournal } from "../src/node.ts"
import { entryOf } from "./JournalEntries.ts"

let opened: FileJournal | undefined

const lasting = { at: Number.MAX_SAFE_INTEGER, validBefore: Number.MAX_SAFE_INTEGER }

const commands: Readonly<Record<string, (argument: string) => Promise<string | void>>> = {
  open: async (path) => {
    opened = await fileJournal(path)
  },
  /** The argument is the entry's id, and how long its headers are. */
  write: async (argument) => {
    const [id = "", length = "2"] = argument.split(" ")
    const headers = { "X-Payment": "a".repeat(Number(length)) }
    await Effect.runPromise((await journal()).write(entryOf({ ...lasting, id, headers })))
  },
  spent: async () => Effect.runPromise(Effect.map((await journal()).spent, (spent) => `${spent("$").digits}`)),
  close: async () => {
    await opened?.close()
    opened = undefined
  }
}

const journal = async () => {
  if (opened === undefined) throw new Error("not open")
  return opened.journal
}

// A process that is killed keeps nothing: the next one begins quicker with what this one has compiled.
flushCompileCache()

for await (const line of createInterface({ input: process.stdin })) {
  const [command = "", ...rest] = line.split(" ")
  const answer = await commands[command]?.(rest.join(" ")).then(
    (result) => `ok ${result ?? ""}`,
    (error: unknown) => `no ${error instanceof Error ? error.message : String(error)}`
  )
  process.stdout.write(`${answer ?? "no such command"}\n`)
}
