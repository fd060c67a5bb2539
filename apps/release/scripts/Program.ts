/** Programs that the release check runs: their output is shown where they fail, and nowhere else. */
import { spawn } from "node:child_process"

/** The failure of a program, with what it wrote. */
export class ProgramFailed extends Error {}

/** Options of a run. */
export interface RunOptions {
  readonly cwd: string
  readonly env?: Readonly<Record<string, string | undefined>>
}

const longestOutput = 200_000
/** A program that stands still ends some time. No verdict depends on it: beside tests on a slow machine, an install takes ten minutes. */
const longestMinutes = 60

/** Runs a program to its end, and gives its standard output. Rejects where it fails or takes longer than an hour. */
export const run = (command: string, args: ReadonlyArray<string>, { cwd, env }: RunOptions): Promise<string> =>
  new Promise((resolve, reject) => {
    const began = performance.now()
    const child = spawn(command, args, {
      cwd,
      env: { ...process.env, ...env },
      stdio: ["ignore", "pipe", "pipe"],
      timeout: longestMinutes * 60_000
    })
    const parts = { out: "", all: "" }
    const keep = (text: string) => (parts.all = `${parts.all}${text}`.slice(-longestOutput))
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      parts.out += text
      keep(text)
    })
    child.stderr.setEncoding("utf8").on("data", keep)
    child.once("error", reject)
    child.once("close", (code, signal) => {
      if (code === 0) return resolve(parts.out)
      const line = [command, ...args].join(" ")
      // A program that is stopped at the limit may end with a code of its own: the duration tells.
      const seconds = Math.round((performance.now() - began) / 1000)
      reject(new ProgramFailed(`${line} in ${cwd} ended with ${code ?? signal} after ${seconds} s:\n${parts.all}`))
    })
  })
