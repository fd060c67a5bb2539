/**
 * A sum over the last 24 hours, in memory of a fixed size: amounts are kept by the hour. An amount counts for at least 24 hours
 * and less than 25, so the sum is never below the exact one.
 */

/** The sum. Times are Unix milliseconds. */
export interface DaySum {
  readonly add: (amount: bigint, now: number) => void
  /** Takes back an amount that was added at a time, as far as it still counts. */
  readonly take: (amount: bigint, addedAt: number) => void
  readonly total: (now: number) => bigint
  readonly clear: () => void
}

const hourMillis = 3_600_000
const hours = 24

/** A sum of zero. */
export const make = (): DaySum => {
  const byHour = new Map<number, bigint>()
  const forget = (hour: number) => {
    for (const known of byHour.keys()) if (known < hour - hours) byHour.delete(known)
  }
  return {
    add: (amount, now) => {
      const hour = Math.floor(now / hourMillis)
      forget(hour)
      byHour.set(hour, (byHour.get(hour) ?? 0n) + amount)
    },
    take: (amount, addedAt) => {
      const hour = Math.floor(addedAt / hourMillis)
      const known = byHour.get(hour) ?? 0n
      if (known > amount) byHour.set(hour, known - amount)
      else byHour.delete(hour)
    },
    total: (now) => {
      if (byHour.size === 0) return 0n
      forget(Math.floor(now / hourMillis))
      let sum = 0n
      for (const amount of byHour.values()) sum += amount
      return sum
    },
    clear: () => byHour.clear()
  }
}
