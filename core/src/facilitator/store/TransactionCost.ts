/** The division of a transaction's cost among its payments, booked to their callers by the hour. */

/**
 * The parts of a cost. Payments share equally; the first one's caller gets the remainder. A transaction without
 * payments is booked to the caller of the empty name.
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

/** The hour of a time (Unix milliseconds), counted from the epoch. */
export const hourOf = (millis: number): number => Math.floor(millis / 3_600_000)

/** The network of a lane (`LaneName`). */
export const networkOf = (lane: string): string => lane.slice(0, lane.indexOf(" "))

/** The signer of a lane (`LaneName`); empty for a family without slots. */
export const addressOf = (lane: string): string => lane.slice(lane.indexOf(" ") + 1)

/** Retention of costs in milliseconds: longer than spend limits look back. */
export const keptMillis = 48 * 3_600_000
