/**
 * Any program as a process of its own whose CPU time can be read without the program's help: our facilitator as it
 * is deployed, and the peers' roles out of the conformance app.
 */
import { type ChildProcess, fork } from "node:child_process"
import { once } from "node:events"
import { createServer } from "node:net"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"

import * as Schema from "effect/Schema"

/** A running program. */
export interface RoleProcess {
  readonly url: string
  /** CPU time since it began, user and system, in microseconds. */
  readonly cpuMicros: () => Promise<number>
  readonly stop: () => Promise<void>
}

/** A program: a built module of the workspace by its path from the folder of the apps. */
export interface Program {
  readonly module: string
  readonly args?: ReadonlyArray<string>
  /** Environment variables beside this process' own. */
  readonly environment?: Readonly<Record<string, string>>
}

const Ready = Schema.fromJsonString(Schema.Struct({ url: Schema.String }))
const decodeReady = Schema.decodeUnknownSync(Ready)
const decodeUsage = Schema.decodeUnknownSync(Schema.Struct({ cpuMicros: Schema.Number }))

const inApps = (path: string) => fileURLToPath(new URL(`../../../${path}`, import.meta.url))
const reporter = new URL("./CpuReport.js", import.meta.url).href

/** Starts a program that prints its URL as one line of JSON. */
export const start = async (program: Program): Promise<RoleProcess> => {
  const child = run(program)
  const lines = createInterface({ input: child.stdout ?? process.stdin })
  const [line] = await Promise.race([once(lines, "line"), gone(child, program)])
  lines.on("line", () => undefined)
  return measured(child, decodeReady(line).url)
}

/** Starts a role of the conformance app. */
export const startPeer = (role: string, options: Readonly<Record<string, unknown>>): Promise<RoleProcess> =>
  start({ module: "conformance/dist/measured.js", args: [role, JSON.stringify(options)] })

/** Starts a program that takes its port from `PORT` and serves `path` once it is ready. */
export const startOnPort = async (program: Program, path: string): Promise<RoleProcess> => {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const child = run({ ...program, environment: { ...program.environment, PORT: `${port}` } })
  child.stdout?.resume()
  await Promise.race([answering(`${url}${path}`), gone(child, program)])
  return measured(child, url)
}

const run = ({ args = [], environment = {}, module }: Program): ChildProcess =>
  fork(inApps(module), args, {
    env: { ...process.env, ...environment },
    execArgv: ["--import", reporter],
    stdio: ["ignore", "pipe", "inherit", "ipc"]
  })

const gone = async (child: ChildProcess, { module }: Program): Promise<never> => {
  const [code] = await once(child, "exit")
  throw new Error(`${module} ended with code ${code}`)
}

const measured = (child: ChildProcess, url: string): RoleProcess => ({
  url,
  cpuMicros: async () => {
    const answer = once(child, "message")
    child.send("usage")
    const [usage] = await answer
    return decodeUsage(usage).cpuMicros
  },
  stop: async () => {
    if (!child.connected) return
    const ended = once(child, "exit")
    child.disconnect()
    await ended
  }
})

const answering = async (url: string): Promise<void> => {
  for (;;) {
    const isReady = await fetch(url).then(
      async (response) => {
        await response.arrayBuffer()
        return response.ok
      },
      () => false
    )
    if (isReady) return
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

/** A port that was free a moment ago, for programs that have to be told theirs. */
export const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer()
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0))
    })
  })
