/**
 * The watch over a ledger of payment channels. It reads the channels that owe money every half minute, claims at once where a
 * withdrawal is pending, claims what is due by the policy, and has it paid out.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"

import * as OptionCheck from "../../protocol/OptionCheck.ts"
import { sealPayload } from "../../protocol/PaymentPayload.ts"
import type { ClaimRequests, SchemeDraws } from "../../scheme/SchemeDraws.ts"
import type { SchemeFacilitator } from "../../scheme/SchemeFacilitator.ts"
import type { DrawContext } from "./ChannelDraws.ts"
import { present } from "./PaymentIntake.ts"

/** When charges are claimed. Amounts in the token's smallest unit, of a channel; times in milliseconds. */
export interface Options {
  /** Pause between two looks at the channels; default 30 000, at most 30 000: the contract lets a payer withdraw after 900 seconds. */
  readonly pollMillis?: number
  /** Unclaimed money that is claimed at once; default 5 000 000. */
  readonly maximumUnclaimed?: bigint
  /** Unclaimed money that is worth a claim once it is `worthwhileAgeMillis` old; default 50 000. */
  readonly worthwhile?: bigint
  /** Default an hour. */
  readonly worthwhileAgeMillis?: number
  /** The age at which any unclaimed money is claimed; default a day. */
  readonly maximumAgeMillis?: number
}

const slowest = 30_000

/** Checks {@link Options}. */
export const check = OptionCheck.options<Options>({
  pollMillis: OptionCheck.optional(OptionCheck.whole(1, slowest)),
  maximumUnclaimed: OptionCheck.optional(OptionCheck.amount(1n)),
  worthwhile: OptionCheck.optional(OptionCheck.amount(1n)),
  worthwhileAgeMillis: OptionCheck.optional(OptionCheck.whole()),
  maximumAgeMillis: OptionCheck.optional(OptionCheck.whole())
})

/** Channels that are read at once. */
const together = 100

/** Watches until it is interrupted. A look that fails is logged, and followed by the next. */
export const run = (context: DrawContext, options: Options): Effect.Effect<never> => {
  const watched = context.intake.registry.schemes.flatMap((facilitator) => {
    const draws = facilitator.channels?.draws
    return draws === undefined ? [] : [{ facilitator, draws }]
  })
  const look = Effect.forEach(watched, (one) => Effect.sandbox(lookAt(context, one, options)).pipe(warned(one)), {
    concurrency: "unbounded",
    discard: true
  })
  return Effect.forever(Effect.andThen(look, Effect.sleep(Duration.millis(options.pollMillis ?? slowest))))
}

interface Watched {
  readonly facilitator: SchemeFacilitator
  readonly draws: SchemeDraws
}

const warned = ({ facilitator: { network } }: Watched) =>
  Effect.catch((cause: unknown) =>
    Effect.logWarning(`the payment channels on ${network} could not be claimed; they are tried again soon`, cause)
  )

const lookAt = Effect.fnUntraced(function* (context: DrawContext, watched: Watched, options: Options) {
  const { network } = watched.facilitator
  const owing = yield* context.ledger.due({
    network,
    maximumUnclaimed: 1n,
    worthwhile: 1n,
    worthwhileAge: 0,
    maximumAge: 0
  })
  yield* observe(
    context,
    watched,
    owing.map(({ channelId }) => channelId)
  )
  const due = yield* context.ledger.due({
    network,
    maximumUnclaimed: options.maximumUnclaimed ?? 5_000_000n,
    worthwhile: options.worthwhile ?? 50_000n,
    worthwhileAge: options.worthwhileAgeMillis ?? 3_600_000,
    maximumAge: options.maximumAgeMillis ?? 86_400_000
  })
  // Rows with a pending withdrawal go apart: another channel's poor row delays them by no trial.
  for (const rows of [due.filter(({ urgent }) => urgent), due.filter(({ urgent }) => !urgent)]) {
    yield* Effect.forEach(
      watched.draws.claims(rows),
      (requests) => claim(context, watched, requests).pipe(warned(watched)),
      {
        discard: true
      }
    )
  }
})

/** Enters the chain's states of channels. */
const observe = Effect.fnUntraced(function* (
  { ledger }: DrawContext,
  { draws }: Watched,
  channelIds: ReadonlyArray<string>
) {
  for (let start = 0; start < channelIds.length; start += together) {
    yield* ledger.observed(yield* draws.states(channelIds.slice(start, start + together)))
  }
})

/** Claims, enters the chain's answer, and has the receiver paid. */
const claim = Effect.fnUntraced(function* (
  context: DrawContext,
  watched: Watched,
  { channelIds, claim: claiming, payout, requirements }: ClaimRequests
) {
  const { channels, network, scheme } = watched.facilitator
  if (channels === undefined) return
  const settle = Effect.fnUntraced(function* (payload: typeof claiming) {
    const paymentPayload = sealPayload(scheme.name, network, payload)
    const presented = yield* present(context.intake, { paymentPayload, paymentRequirements: requirements })
    return yield* context.settling.settle(presented, channels)
  })
  yield* settle(claiming)
  yield* observe(context, watched, channelIds)
  yield* settle(payout)
})
