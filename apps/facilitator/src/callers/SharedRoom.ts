/**
 * A memory of bounded size that several owners share fairly. An owner's share is the capacity divided by the owners with
 * values. When the memory is full, an owner above its share loses its least recently used value; an owner within its share
 * loses nothing.
 */

/** Values by owners and their keys. */
export interface SharedRoom<Value> {
  readonly find: (owner: string, key: string) => Value | undefined
  /** Keeps a value as the most recently used one. */
  readonly keep: (owner: string, key: string, value: Value) => void
  readonly forget: (owner: string, key: string) => void
}

/** An empty memory for this number of values. */
export const make = <Value>(capacity: number): SharedRoom<Value> => {
  const holdings = new Map<string, Map<string, Value>>()
  let size = 0
  let hand = holdings.entries()
  let pointed: readonly [string, Map<string, Value>] | undefined

  const drop = (owner: string, own: Map<string, Value>, key: string) => {
    if (!own.delete(key)) return
    size -= 1
    if (own.size === 0 && holdings.get(owner) === own) holdings.delete(owner)
  }
  const isOver = (own: Map<string, Value>) => own.size * holdings.size > capacity

  /**
   * An owner above its share; there is one whenever the memory is too full. The iterator stays at it for the next call. The
   * owner of the newest value is not a candidate.
   */
  const greedy = (newest: Map<string, Value>): readonly [string, Map<string, Value>] | undefined => {
    for (let looks = 0; looks <= holdings.size + 1; looks++) {
      if (pointed !== undefined && pointed[1] !== newest && isOver(pointed[1])) return pointed
      const next = hand.next()
      if (next.done === true) hand = holdings.entries()
      pointed = next.done === true ? undefined : next.value
    }
    return undefined
  }

  return {
    find: (owner, key) => holdings.get(owner)?.get(key),
    keep: (owner, key, value) => {
      const own = holdings.get(owner) ?? new Map<string, Value>()
      if (!own.delete(key)) size += 1
      own.set(key, value)
      if (!holdings.has(owner)) holdings.set(owner, own)
      if (size <= capacity) return
      const [from, theirs] = own.size > 1 && isOver(own) ? [owner, own] : (greedy(own) ?? [owner, own])
      const [oldest] = theirs.keys()
      if (oldest !== undefined) drop(from, theirs, oldest)
    },
    forget: (owner, key) => {
      const own = holdings.get(owner)
      if (own !== undefined) drop(owner, own, key)
    }
  }
}
