/**
 * What griefers have cost. A payer who moves the Jettons away after a good verification wins what was attached, at the
 * price of a transaction: the first time it is banned for a while. A recipient whose wallet bounces is banned too. One who
 * spends the number of a request that is on its way costs little, and may have been in a hurry: the third time is too often.
 * And what is lost to all of them in a day has a limit, above which nothing is relayed.
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"

/**
 * How much is held against an account: a grave loss bans it at once, slight ones when they are many, `none` never.
 *
 * @category models
 */
export type Gravity = "grave" | "slight" | "none"

/**
 * The losses.
 *
 * @category models
 */
export interface TonLosses {
  /** Notes that an attempt for this account (a payer, or a recipient) lost so many nanotons, by something grave or not. */
  readonly note: (culprit: string, nanotons: bigint, gravity: Gravity) => Effect.Effect<void>
  /** Whether the account is banned. */
  readonly isBanned: (account: string) => Effect.Effect<boolean>
  /** Whether the day's limit is reached. */
  readonly isExhausted: Effect.Effect<boolean>
}

/**
 * The limits.
 *
 * @category models
 */
export interface Options {
  /** The most that may be lost in 24 hours, in nanotons. */
  readonly budget: bigint
  readonly banMillis: number
}

const day = Duration.toMillis("24 hours")
/** Slight losses in a day after which an account is banned. */
const patience = 3
/** So many bans and losses are remembered. */
const capacity = 100_000

/**
 * Nothing is lost yet.
 *
 * @category constructors
 */
export const make = ({ banMillis, budget }: Options): TonLosses => {
  const bans = new Map<string, number>()
  let losses: Array<{
    readonly at: number
    readonly nanotons: bigint
    readonly culprit: string
    readonly gravity: Gravity
  }> = []
  return {
    note: (culprit, nanotons, gravity) =>
      Effect.map(Clock.currentTimeMillis, (at) => {
        losses = [...losses.filter((loss) => loss.at > at - day).slice(-capacity), { at, culprit, nanotons, gravity }]
        const times = losses.filter((loss) => loss.culprit === culprit && loss.gravity !== "none").length
        if (gravity === "none" || (gravity === "slight" && times < patience)) return
        const [oldest] = bans.keys()
        if (bans.size >= capacity && oldest !== undefined) bans.delete(oldest)
        bans.set(culprit, at + banMillis)
      }),
    isBanned: (account) => Effect.map(Clock.currentTimeMillis, (now) => (bans.get(account) ?? 0) > now),
    isExhausted: Effect.map(
      Clock.currentTimeMillis,
      (now) => losses.reduce((sum, { at, nanotons }) => (at > now - day ? sum + nanotons : sum), 0n) >= budget
    )
  }
}
