/** The command line as a process of its own, with a home of its own and no keys of this machine. */
import { spawn } from "node:child_process"
import { mkdtempSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

import * as BundledProgram from "@pontage/devnet/BundledProgram"

const main = BundledProgram.fileOf(fileURLToPath(new URL("../src/main.ts", import.meta.url)))

/** A new home: no wallets, no journal. */
export const freshHome = (): string => mkdtempSync(join(tmpdir(), "pontage-cli-"))

/** The end of a run. */
export interface Ended {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

/** A run. */
export interface Running {
  readonly interrupt: () => void
  /** Resolves with the standard output when it matches; rejects if the process ends before. */
  readonly saying: (pattern: RegExp) => Promise<string>
  readonly ended: Promise<Ended>
}

/** Starts `pontage` with these arguments. */
export const start = (
  home: string,
  args: ReadonlyArray<string>,
  environment: Readonly<Record<string, string>> = {}
): Running => {
  const child = spawn(process.execPath, ["--conditions=@pontage/source", main, ...args], {
    env: {
      PATH: process.env["PATH"],
      // Each process would compile all its modules anew without it.
      NODE_COMPILE_CACHE: join(tmpdir(), "node-compile-cache"),
      HOME: home,
      PONTAGE_HOME: home,
      ...environment
    },
    stdio: ["ignore", "pipe", "pipe"]
  })
  const texts = { out: "", err: "" }
  child.stdout.setEncoding("utf8").on("data", (text: string) => (texts.out += text))
  child.stderr.setEncoding("utf8").on("data", (text: string) => (texts.err += text))
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once("error", reject)
    child.once("close", (code) => resolve({ code, ...texts }))
  })
  const saying = (pattern: RegExp) =>
    new Promise<string>((resolve, reject) => {
      const look = () => {
        if (pattern.test(texts.out)) resolve(texts.out)
      }
      child.stdout.on("data", look)
      child.once("close", (code) => reject(new Error(`ended with ${code}: ${texts.out}${texts.err}`)))
      look()
    })
  return { interrupt: () => void child.kill("SIGINT"), saying, ended }
}

/** Runs it to its end. */
export const run = (
  home: string,
  args: ReadonlyArray<string>,
  environment: Readonly<Record<string, string>> = {}
): Promise<Ended> => start(home, args, environment).ended
