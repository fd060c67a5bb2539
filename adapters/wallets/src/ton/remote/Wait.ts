/** Something that a page waits for: it comes, fails, or takes longer than its owner's patience. */
import { WalletError } from "../../Wallet.ts"

/** A wait. The first of its ends counts. */
export interface Wait {
  readonly promise: Promise<unknown>
  /** Aborted at the end, whichever it is: what was begun for this wait has no use any more. */
  readonly signal: AbortSignal
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

/** Begins a wait; `patience` in milliseconds. `missing` begins the error: "the wallet did not answer". */
export const begin = (missing: string, patience: number): Wait => {
  const ended = new AbortController()
  let settle: { readonly resolve: (value: unknown) => void; readonly reject: (error: unknown) => void } | undefined
  const promise = new Promise<unknown>((resolve, reject) => {
    settle = { resolve, reject }
  })
  // The wait may end before its promise is observed.
  promise.catch(() => undefined)
  const end = (act: () => void) => {
    clearTimeout(timer)
    act()
    ended.abort()
  }
  const resolve = (value: unknown) => end(() => settle?.resolve(value))
  const reject = (error: unknown) => end(() => settle?.reject(error))
  const message = `${missing} within ${patience / 1000} s; nothing was signed that could be used`
  const timer = setTimeout(() => reject(new WalletError("failed", message)), patience)
  return { promise, signal: ended.signal, resolve, reject }
}
