/**
 * The memory that a process needs, and its open descriptors.
 */
import { readdirSync } from "node:fs"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"

import * as Schema from "effect/Schema"

/** The figures, in bytes. */
export const Memory = Schema.Struct({
  /** Objects of JavaScript that are reachable. */
  heap: Schema.Number,
  /** The process in the machine's memory, after a collection. */
  rss: Schema.Number,
  /** `NaN` where the system does not tell. */
  descriptors: Schema.Number
})

/** The memory of a process. */
export type Memory = typeof Memory.Type

setFlagsFromString("--expose-gc")
const collect: unknown = runInNewContext("gc")

/** Collects garbage, twice, since finalizers of the first time leave some; then reads the figures. */
export const read = (): Memory => {
  if (typeof collect === "function") for (let turn = 0; turn < 2; turn++) Reflect.apply(collect, undefined, [])
  const { heapUsed: heap, rss } = process.memoryUsage()
  return { heap, rss, descriptors: process.platform === "linux" ? readdirSync("/proc/self/fd").length : Number.NaN }
}
