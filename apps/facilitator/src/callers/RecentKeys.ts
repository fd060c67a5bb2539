/**
 * Recently seen keys of several owners, bounded in number; the owners share the memory fairly (`SharedRoom`).
 */
import * as SharedRoom from "./SharedRoom.ts"

/** The keys. */
export interface RecentKeys {
  readonly has: (owner: string, key: string) => boolean
  readonly add: (owner: string, key: string) => void
  readonly forget: (owner: string, key: string) => void
}

/** An empty memory of this capacity. */
export const make = (capacity: number): RecentKeys => {
  const keys = SharedRoom.make<true>(capacity)
  return {
    has: (owner, key) => keys.find(owner, key) === true,
    add: (owner, key) => keys.keep(owner, key, true),
    forget: keys.forget
  }
}
