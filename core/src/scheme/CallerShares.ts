/**
 * The callers' shares of a total that may be used in 24 hours: gas, losses or lent energy. Half of the total is held for them in equal
 * parts: no other caller can use the rest of a part. The other half is for the callers that come first. So one caller's cheap goods
 * never use up all, and a caller that uses nothing costs the others no more than its part. A single caller has the whole total
 * (apps/docs/protocol.md#d23-limits-and-shares).
 */

/** The part that is held for each caller. */
export type Parts = ReadonlyMap<string, bigint>

/**
 * The parts of a total; none if fewer than two callers share it. The part of a caller with its own limit is no more than that limit.
 */
export const partsOf = (
  total: bigint,
  callers: ReadonlyArray<string>,
  ownLimit: (caller: string) => bigint | undefined = () => undefined
): Parts => {
  const names = new Set(callers)
  if (names.size < 2) return new Map()
  const part = total / 2n / BigInt(names.size)
  return new Map(
    [...names].map((name) => {
      const limit = ownLimit(name)
      return [name, limit !== undefined && limit < part ? limit : part]
    })
  )
}

/** The use of a total so far: of all, and of one caller. */
export interface ShareUse {
  readonly all: bigint
  readonly of: (caller: string) => bigint
}

/**
 * The amount that a caller may still use: the rest of its part, or the rest beside the parts held for others, whichever is more. A
 * caller without a part, because it has no name or is not known any more, has the rest beside the parts.
 */
export const roomOf = (total: bigint, parts: Parts, caller: string, use: ShareUse): bigint => {
  const free = total - use.all
  if (parts.size === 0) return free
  const own = (parts.get(caller) ?? 0n) - use.of(caller)
  let held = 0n
  for (const [name, part] of parts) {
    const rest = name === caller ? 0n : part - use.of(name)
    if (rest > 0n) held += rest
  }
  const beside = free - held
  const room = own > beside ? own : beside
  return room < free ? room : free
}
