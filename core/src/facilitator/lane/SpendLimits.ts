/**
 * The ceilings of what settling may cost: callers spend the operator's gas. A ceiling holds for any 24 hours, to the hour, for a whole
 * network and for each caller on it; a pending transaction counts with the most that it may cost. Callers without a ceiling of their
 * own share the network's (`CallerShares`).
 */
import * as Duration from "effect/Duration"

import * as OptionCheck from "../../protocol/OptionCheck.ts"
import * as CallerShares from "../../scheme/CallerShares.ts"
import type { SchemeFacilitator } from "../../scheme/SchemeFacilitator.ts"
import type { NetworkSpend, OpenExpense } from "../store/NetworkSpend.ts"
import * as TransactionCost from "../store/TransactionCost.ts"

/** The ceilings, in a network's smallest native unit; `undefined` means none. */
export interface SpendLimits {
  readonly total?: (network: string) => bigint | undefined
  /** A ceiling of this caller alone: it replaces its share in the total, whether it is higher or lower. */
  readonly caller?: (name: string, network: string) => bigint | undefined
  /** The callers that share a network's total; default none, and then the first callers may use all of it. */
  readonly callers?: (network: string) => ReadonlyArray<string>
}

/** Checks the options. */
export const check: OptionCheck.Check<SpendLimits> = OptionCheck.options<SpendLimits>({
  total: OptionCheck.optional(OptionCheck.callable()),
  caller: OptionCheck.optional(OptionCheck.callable()),
  callers: OptionCheck.optional(OptionCheck.callable())
})

/** The period for which spending counts; milliseconds. */
export const periodMillis = Duration.toMillis("24 hours")

/** The operator's ceilings; a network without one has the ceiling of its scheme. */
export const orDefault = (
  { total, ...limits }: SpendLimits,
  schemes: ReadonlyArray<Pick<SchemeFacilitator, "gasCeiling" | "network">>
): SpendLimits => ({
  ...limits,
  total: (network) => total?.(network) ?? schemes.find((scheme) => scheme.network === network)?.gasCeiling
})

/** Whether any ceiling holds for these callers. */
export const hold = (limits: SpendLimits, network: string, callers: Iterable<string>): boolean =>
  limits.total?.(network) !== undefined ||
  [...new Set(callers)].some((caller) => limits.caller?.(caller, network) !== undefined)

/** The ceilings of one network, and their use. */
export interface Room {
  /** Counts an expense. */
  readonly spend: (expense: OpenExpense) => void
  /** The ceilings that an expense would break: names of callers, `undefined` for the network's. Counts nothing. */
  readonly broken: (expense: OpenExpense) => ReadonlyArray<string | undefined>
  /** The most that a transaction for payments of these callers may cost; `undefined` without a ceiling. */
  readonly most: (callers: Iterable<string>) => bigint | undefined
}

/** The room of a network without ceilings. */
export const unlimited: Room = { spend: () => undefined, broken: () => [], most: () => undefined }

/** The room that the ceilings leave by the books. */
export const room = (limits: SpendLimits, network: string, { open, spent }: NetworkSpend): Room => {
  const total = limits.total?.(network)
  const ownLimit = (caller: string) => limits.caller?.(caller, network)
  const parts = total === undefined ? new Map() : CallerShares.partsOf(total, limits.callers?.(network) ?? [], ownLimit)
  const used = new Map(spent)
  let all = [...spent.values()].reduce((sum, cost) => sum + cost, 0n)
  const of = (caller: string) => used.get(caller) ?? 0n
  const spend = ({ callers, cost }: OpenExpense) => {
    all += cost
    for (const [caller, part] of TransactionCost.shares(cost, callers)) used.set(caller, of(caller) + part)
  }
  for (const expense of open) spend(expense)
  const left = (caller: string, more = 0n): bigint | undefined => {
    const limit = ownLimit(caller)
    if (limit !== undefined) return limit - of(caller)
    return total === undefined ? undefined : CallerShares.roomOf(total, parts, caller, { all: all + more, of })
  }
  return {
    spend,
    broken: ({ callers, cost, held = callers }) => {
      const breaking: Array<string | undefined> = total !== undefined && cost > total - all ? [undefined] : []
      let more = 0n
      for (const [caller, part] of callers.length === 0 ? [] : TransactionCost.shares(cost, callers)) {
        const most = left(caller, more)
        if (most !== undefined && part > most && held.includes(caller)) breaking.push(caller)
        more += part
      }
      return breaking
    },
    most: (callers) => {
      const free = total === undefined ? undefined : total - all
      const [only, ...others] = new Set(callers)
      const own = only === undefined || others.length > 0 ? undefined : left(only)
      return own !== undefined && (free === undefined || own < free) ? own : free
    }
  }
}

/** Whether the ceilings allow all these expenses by the books. */
export const allow = (
  limits: SpendLimits,
  network: string,
  expenses: ReadonlyArray<OpenExpense>,
  books: NetworkSpend
): boolean => {
  const left = room(limits, network, books)
  return expenses.every((expense) => {
    if (left.broken(expense).length > 0) return false
    left.spend(expense)
    return true
  })
}
