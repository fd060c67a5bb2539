/**
 * Who pays for a transaction: its cost is divided among the payments that travelled in it, and booked to their callers by
 * the hour.
 */

/**
 * The parts of a cost. Payments share alike; what cannot be divided is the first one's. A transaction without payments is
 * booked to the caller of the empty name.
 */
export const shares = (cost: bigint, callers: ReadonlyArray<string>): ReadonlyMap<string, bigint> => {
  if (callers.length === 0) return new Map([["", cost]])
  const part = cost / BigInt(callers.length)
  const rest = cost - part * BigInt(callers.length)
  const parts = new Map<string, bigint>()
  for (const [index, caller] of callers.entries()) {
    parts.set(caller, (parts.get(caller) ?? 0n) + part + (index === 0 ? rest : 0n))
  }
  return parts
}

/** The hour that an instant (Unix milliseconds) lies in, counted from the epoch. */
export const hourOf = (millis: number): number => Math.floor(millis / 3_600_000)

/** The network of a lane (`LaneName`). */
export const networkOf = (lane: string): string => lane.slice(0, lane.indexOf(" "))

/** How long costs are kept, in milliseconds: longer than ceilings look back. */
export const keptMillis = 48 * 3_600_000
