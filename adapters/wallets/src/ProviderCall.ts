/** Calls of an EIP-1193 provider, and of the providers of TRON that follow it, with the meaning of their errors (EIP-1193, 1474). */
import { type Change, WalletError, type WalletReason } from "./Wallet.ts"
import { fieldOf } from "./WalletText.ts"

/** A provider. */
export interface Provider {
  readonly request: (call: { readonly method: string; readonly params?: ReadonlyArray<unknown> }) => Promise<unknown>
}

/** Whether a value can be called as a provider. */
export const isProvider = (value: unknown): value is Provider => typeof fieldOf(value, "request") === "function"

const reasons: ReadonlyMap<unknown, WalletReason> = new Map<unknown, WalletReason>([
  [4001, "rejected"],
  ["ACTION_REJECTED", "rejected"],
  [4100, "locked"],
  [4200, "unsupported"],
  [-32601, "unsupported"],
  [-32002, "busy"]
])

/** Texts of wallets whose errors have no code. */
const declined = /reject|declin|denied|cancel|confirmation declined/i

/** The code of a wallet's error; some wallets wrap the provider's own. */
export const codeOf = (cause: unknown): unknown =>
  fieldOf(fieldOf(fieldOf(cause, "data"), "originalError"), "code") ?? fieldOf(cause, "code")

/** The error of a wallet as ours. */
export const errorOf = (cause: unknown, what: string): WalletError => {
  if (cause instanceof WalletError) return cause
  const text = typeof cause === "string" ? cause : fieldOf(cause, "message")
  const said = typeof text === "string" ? text.slice(0, 200) : "no reason given"
  const reason = reasons.get(codeOf(cause)) ?? (declined.test(said) ? "rejected" : "failed")
  return new WalletError(reason, `the wallet did not ${what}: ${said}`, { cause })
}

/** Calls a method; `what` completes "the wallet did not". */
export const call = async (
  provider: Provider,
  method: string,
  params: ReadonlyArray<unknown>,
  what: string
): Promise<unknown> => {
  try {
    return await provider.request(params.length === 0 ? { method } : { method, params })
  } catch (cause) {
    throw errorOf(cause, what)
  }
}

const changes: ReadonlyArray<readonly [event: string, change: Change]> = [
  ["accountsChanged", "account"],
  ["chainChanged", "network"],
  ["disconnect", "disconnect"]
]

/** Listens to a provider's events (EIP-1193), where it has them. */
export const onChange =
  (provider: object) =>
  (listener: (change: Change) => void): (() => void) => {
    const bound = changes.map(([event, change]) => [event, () => listener(change)] as const)
    const each = (method: "on" | "removeListener") => {
      const act = fieldOf(provider, method)
      if (typeof act === "function") for (const [event, notify] of bound) act.call(provider, event, notify)
    }
    each("on")
    return () => each("removeListener")
  }
