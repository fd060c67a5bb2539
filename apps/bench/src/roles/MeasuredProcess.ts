/**
 * A role in a process of its own, so that its CPU time can be read apart from everybody else's.
 */
import { type ChildProcess, fork, type Serializable } from "node:child_process"
import { once } from "node:events"

import * as Schema from "effect/Schema"

/** The messages of a role: that it listens, and the CPU time that it has used. */
const Ready = Schema.Struct({ url: Schema.String })
const Usage = Schema.Struct({
  /** CPU time since the process began, in microseconds, user and system. */
  cpuMicros: Schema.Number,
  /** Questions to the chain's RPC so far, by method. */
  rpc: Schema.Record(Schema.String, Schema.Number)
})

/** The CPU time that a role has used. */
export type Usage = typeof Usage.Type

/** A running role. */
export interface MeasuredProcess {
  readonly url: string
  readonly usage: () => Promise<Usage>
  /** Sends a number and waits for the role's answer: how many purchases were served. */
  readonly ask: (number: number) => Promise<number>
  /** Sends a message and waits for the role's answer, which is not decoded. */
  readonly call: (message: Serializable) => Promise<unknown>
  readonly stop: () => Promise<void>
}

const Served = Schema.Struct({ served: Schema.Number })

const decodeServed = Schema.decodeUnknownSync(Served)
const decodeReady = Schema.decodeUnknownSync(Ready)
const decodeUsage = Schema.decodeUnknownSync(Usage)

/** Starts a module of this folder as a role; resolves when it listens. */
export const start = async (role: string, ...args: ReadonlyArray<string>): Promise<MeasuredProcess> => {
  const child = fork(new URL(`./${role}`, import.meta.url), args, { stdio: ["ignore", "inherit", "inherit", "ipc"] })
  const { url } = decodeReady(await answer(child))
  const call = (message: Serializable) => {
    child.send(message)
    return answer(child)
  }
  return {
    url,
    usage: async () => decodeUsage(await call("usage")),
    ask: async (number) => decodeServed(await call(number)).served,
    call,
    stop: async () => {
      if (!child.connected) return
      const gone = once(child, "exit")
      child.disconnect()
      await gone
    }
  }
}

const answer = (child: ChildProcess): Promise<unknown> =>
  new Promise((resolve, reject) => {
    const failed = (code: number | null) => reject(new Error(`a measured process ended with code ${code}`))
    child.once("exit", failed)
    child.once("message", (message) => {
      child.off("exit", failed)
      resolve(message)
    })
  })

/** In the role's process: says where it listens, answers what it has used, ends with its parent. `rpc` counts by method. */
export const report = (url: string, rpc: Readonly<Record<string, number>> = {}): void => {
  process.on("message", (message) => {
    if (message !== "usage") return
    const { system, user } = process.cpuUsage()
    process.send?.({ cpuMicros: user + system, rpc })
  })
  process.on("disconnect", () => process.exit())
  process.send?.({ url })
}
