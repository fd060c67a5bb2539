/** `pontage facilitator`: the service of `@pontage/facilitator` as its own process, set up by environment variables. */
import { spawn } from "node:child_process"
import { fileURLToPath } from "node:url"

import { misused } from "../CommandFailed.ts"
import type * as CommandLine from "../CommandLine.ts"
import type { CommandContext } from "./CommandContext.ts"
import * as OptionalPackages from "./OptionalPackages.ts"

/** It has none: environment variables set everything. */
export const table = {} as const satisfies CommandLine.OptionTable

/** The program of the installed package, beside its index. */
const programOf = (): string => {
  try {
    const index = import.meta.resolve("@pontage/facilitator")
    return fileURLToPath(new URL(index.endsWith(".ts") ? "main.ts" : "main.js", index))
  } catch {
    throw OptionalPackages.missing("@pontage/facilitator")
  }
}

/** Runs it to its end; a signal stops it in order. */
export const run = (args: ReadonlyArray<string>, { signal }: CommandContext): Promise<number> => {
  const [task, ...more] = args
  if (more.length > 0 || (task !== undefined && task !== "deploy-settler")) {
    throw misused(
      "expected pontage facilitator, or pontage facilitator deploy-settler; environment variables set the rest"
    )
  }
  const child = spawn(process.execPath, [...process.execArgv, programOf(), ...args], { stdio: "inherit" })
  signal.addEventListener("abort", () => void child.kill("SIGTERM"), { once: true })
  return new Promise((resolve, reject) => {
    child.once("error", reject)
    child.once("exit", (code) => resolve(code ?? 1))
  })
}
