/**
 * The condition of claiming on each network. A voucher is worth what can be claimed before its payer withdraws: while claims cannot be
 * sent, or no look for withdrawals was good, no draw is granted, and deposits leave the coin that claims need.
 */
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"

import type { ChainUnavailable } from "../../protocol/ProtocolError.ts"
import { FacilitatorUnavailable } from "../../protocol/ProtocolError.ts"
import type { SchemeFacilitator } from "../../scheme/SchemeFacilitator.ts"

/** Claims that a signer's coin has to pay for before a draw is granted, and before a deposit is sent. */
const coinFor = { draws: 1n, deposits: 10n }

/** A withdrawal has to be seen long before its delay is over: the part of the delay in which each channel is looked at. */
const lookedWithin = 3

/** The kinds of claims, which fail apart. */
export type ClaimKind = "urgent" | "calm"

/** The condition of claiming. */
export interface ChannelHealth {
  /**
   * Fails while a draw on a channel with this delay of withdrawals, in seconds, could not be claimed in time. Waits for the end of the
   * process's first look: a process that starts again and again without a good one grants nothing.
   */
  readonly demand: (
    facilitator: SchemeFacilitator,
    withdrawDelay: number
  ) => Effect.Effect<void, FacilitatorUnavailable>
  /** Sends a deposit, unless the coin that is left would not pay for claims. */
  readonly depositing: <A, E>(
    facilitator: SchemeFacilitator,
    claimGas: bigint,
    deposit: Effect.Effect<A, E>
  ) => Effect.Effect<A, E | FacilitatorUnavailable | ChainUnavailable>
  /** Notes that every channel that owes money was looked at, and whether the signers can pay for a claim. */
  readonly looked: (facilitator: SchemeFacilitator, claimGas: bigint) => Effect.Effect<void, ChainUnavailable>
  /** Notes that a look failed. */
  readonly missed: (network: string) => void
  /** Notes the failure of claims of this kind; `undefined` if they can be sent. */
  readonly claimed: (network: string, kind: ClaimKind, failure: string | undefined) => void
  /** Notes that claims of this kind are sent, and that the outcome of all of them is unknown. */
  readonly pending: (network: string, kind: ClaimKind) => Effect.Effect<void>
}

interface Condition {
  /** The last good look, in Unix milliseconds; `undefined` before the first. */
  lookedAt: number | undefined
  /** The end of the first look, good or not. */
  readonly firstLook: Deferred.Deferred<void>
  shortage: string | undefined
  readonly failures: Map<ClaimKind, string>
  /** Since when no claim of a kind has had an outcome, in Unix milliseconds. */
  readonly pendingSince: Map<ClaimKind, number>
  /** Deposits on their way. */
  deposits: number
}

/** Begins without a look. */
export const make: Effect.Effect<ChannelHealth> = Effect.sync(() => {
  const conditions = new Map<string, Condition>()
  const conditionOf = (network: string): Condition => {
    const known = conditions.get(network)
    if (known !== undefined) return known
    const condition: Condition = {
      lookedAt: undefined,
      firstLook: Deferred.makeUnsafe(),
      shortage: undefined,
      failures: new Map(),
      pendingSince: new Map(),
      deposits: 0
    }
    conditions.set(network, condition)
    return condition
  }
  return {
    demand: ({ network }, withdrawDelay) =>
      Effect.gen(function* () {
        const condition = conditionOf(network)
        if (condition.lookedAt === undefined) yield* Deferred.await(condition.firstLook)
        const reason = reasonIn(condition, withdrawDelay, yield* Clock.currentTimeMillis)
        if (reason !== undefined) return yield* unclaimable(network, reason)
      }),
    depositing: (facilitator, claimGas, deposit) =>
      Effect.suspend(() => {
        const condition = conditionOf(facilitator.network)
        const beside = coinFor.deposits + BigInt(condition.deposits)
        condition.deposits++
        const left = Effect.sync(() => void condition.deposits--)
        const enough = Effect.flatMap(shortageOf(facilitator, claimGas * beside), (shortage) =>
          shortage === undefined ? Effect.void : Effect.fail(unclaimable(facilitator.network, shortage))
        )
        return Effect.ensuring(Effect.andThen(enough, deposit), left)
      }),
    looked: Effect.fnUntraced(function* (facilitator, claimGas) {
      const condition = conditionOf(facilitator.network)
      const now = yield* Clock.currentTimeMillis
      condition.shortage = yield* shortageOf(facilitator, claimGas * coinFor.draws)
      condition.lookedAt = now
      Deferred.doneUnsafe(condition.firstLook, Effect.void)
    }),
    missed: (network) => void Deferred.doneUnsafe(conditionOf(network).firstLook, Effect.void),
    claimed: (network, kind, failure) => {
      const { failures, pendingSince } = conditionOf(network)
      pendingSince.delete(kind)
      if (failure === undefined) failures.delete(kind)
      else failures.set(kind, failure)
    },
    pending: (network, kind) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        const { pendingSince } = conditionOf(network)
        if (!pendingSince.has(kind)) pendingSince.set(kind, now)
      })
  } satisfies ChannelHealth
})

/** The reason that draws are not granted; `undefined` if there is none. */
const reasonIn = ({ failures, lookedAt, pendingSince, shortage }: Condition, withdrawDelay: number, now: number) => {
  const [failure] = failures.values()
  const longest = (withdrawDelay * 1000) / lookedWithin
  if (lookedAt === undefined || now - lookedAt > longest) return "withdrawals could not be looked for lately"
  // Charges of that time are claimed by none of them before a withdrawal.
  const isStuck = [...pendingSince.values()].some((since) => now - since > longest)
  return shortage ?? failure ?? (isStuck ? "no claim that was sent has come into a block lately" : undefined)
}

/** The reason that no transaction of this much gas can be sent now; `undefined` if there is none. */
const shortageOf = Effect.fnUntraced(function* (
  { chainHead, signers }: SchemeFacilitator,
  gas: bigint
): Effect.fn.Return<string | undefined, ChainUnavailable> {
  const { fees } = yield* chainHead
  if (fees === undefined) return undefined
  if (fees.maximum > fees.ceiling)
    return `gas costs ${fees.maximum} a unit, more than the ${fees.ceiling} that the operator allows`
  const balances = yield* signers
  const most = balances.reduce((high, { balance }) => (balance > high ? balance : high), 0n)
  const needed = gas * fees.maximum
  return most < needed ? `the signers hold ${most} at most, and claims may cost ${needed}` : undefined
})

const unclaimable = (network: string, reason: string) =>
  new FacilitatorUnavailable({
    message: `payment channels on ${network} are not drawn on, because claims may not be sent in time: ${reason}; the payer may repeat this request later`,
    retryAfter: 30
  })
