/**
 * Lines for a person, on standard error: standard output belongs to the response. Colours and the moving line are for
 * terminals only; a program that reads standard error gets plain lines.
 */

import * as SafeText from "./SafeText.ts"

const columns = 78

/** The person's screen. */
export interface Screen {
  /** Whether a person can be asked. */
  readonly isInteractive: boolean
  /** One line. */
  readonly say: (text: string) => void
  /** A row of a table: a name and a text, wrapped at the screen's width. */
  readonly row: (name: string, text: string) => void
  /** The step that the command waits for; its text stays until the next call. `undefined` ends it. */
  readonly wait: (text: string | undefined) => void
  readonly bold: (text: string) => string
  readonly dim: (text: string) => string
}

const paint = (isColoured: boolean, code: number) => (text: string) =>
  isColoured ? `\u001b[${code}m${text}\u001b[0m` : text

/** Breaks a text at spaces; a longer word is left whole, because it is an address or a URL to copy. */
export const wrapped = (text: string, width: number): ReadonlyArray<string> => {
  const rows: Array<string> = []
  for (const word of text.split(" ")) {
    const last = rows.at(-1)
    if (last !== undefined && last.length + 1 + word.length <= width) rows[rows.length - 1] = `${last} ${word}`
    else rows.push(word)
  }
  return rows
}

/** A failure's message, which may quote a stranger, as lines of the screen's width. */
export const message = (text: string): string =>
  SafeText.lines(`pontage: ${text}`)
    .split("\n")
    .flatMap((line) => wrapped(line, columns))
    .join("\n")

const nameWidth = 10

/** The screen of this process. A quiet one says nothing but what it must ask. */
export const make = (isQuiet: boolean): Screen => {
  const { stderr, stdin } = process
  const isTerminal = stderr.isTTY
  const isColoured = isTerminal && !process.env["NO_COLOR"]
  const write = (text: string) => void (isQuiet || stderr.write(text))
  const waiting: { timer?: NodeJS.Timeout | undefined; text?: string | undefined } = {}
  const clear = () => {
    clearInterval(waiting.timer)
    if (waiting.timer !== undefined) write("\r\u001b[K")
    waiting.timer = undefined
    waiting.text = undefined
  }
  const bold = paint(isColoured, 1)
  const dim = paint(isColoured, 2)
  return {
    isInteractive: isTerminal && stdin.isTTY,
    say: (text) => {
      clear()
      for (const part of wrapped(text, columns)) write(`${part}\n`)
    },
    row: (name, text) => {
      clear()
      const [first = "", ...rest] = wrapped(text, columns - nameWidth - 2)
      write(`  ${dim(name.padEnd(nameWidth))}${first}\n`)
      for (const part of rest) write(`  ${" ".repeat(nameWidth)}${part}\n`)
    },
    wait: (text) => {
      if (text === waiting.text) return
      clear()
      if (text === undefined) return
      waiting.text = text
      if (!isTerminal) return write(`${text} ...\n`)
      const began = performance.now()
      const draw = () => {
        const seconds = Math.floor((performance.now() - began) / 1000)
        write(`\r\u001b[K${dim(`${text} ...${seconds < 2 ? "" : ` ${seconds} s`}`)}`)
      }
      draw()
      waiting.timer = setInterval(draw, 500).unref()
    },
    bold,
    dim
  }
}
