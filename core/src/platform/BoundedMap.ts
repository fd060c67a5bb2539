/**
 * Maps of limited size, for memories that must not grow with what strangers send.
 */

/** A map with at most `capacity` entries. Its constructor names the rule for a full map. */
export interface BoundedMap<K, V> extends Map<K, V> {
  readonly capacity: number
}

class OldestOut<K, V> extends Map<K, V> implements BoundedMap<K, V> {
  readonly capacity: number
  constructor(capacity: number) {
    super()
    this.capacity = capacity
  }
  override set(key: K, value: V): this {
    // A map keeps the place of a key that it has.
    this.delete(key)
    super.set(key, value)
    if (this.size <= this.capacity) return this
    for (const oldest of this.keys()) {
      this.delete(oldest)
      break
    }
    return this
  }
}

/**
 * An empty map whose oldest entry leaves when one too many is set. Setting an entry again makes it the youngest; reading it
 * does not.
 *
 * @throws RangeError when the capacity is no whole number of at least 1.
 */
export const oldestOut = <K, V>(capacity: number): BoundedMap<K, V> => {
  if (!Number.isSafeInteger(capacity) || capacity < 1) {
    throw new RangeError(`expected a capacity of at least 1 entry, got ${capacity}`)
  }
  return new OldestOut(capacity)
}
