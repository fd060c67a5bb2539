/**
 * CPU time of this process: what is left of a measurement on a machine that others use too.
 */

/** Microseconds of CPU that one of `count` runs takes: the best of ten times, after one to warm up. */
export const microsOf = async (count: number, run: (index: number) => unknown): Promise<number> => {
  const times: Array<number> = []
  for (let pass = 0; pass < 11; pass++) {
    const start = process.cpuUsage()
    for (let index = 0; index < count; index++) await run(index)
    const { system, user } = process.cpuUsage(start)
    times.push((user + system) / count)
  }
  return Math.min(...times.slice(1))
}
