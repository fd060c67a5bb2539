/**
 * Buyers and sellers at work: payments are signed and presented as the protocol wants it, and presented again, the same
 * authorization, for as long as the outcome is not known. The journal holds each response; the ends are counted here.
 */
import type { EvmTestAccounts } from "@pontage/evm/testing"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { Address } from "viem"
import type { SmartAccount } from "viem/account-abstraction"

import type { CallerOutcome } from "../audit/TrialJournal.ts"
import type { SignOnward } from "../routes/OnwardLeg.ts"
import type { TrialCaller, TrialClaim } from "./TrialCaller.ts"
import * as TrialPayment from "./TrialPayment.ts"
import type { TrialRandom } from "./TrialRandom.ts"

/** The options of the load. */
export interface Options {
  readonly market: TrialPayment.Market
  readonly caller: TrialCaller
  readonly random: TrialRandom
  /** Addresses of facilitators; each request goes to one of them. */
  readonly facilitators: ReadonlyArray<string>
  readonly payers: ReadonlyArray<EvmTestAccounts.TestAccount>
  readonly payTo: Address
  /** Smart accounts, which pay by user operations; default none. With them some plain accounts pay by Permit2. */
  readonly accounts?: ReadonlyArray<SmartAccount>
  /** Signs the part of the payments that goes on to another chain; default all stay. */
  readonly onward?: SignOnward
  /** Number of buyers at once. */
  readonly concurrency: number
  /** Validity of an authorization, in seconds; default 120. */
  readonly validSeconds?: number
  /** Time that a buyer asks for an outcome before it gives up, in milliseconds; default 180 000. */
  readonly patienceMillis?: number
  /** Payments per thousand that come without a claim (default 150), by `/claims` first (100), in two copies (100), by a route (400). */
  readonly mix?: Partial<Mix>
}

/** Shares of the kinds of payments, per thousand. */
export interface Mix {
  readonly unclaimed: number
  readonly afterHandler: number
  readonly copied: number
  /** Where payments may go on. */
  readonly routed: number
}

/** Purchases of smart accounts per thousand, and those of plain accounts by Permit2, where there are smart accounts. */
const byOperation = 400
const byPermit = 200

/** The end of a purchase for its buyer. */
export type PurchaseEnd = "settled" | "used" | "refused" | "elsewhere" | "unknown"

/** The purchases so far, counted by their end. */
export type PurchaseCounts = Record<PurchaseEnd, number>

/** No purchases. */
export const none = (): PurchaseCounts => ({ settled: 0, used: 0, refused: 0, elsewhere: 0, unknown: 0 })

/** Buys until `enough`, given the number of purchases begun, is true; counts into `counts` as it goes. */
export const run = (
  options: Options,
  counts: PurchaseCounts,
  enough: (begun: number) => boolean
): Effect.Effect<void> => {
  let begun = 0
  const buyer = Effect.gen(function* () {
    while (!enough(begun)) {
      const luck = options.random.branch(begun++)
      const end = yield* purchase(options, luck)
      counts[end] += 1
    }
  })
  return Effect.forEach(Array.from({ length: options.concurrency }), () => buyer, {
    concurrency: "unbounded",
    discard: true
  })
}

/** Longest delay of a copy after the first, in milliseconds. */
const copiesWithin = 1_500

/** Longest run of a handler before the settlement, in milliseconds: copies come while it runs. */
const longestHandler = 2_000

const usual: Mix = { unclaimed: 150, afterHandler: 100, copied: 100, routed: 400 }

/** Signs one payment and has it settled. */
export const purchase = Effect.fnUntraced(function* (options: Options, luck: TrialRandom) {
  const mix = { ...usual, ...options.mix }
  const now = yield* Clock.currentTimeMillis
  const payment = yield* Effect.promise(() => signed(options, mix, luck, now))
  const claimed = !luck.perMille(mix.unclaimed)
  const attempt: Attempt = {
    options,
    payment,
    claim: claimed ? claimOf(luck) : undefined,
    luck,
    deadline: now + (options.patienceMillis ?? 180_000)
  }
  const first = claimed && luck.perMille(mix.afterHandler) ? taken(attempt) : Effect.undefined
  const wanted = Effect.andThen(first, settled(attempt))
  if (!claimed || !luck.perMille(mix.copied)) return yield* wanted
  const copy = { ...attempt, claim: claimOf(luck.branch("copy")), luck: luck.branch("copies") }
  const late = Effect.andThen(Effect.sleep(copy.luck.below(copiesWithin)), settled(copy))
  const [end] = yield* Effect.all([wanted, late], { concurrency: "unbounded" })
  return end
})

const signed = (options: Options, mix: Mix, luck: TrialRandom, now: number): Promise<TrialPayment.TrialPayment> => {
  const terms = {
    payer: luck.pick(options.payers),
    payTo: options.payTo,
    amount: BigInt(luck.between(1, 10_000)),
    validBefore: Math.floor(now / 1000) + (options.validSeconds ?? 120),
    bound: luck.perMille(500)
  }
  const { accounts = [], market, onward } = options
  if (onward !== undefined && luck.branch("route").perMille(mix.routed)) {
    const amount = BigInt(luck.branch("dollars").between(1_000_000, 10_000_000))
    return onward(market, { ...terms, amount }, luck.branch("nonce"))
  }
  const way = luck.branch("way")
  const drawn = accounts.length === 0 ? 1_000 : way.below(1_000)
  const nonce = luck.branch("nonce")
  if (drawn < byOperation) return TrialPayment.signOperation(market, { ...terms, account: way.pick(accounts) }, nonce)
  return drawn < byOperation + byPermit
    ? TrialPayment.signPermit(market, terms, nonce)
    : TrialPayment.sign(market, terms, nonce)
}

interface Attempt {
  readonly options: Options
  readonly payment: TrialPayment.TrialPayment
  readonly claim: TrialClaim | undefined
  readonly luck: TrialRandom
  /** Unix milliseconds. */
  readonly deadline: number
}

const claimOf = (luck: TrialRandom): TrialClaim => ({
  id: TrialPayment.bytesOf(luck.branch("claim"), 16).toString("base64url"),
  resource: "resource".padEnd(43, "x")
})

const isDecided = (told: CallerOutcome): boolean =>
  told._tag === "Finished" ||
  (told._tag === "Verdict" &&
    (told.success || told.refusal !== undefined || (told.execution !== undefined && told.execution !== "granted")))

/** Asks until the outcome is decided, or the patience is over; then the last outcome stands. */
const insisting = Effect.fnUntraced(function* (
  { deadline, luck, options }: Attempt,
  ask: (facilitator: string) => Effect.Effect<CallerOutcome>
) {
  for (let pause = 100; ; pause = Math.min(2000, pause * 2)) {
    const told = yield* ask(luck.pick(options.facilitators))
    if (isDecided(told) || (yield* Clock.currentTimeMillis) > deadline) return told
    yield* Effect.sleep(pause + luck.below(pause))
  }
})

/** Claims first and runs its handler, as a server does that settles afterwards. */
const taken = (attempt: Attempt) =>
  Effect.andThen(
    insisting(attempt, (facilitator) =>
      attempt.options.caller.present("claim", facilitator, attempt.payment, attempt.claim)
    ),
    Effect.suspend(() => Effect.sleep(attempt.luck.branch("handler").below(longestHandler)))
  )

const settled = Effect.fnUntraced(function* (attempt: Attempt): Effect.fn.Return<PurchaseEnd> {
  const { claim, options, payment } = attempt
  const told = yield* insisting(attempt, (facilitator) => options.caller.present("settle", facilitator, payment, claim))
  if (told._tag !== "Verdict" || !isDecided(told)) return "unknown"
  if (told.refusal !== undefined) return told.refusal === "already_used" ? "used" : "refused"
  if (claim === undefined) return "settled"
  if (told.execution !== "granted") return "elsewhere"
  yield* insisting(attempt, (facilitator) =>
    options.caller.finish(facilitator, payment, told.paymentId, claim.id, "served")
  )
  return "settled"
})
