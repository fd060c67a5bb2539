/**
 * As much of Web Locks as a journal uses, for several tabs of one browser: a lock is free when its callback has ended, or
 * its tab has, and not in the same breath. It stands in for a browser's and proves nothing about one.
 */

const soon = () => new Promise<void>((resolve) => void setImmediate(resolve))

export interface FakeTab {
  readonly locks: LockManager
  readonly close: () => void
}

/** A browser. */
export const make = () => {
  const holders = new Map<string, object>()
  const open = (): FakeTab => {
    const tab = {}
    const request = async (name: string, _: LockOptions, callback: (lock: object | null) => Promise<unknown>) => {
      await soon()
      if (holders.has(name)) return callback(null)
      holders.set(name, tab)
      const result = await callback({ name, mode: "exclusive" })
      await soon()
      if (holders.get(name) === tab) holders.delete(name)
      return result
    }
    const close = () => {
      for (const [name, holder] of holders) if (holder === tab) holders.delete(name)
    }
    return { locks: { request } as unknown as LockManager, close }
  }
  return { open }
}
