/** Where a response goes: a file, a program, or a terminal, which gets no control characters of a stranger. */
import { closeSync, createWriteStream, openSync } from "node:fs"
import type { Writable } from "node:stream"
import { pipeline } from "node:stream/promises"

import { misused } from "../CommandFailed.ts"
import * as SafeText from "./SafeText.ts"

/** Tries whether a file can be written, before anything is paid for. */
export const demandWritable = (path: string): void => {
  try {
    closeSync(openSync(path, "a"))
  } catch (error) {
    throw misused(`-o: ${path} cannot be written: ${error instanceof Error ? error.message : "unknown"}`)
  }
}

/** The status line and the headers, as text. */
export const head = ({ headers, status, statusText }: Response): string => {
  const rows = [...headers].map(([name, value]) => `${name}: ${SafeText.line(value, 8192)}\n`)
  return `HTTP ${status} ${SafeText.line(statusText)}\n${rows.join("")}\n`
}

const isClosedPipe = (error: unknown): boolean => error instanceof Error && "code" in error && error.code === "EPIPE"

/** Text for a terminal; a body that is no text is not shown. */
async function* shown(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder("utf-8")
  let isFirst = true
  for await (const chunk of body) {
    if (isFirst && chunk.includes(0)) {
      yield "(the body is not text: -o <file> keeps it, and a pipe passes it on)\n"
      return
    }
    isFirst = false
    yield SafeText.lines(decoder.decode(chunk, { stream: true }))
  }
  yield SafeText.lines(decoder.decode())
}

async function* plain(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const chunk of body) yield chunk
}

const standardOutput = async (body: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<void> => {
  const { stdout } = process
  try {
    const source = stdout.isTTY ? shown(body) : plain(body)
    await pipeline(source, stdout, { signal, end: false })
  } catch (error) {
    if (!isClosedPipe(error)) throw error
  }
}

/** Writes a body to a file, or to standard output; a broken connection or the signal rejects. */
export const write = async (response: Response, path: string | undefined, signal: AbortSignal): Promise<void> => {
  const body: AsyncIterable<Uint8Array> | null = response.body
  const file: Writable | undefined = path === undefined ? undefined : createWriteStream(path)
  if (file !== undefined) return pipeline(body === null ? [] : plain(body), file, { signal })
  if (body !== null) await standardOutput(body, signal)
}

const longestDocument = 16 * 1024 * 1024

/** The body for a JSON document: its text, or base64 if it is none. Rejects if it has more than 16 MiB. */
export const forDocument = async (
  response: Response
): Promise<{ readonly body: string } | { readonly bodyBase64: string }> => {
  const parts: Array<Uint8Array> = []
  let length = 0
  for await (const chunk of plain(response.body ?? (async function* () {})())) {
    length += chunk.length
    if (length > longestDocument) throw misused("the body has more than 16 MiB: write it to a file by -o")
    parts.push(chunk)
  }
  const bytes = Buffer.concat(parts)
  try {
    return { body: new TextDecoder("utf-8", { fatal: true }).decode(bytes) }
  } catch {
    return { bodyBase64: bytes.toString("base64") }
  }
}
