/**
 * The native balance that a lane's signer can still pay with. A node takes a transaction only if the signer owns the most that this
 * and all its other pending transactions may cost. The balance is queried rarely: the rest of the last query, less the cost of
 * everything signed since, is certain to be there unless the balance was withdrawn. Then a node rejects a transaction, and the
 * balance is queried again.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"

import type { SchemeFacilitator } from "../../scheme/SchemeFacilitator.ts"
import { lastAttempt, type TrackedTransaction } from "./TrackedTransaction.ts"

/** The funds of one lane's signer. Amounts are in the chain's smallest native unit. */
export interface SignerFunds {
  /**
   * The rest beyond the most that all transactions on their way may cost: at least the cost, if the signer owns that much; below
   * zero, if the transactions may cost more than the signer owns. `undefined` if the balance is unknown: the node decides then.
   */
  readonly left: (cost: bigint, onTheWay: () => ReadonlyArray<TrackedTransaction>) => Effect.Effect<bigint | undefined>
  /** Subtracts the cost of a signed transaction. */
  readonly spend: (cost: bigint) => void
  /** Forgets the rest: the next use queries the balance. */
  readonly forget: () => void
  /** The signer cannot pay for one more beside this number of pending transactions. */
  readonly short: (pending: number) => void
  /** The most pending transactions that the signer can pay for; `Infinity` while it is not short. */
  readonly payable: () => number
}

/** Timeout of the balance query; the lane waits for it. */
const timeout = Duration.seconds(2)

/** The funds of this signer; the address is empty for a family without slots, whose lane pays for nothing. */
export const make = ({ signers }: Pick<SchemeFacilitator, "signers">, address: string): SignerFunds => {
  let rest: bigint | undefined
  let payable = Number.POSITIVE_INFINITY
  return {
    left: Effect.fnUntraced(function* (cost, onTheWay) {
      if (address === "" || (rest !== undefined && rest >= cost)) return rest
      const balances = yield* Effect.catch(Effect.timeout(signers, timeout), (error) =>
        Effect.as(Effect.logDebug("the balance query of a signer failed", error), [])
      )
      const owned = balances.find((signer) => signer.address === address)?.balance
      if (owned === undefined) return undefined
      rest = owned - onTheWay().reduce((sum, transaction) => sum + lastAttempt(transaction).cost, 0n)
      return rest
    }),
    spend: (cost) => {
      payable = Number.POSITIVE_INFINITY
      if (rest !== undefined) rest -= cost
    },
    forget: () => {
      rest = undefined
    },
    short: (pending) => {
      payable = Math.max(1, pending)
    },
    payable: () => payable
  }
}

/**
 * The part of a limit that several payments may cost together: the rest pays for a replacement that offers an eighth more, should
 * their transaction stay pending.
 */
export const shareOf = (limit: bigint): bigint => (limit * 8n) / 9n

/** The lowest of limits; `undefined` if there is none. */
export const lowest = (...limits: ReadonlyArray<bigint | undefined>): bigint | undefined =>
  limits.reduce((a, b) => (a === undefined || (b !== undefined && b < a) ? b : a), undefined)
