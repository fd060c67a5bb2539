/**
 * Keys of several owners that were seen lately, as many as there is room for; the owners share it fairly (`SharedRoom`).
 */
import * as SharedRoom from "./SharedRoom.ts"

/** The keys. */
export interface RecentKeys {
  readonly has: (owner: string, key: string) => boolean
  readonly add: (owner: string, key: string) => void
  readonly forget: (owner: string, key: string) => void
}

/** Remembers nothing yet. */
export const make = (capacity: number): RecentKeys => {
  const keys = SharedRoom.make<true>(capacity)
  return {
    has: (owner, key) => keys.find(owner, key) === true,
    add: (owner, key) => keys.keep(owner, key, true),
    forget: keys.forget
  }
}
