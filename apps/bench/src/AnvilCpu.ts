/**
 * The CPU time of the local node, which reports none itself: Linux reports it for every process.
 */
import { readdirSync, readFileSync } from "node:fs"

/** The kernel counts in hundredths of a second, on every machine. */
const microsPerTick = 10_000

/** Of all local nodes that this process runs, since they began, in microseconds; `NaN` where the system does not tell. */
export const micros = (): number => {
  if (process.platform !== "linux") return Number.NaN
  return (
    readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .reduce((sum, pid) => sum + ticksOf(pid), 0) * microsPerTick
  )
}

/** `pid (name) state parent …`, user and system time in the places 14 and 15. */
const ticksOf = (pid: string): number => {
  const [, name, rest = ""] = /^\d+ \((.*)\) (.*)$/s.exec(statOf(pid)) ?? []
  const fields = rest.split(" ")
  return name === "anvil" && fields[1] === `${process.pid}` ? Number(fields[11]) + Number(fields[12]) : 0
}

/** A process may end while one looks. */
const statOf = (pid: string): string => {
  try {
    return readFileSync(`/proc/${pid}/stat`, "utf8")
  } catch {
    return ""
  }
}
