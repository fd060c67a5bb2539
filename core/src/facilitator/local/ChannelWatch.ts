/**
 * The watch over a ledger of payment channels. On each network it looks at the channels that owe money every half minute, claims at once
 * where a withdrawal is pending, claims what is due by the policy, and has it paid out. These three never wait for each other.
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"

import * as BoundedMap from "../../platform/BoundedMap.ts"
import * as OptionCheck from "../../protocol/OptionCheck.ts"
import type { PaymentFailure } from "../../protocol/PaymentFailure.ts"
import type { Misconfigured } from "../../protocol/ProtocolError.ts"
import type { ChannelParties } from "../../scheme/SchemeDraws.ts"
import type { ClaimPolicy, ClaimRow } from "../channel/Channel.ts"
import type { ChannelClaims, Watched } from "./ChannelClaims.ts"
import type { DrawContext } from "./ChannelDraws.ts"
import type { ClaimKind } from "./ChannelHealth.ts"

/** When charges are claimed and paid out. Amounts in the token's smallest unit; times in milliseconds. */
export interface Options {
  /** Pause between two looks at the channels; default 30 000, at most 30 000: the contract lets a payer withdraw after 900 seconds. */
  readonly pollMillis?: number
  /**
   * Unclaimed money of a channel below which it is never claimed, also before a withdrawal, and the least refund; default 10 000, a cent of a dollar token.
   * Set it above what a claim costs on the network, and the price of a route not far below it.
   */
  readonly leastClaim?: bigint
  /** Unclaimed money of a channel that is claimed at once; default 5 000 000. */
  readonly maximumUnclaimed?: bigint
  /** Unclaimed money of a channel that is worth a claim once it is `worthwhileAgeMillis` old; default 50 000. */
  readonly worthwhile?: bigint
  /** Default an hour. */
  readonly worthwhileAgeMillis?: number
  /** The age at which any unclaimed money is claimed, from `leastClaim` on; default a day. */
  readonly maximumAgeMillis?: number
  /** Claimed money of a receiver that is paid out at once; default 50 000. Less is paid out once it is `maximumAgeMillis` old. */
  readonly leastPayout?: bigint
}

const slowest = 30_000

/** Checks {@link Options}. */
const check = OptionCheck.options<Options>({
  pollMillis: OptionCheck.optional(OptionCheck.whole(1, slowest)),
  leastClaim: OptionCheck.optional(OptionCheck.amount(1n)),
  maximumUnclaimed: OptionCheck.optional(OptionCheck.amount(1n)),
  worthwhile: OptionCheck.optional(OptionCheck.amount(1n)),
  worthwhileAgeMillis: OptionCheck.optional(OptionCheck.whole()),
  maximumAgeMillis: OptionCheck.optional(OptionCheck.whole()),
  leastPayout: OptionCheck.optional(OptionCheck.amount(1n))
})

/** The same options on all networks, or each network's own. */
export type ForNetworks = Options | ((network: string) => Options)

/** Checks {@link ForNetworks}, up to what a function returns. */
export const checkForNetworks = OptionCheck.either<Options, (network: string) => Options>(check, OptionCheck.callable())

/** The options of these networks; `Misconfigured` for a mistake in what a function returns for one of them. */
export const forNetworks = (
  given: ForNetworks,
  networks: ReadonlyArray<string>
): Result.Result<(network: string) => Options, Misconfigured> => {
  if (typeof given !== "function") return Result.succeed(() => given)
  const found = new Map<string, Options>()
  for (const network of networks) {
    const options = OptionCheck.read(check, given(network), `LocalFacilitator: channels on ${network}`)
    if (Result.isFailure(options)) return Result.fail(options.failure)
    found.set(network, options.success)
  }
  return Result.succeed((network) => found.get(network) ?? {})
}

const day = Duration.toMillis("1 day")

/** Channels that are read at once, and reads and claims side by side. */
const together = 100
const sideBySide = 4

/** Draws are forgotten a day after their lease, in at most this many steps a look. */
const forgetting = { age: day, steps: 10 }

/** Watches until it is interrupted. A step that fails is logged, and comes again with the next look. */
export const run = (
  context: DrawContext,
  claims: ChannelClaims,
  optionsOf: (network: string) => Options
): Effect.Effect<void> => {
  const watched = context.intake.registry.schemes.flatMap((facilitator) => {
    const draws = facilitator.channels?.draws
    return draws === undefined ? [] : [{ facilitator, draws }]
  })
  const begin = (one: Watched) => {
    const options = optionsOf(one.facilitator.network)
    return watch({ ...context, claims, watched: one, options, receivers: new Map(), configs: { readAt: undefined } })
  }
  return Effect.forEach(watched, begin, { concurrency: "unbounded", discard: true })
}

/** A receiver whose claims are paid out, and the instant since which money waits for it; Unix milliseconds. */
interface Receiver {
  readonly parties: Pick<ChannelParties, "payTo" | "asset">
  unpaidSince: number | undefined
}

/** The watch over one network. */
interface Watch extends DrawContext {
  readonly claims: ChannelClaims
  readonly watched: Watched
  readonly options: Options
  readonly receivers: Map<string, Receiver>
  /** The last whole read of all channels' terms; Unix milliseconds. */
  readonly configs: { readAt: number | undefined }
}

const watch = (self: Watch): Effect.Effect<void> => {
  const { network } = self.watched.facilitator
  const pause = Duration.millis(self.options.pollMillis ?? slowest)
  const forever = (what: string, step: Effect.Effect<void, PaymentFailure>) =>
    Effect.forever(Effect.andThen(Effect.sandbox(step).pipe(logged(network, what)), Effect.sleep(pause)))
  const givenUp = BoundedMap.oldestOut<string, true>(10_000)
  const paying = Effect.andThen(known(self), payOut(self))
  return Effect.all(
    [
      forever(
        "be looked at",
        Effect.onError(look(self), () => Effect.sync(() => self.health.missed(network)))
      ),
      forever("be claimed", Effect.andThen(giveUp(self, givenUp), claimDue(self, "urgent"))),
      forever("be claimed", claimDue(self, "calm")),
      forever("be paid out", paying),
      forever("be forgotten", forget(self))
    ],
    { concurrency: "unbounded", discard: true }
  )
}

const logged = (network: string, what: string) =>
  Effect.catch((cause: unknown) =>
    Effect.logWarning(`payment channels on ${network} could not ${what}; they are tried again soon`, cause)
  )

/** The least sum that is worth a transaction of its own. */
export const leastClaimOf = ({ leastClaim = 10_000n }: Options): bigint => leastClaim

const everything = { least: 1n, maximumUnclaimed: 1n, worthwhile: 1n, worthwhileAge: 0, maximumAge: 0 }

const policyOf = ({ options, watched }: Watch): ClaimPolicy => ({
  network: watched.facilitator.network,
  least: leastClaimOf(options),
  maximumUnclaimed: options.maximumUnclaimed ?? 5_000_000n,
  worthwhile: options.worthwhile ?? 50_000n,
  worthwhileAge: options.worthwhileAgeMillis ?? 3_600_000,
  maximumAge: options.maximumAgeMillis ?? day
})

/** Reads every channel that owes money, or did so lately. Channels that could not be read keep the others from nothing but a good look. */
const look = Effect.fnUntraced(function* (self: Watch): Effect.fn.Return<void, PaymentFailure> {
  const { claims, health, ledger, watched } = self
  const { draws, facilitator } = watched
  const ids = yield* ledger.watched(facilitator.network)
  const parts = Array.from({ length: Math.ceil(ids.length / together) }, (_, part) =>
    ids.slice(part * together, (part + 1) * together)
  )
  const ends = yield* Effect.forEach(parts, (part) => Effect.result(claims.observe(watched, part)), {
    concurrency: sideBySide
  })
  for (const end of ends) if (end._tag === "Failure") return yield* end.failure
  yield* health.looked(facilitator, draws.claimGas)
})

/** Claims the rows that are due. Rows before a withdrawal go apart: another channel's poor row delays them by no trial. */
const claimDue = Effect.fnUntraced(function* (self: Watch, kind: ClaimKind): Effect.fn.Return<void, PaymentFailure> {
  const { claims, health, ledger, watched } = self
  const { network } = watched.facilitator
  const due = yield* ledger.due(policyOf(self))
  const rows = due.filter(({ urgent }) => urgent === (kind === "urgent"))
  const ends = yield* Effect.forEach(
    watched.draws.claims(rows),
    (requests) => Effect.result(claims.claim(watched, requests)),
    { concurrency: kind === "urgent" ? "unbounded" : sideBySide }
  )
  const failures = ends.flatMap((end) => (end._tag === "Failure" ? [end.failure] : []))
  const reason = failures.find(isOfAll)?.message
  const isUnknown = failures.length === ends.length && failures.some(isPending)
  if (reason !== undefined || !isUnknown) health.claimed(network, kind, reason)
  else yield* health.pending(network, kind)
  for (const failure of failures)
    yield* Effect.logWarning(`payment channels on ${network} could not be claimed; they are tried again soon`, failure)
})

/** Whether a failure holds for other claims too: nothing can be sent. A channel whose own row fails stops no other's draws. */
const isOfAll = ({ _tag }: PaymentFailure): boolean =>
  _tag === "FacilitatorUnavailable" || _tag === "ChainUnavailable" || _tag === "Misconfigured"

/**
 * Whether the claim may still land: its unknown outcome, beside no claim that landed, lets draws go on no sooner, and stops them once it has
 * lasted for a part of the delay of a withdrawal.
 */
const isPending = ({ _tag }: PaymentFailure): boolean => _tag === "SettlementPending"

/** Says once which channels are withdrawn from whose debt is not worth a claim. */
const giveUp = Effect.fnUntraced(function* (self: Watch, givenUp: Map<string, true>) {
  const policy = policyOf(self)
  const rows = yield* self.ledger.due({ ...policy, ...everything })
  const claimed = new Set((yield* self.ledger.due(policy)).map(idOf))
  const lost = rows.filter((row) => row.urgent && !claimed.has(row.channelId) && !givenUp.has(row.channelId))
  for (const { channelId } of lost) givenUp.set(channelId, true)
  if (lost.length > 0) {
    const message = `${lost.length} payment channels on ${policy.network} are withdrawn from and owe less than leastClaim (${policy.least}); their debts are given up`
    yield* Effect.logWarning(message, lost.slice(0, 5).map(idOf))
  }
})

const idOf = ({ channelId }: Pick<ClaimRow, "channelId">): string => channelId

/** Pause between two reads of all channels' terms, in milliseconds. */
const configsPause = Duration.toMillis("1 hour")

/**
 * Learns the receivers of channels that owe money, and now and then, by a read that ends, those of all channels: a receiver whose first
 * money was claimed between two looks, with a refund for example, owes nothing at either.
 */
const known = Effect.fnUntraced(function* ({ configs, ledger, receivers, watched: { draws, facilitator } }: Watch) {
  const { network } = facilitator
  const found = new Map<string, Receiver>()
  const add = (config: ClaimRow["config"]) => {
    const { asset, payTo } = draws.parties(config)
    found.set(`${payTo} ${asset}`, { parties: { payTo, asset }, unpaidSince: undefined })
  }
  const now = yield* Clock.currentTimeMillis
  const { readAt } = configs
  if (receivers.size === 0 || readAt === undefined || Math.abs(now - readAt) >= configsPause) {
    yield* ledger.configs(network, add)
    configs.readAt = now
  }
  for (const { config } of yield* ledger.due({ network, ...everything })) add(config)
  for (const [key, receiver] of found) if (!receivers.has(key)) receivers.set(key, receiver)
})

/**
 * Has each receiver paid by what the chain shows: a payout that was lost or failed comes again. The age of a small sum is in memory, so
 * its day begins anew with each process.
 */
const payOut = Effect.fnUntraced(function* ({
  claims,
  options,
  receivers,
  watched
}: Watch): Effect.fn.Return<void, PaymentFailure> {
  const now = yield* Clock.currentTimeMillis
  const all = [...receivers.values()]
  const payouts = yield* watched.draws.payouts(all.map(({ parties }) => parties))
  for (const [index, payout] of payouts.entries()) {
    const receiver = all[index]
    if (receiver === undefined) continue
    receiver.unpaidSince = payout.unpaid > 0n ? (receiver.unpaidSince ?? now) : undefined
    const isOld = receiver.unpaidSince !== undefined && now - receiver.unpaidSince >= (options.maximumAgeMillis ?? day)
    if (payout.unpaid === 0n || (payout.unpaid < (options.leastPayout ?? 50_000n) && !isOld)) continue
    yield* Effect.sandbox(claims.payOut(watched, payout)).pipe(logged(watched.facilitator.network, "be paid out"))
  }
})

const forget = Effect.fnUntraced(function* ({ ledger }: Watch) {
  const before = (yield* Clock.currentTimeMillis) - forgetting.age
  for (let step = 0; step < forgetting.steps; step++) if ((yield* ledger.forget(before)) === 0) return
})
