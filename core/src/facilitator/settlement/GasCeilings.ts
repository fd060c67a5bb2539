/**
 * What settling may cost: somebody else's gas is a budget. The ceilings hold for any 24 hours, to the hour, for everything
 * on a network and for each caller on it; what is in the air counts with the most that it may cost.
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"

import * as OptionCheck from "../../protocol/OptionCheck.ts"
import type { FacilitatorUnavailable } from "../../protocol/ProtocolError.ts"
import type { SchemeFacilitator } from "../../scheme/SchemeFacilitator.ts"
import type { PaymentStore, StoredPayment } from "../records/PaymentStore.ts"

/**
 * The ceilings, in a network's smallest native unit; `undefined` where there is none.
 *
 * @category models
 */
export interface GasCeilings {
  readonly total?: (network: string) => bigint | undefined
  readonly caller?: (name: string, network: string) => bigint | undefined
}

/**
 * The keys of the ceilings.
 *
 * @category constants
 */
export const check: OptionCheck.Check<GasCeilings> = OptionCheck.options<GasCeilings>({
  total: OptionCheck.optional(OptionCheck.callable()),
  caller: OptionCheck.optional(OptionCheck.callable())
})

/**
 * What may still be spent: by name of the caller, and altogether under `undefined`. Without a ceiling there is no entry.
 *
 * @category models
 */
export type Room = Map<string | undefined, bigint>

/**
 * A transaction that costs at most so much, and whose payments share the cost.
 *
 * @category models
 */
export interface Expense {
  readonly cost: bigint
  readonly payments: ReadonlyArray<StoredPayment>
}

const period = Duration.toMillis("24 hours")

/**
 * The operator's ceilings, and for a network without one that of its scheme.
 *
 * @category constructors
 */
export const orDefault = (
  { caller, total }: GasCeilings,
  halves: ReadonlyArray<Pick<SchemeFacilitator, "gasCeiling" | "network">>
): GasCeilings => ({
  total: (network) => total?.(network) ?? halves.find((half) => half.network === network)?.gasCeiling,
  ...(caller && { caller })
})

/**
 * Whether there is any ceiling for these callers.
 *
 * @category guards
 */
export const hold = (ceilings: GasCeilings, network: string, callers: Iterable<string>): boolean =>
  ceilings.total?.(network) !== undefined ||
  [...new Set(callers)].some((caller) => ceilings.caller?.(caller, network) !== undefined)

/**
 * What may be spent now for these callers. What is in the air has to be looked up before: what lands meanwhile counts twice
 * then, and never not at all.
 *
 * @category constructors
 */
export const room = Effect.fnUntraced(function* (
  ceilings: GasCeilings,
  store: PaymentStore["Service"],
  network: string,
  callers: Iterable<string>,
  inTheAir: ReadonlyArray<Expense>
): Effect.fn.Return<Room, FacilitatorUnavailable> {
  const since = (yield* Clock.currentTimeMillis) - period
  const left: Room = new Map()
  const total = ceilings.total?.(network)
  if (total !== undefined) left.set(undefined, total - (yield* store.spent(network, since)))
  for (const caller of new Set(callers)) {
    const ceiling = ceilings.caller?.(caller, network)
    if (ceiling !== undefined) left.set(caller, ceiling - (yield* store.spent(network, since, caller)))
  }
  for (const expense of inTheAir) spend(left, expense)
  return left
})

/**
 * Takes an expense out of what is left.
 *
 * @category combinators
 */
export const spend = (left: Room, expense: Expense): void => {
  for (const [name, share] of sharesOf(expense)) {
    const now = left.get(name)
    if (now !== undefined) left.set(name, now - share)
  }
}

/**
 * Whose ceiling an expense would break: names of callers, `undefined` for that of all.
 *
 * @category getters
 */
export const broken = (left: Room, expense: Expense): ReadonlyArray<string | undefined> =>
  [...sharesOf(expense)].flatMap(([name, share]) => {
    const now = left.get(name)
    return now !== undefined && now < share ? [name] : []
  })

const sharesOf = ({ cost, payments }: Expense): ReadonlyMap<string | undefined, bigint> => {
  const shares = new Map<string | undefined, bigint>([[undefined, cost]])
  const each = payments.length === 0 ? 0n : cost / BigInt(payments.length)
  for (const { caller } of payments) shares.set(caller, (shares.get(caller) ?? 0n) + each)
  return shares
}
