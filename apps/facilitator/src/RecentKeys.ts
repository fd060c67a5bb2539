/**
 * Keys that were seen lately, as many as there is room for: of too many the one that was seen longest ago is forgotten.
 */

/**
 * The keys.
 *
 * @category models
 */
export interface RecentKeys {
  readonly has: (key: string) => boolean
  readonly add: (key: string) => void
  readonly forget: (key: string) => void
}

/**
 * Remembers nothing yet.
 *
 * @category constructors
 */
export const make = (capacity: number): RecentKeys => {
  const keys = new Set<string>()
  return {
    has: (key) => keys.has(key),
    add: (key) => {
      keys.delete(key)
      keys.add(key)
      if (keys.size <= capacity) return
      const [oldest] = keys
      if (oldest !== undefined) keys.delete(oldest)
    },
    forget: (key) => void keys.delete(key)
  }
}
