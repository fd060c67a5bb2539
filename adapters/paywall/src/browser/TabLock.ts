/** The lock of an address: a tab holds it while it pays there, or finishes what was left open. */

/** The address of this page, without its fragment, which no shop sees. */
export const address = (): string => location.href.replace(/#.*/, "")

/**
 * Works alone among the tabs at an address, where the browser can tell; `undefined` while another tab, or this one, is at work there.
 */
export const alone = async <A>(at: string, work: () => Promise<A>): Promise<A | undefined> => {
  const { locks }: { readonly locks?: LockManager } = navigator
  if (locks === undefined) return work()
  return locks.request(`pontage-page ${at}`, { ifAvailable: true }, (lock) => (lock === null ? undefined : work()))
}
