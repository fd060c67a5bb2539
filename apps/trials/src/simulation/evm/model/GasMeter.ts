/**
 * The gas of a modelled transaction: what its bytes and its storage cost by the rules of the chain (EIP-2028, 2929, 2200, 3529,
 * 7623), and a constant for the instructions of each function, measured once on a real node. A real node's figure is met within
 * {@link toleranceInGas}.
 */
import type { EvmHex } from "@pontage/evm"

/** Limit on the difference of a transaction's gas from a real node's: a fiftieth of it, or this amount. */
export const toleranceInGas = 1_500n

/** Counts the gas of one transaction. */
export interface GasMeter {
  readonly burn: (gas: bigint) => void
  /** A slot of a contract's storage is read. */
  readonly load: (name: string) => void
  /** A slot is written: what it held when the transaction began, what it holds, what it will hold. */
  readonly store: (name: string, original: bigint, current: bigint, next: bigint) => void
  /** An account is called or looked at. */
  readonly touch: (account: string) => void
  /** Counts a call within the call; if it fails, the slots that it touched are cold again, and they earn no refund. */
  readonly within: (call: () => boolean) => void
  readonly used: () => bigint
  /** The gas to pay after the refund, which is a fifth at most. */
  readonly paid: () => bigint
}

const coldSlot = 2_100n
const coldAccount = 2_600n
const warm = 100n
const fresh = 20_000n
const changed = 2_900n
const cleared = 4_800n

/** Begins with the gas of the transaction itself. */
export const make = (intrinsic: bigint): GasMeter => {
  let used = intrinsic
  let refund = 0n
  const known = new Set<string>()
  const first = (name: string): boolean => !known.has(name) && known.add(name) !== undefined
  return {
    burn: (gas) => void (used += gas),
    load: (name) => void (used += first(name) ? coldSlot : warm),
    store: (name, original, current, next) => {
      if (first(name)) used += coldSlot
      if (current === next || current !== original) used += warm
      else used += current === 0n ? fresh : changed
      if (current === original && original !== 0n && next === 0n) refund += cleared
      if (current !== original && next === original) refund += original === 0n ? fresh - warm : changed - warm
    },
    touch: (account) => void (used += first(`account ${account}`) ? coldAccount : warm),
    within: (call) => {
      const before = { known: known.size, refund }
      if (call()) return
      refund = before.refund
      for (const name of [...known].slice(before.known)) known.delete(name)
    },
    used: () => used,
    paid: () => used - (refund < used / 5n ? refund : used / 5n)
  }
}

/** The cost of a transaction before anything runs: 21 000 gas, and its data by the byte. */
export const intrinsic = (data: EvmHex.Hex): bigint => 21_000n + 4n * tokensOf(data)

/** The least cost of a transaction (EIP-7623). */
export const floor = (data: EvmHex.Hex): bigint => 21_000n + 10n * tokensOf(data)

/** The least gas of a transaction that a node takes. */
export const least = (data: EvmHex.Hex): bigint => (floor(data) > intrinsic(data) ? floor(data) : intrinsic(data))

/** A byte that is zero is one token, any other four. */
const tokensOf = (data: EvmHex.Hex): bigint => {
  let tokens = 0
  for (let at = 2; at < data.length; at += 2) {
    tokens += data.charCodeAt(at) === 48 && data.charCodeAt(at + 1) === 48 ? 1 : 4
  }
  return BigInt(tokens)
}
