/**
 * How callers share what may be used in 24 hours, be it gas, losses or lent energy. Half of it is held for them in equal parts: what a
 * caller has not used of its part, no other one can use. The other half is for whoever comes first. So one caller's cheap goods never
 * use up all, and a caller that uses nothing costs the others no more than its part. A caller that is alone has everything
 * (apps/docs/protocol.md#d23-limits-and-shares).
 */

/** The part that is held for each caller. */
export type Parts = ReadonlyMap<string, bigint>

/**
 * The parts of a total; none where fewer than two callers share it. A caller with a limit of its own is held no more than that.
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
export interface Use {
  readonly all: bigint
  readonly of: (caller: string) => bigint
}

/**
 * How much more a caller may use: the rest of its part, or what is left beside the parts held for others, whichever is more. A
 * caller without a part, one that is not told apart or not known any more, has what is left beside the parts.
 */
export const roomOf = (total: bigint, parts: Parts, caller: string, use: Use): bigint => {
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
