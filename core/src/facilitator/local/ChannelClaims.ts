/**
 * Sends claims and payouts of a ledger's channels, under a caller's name of their own: a share of the ceilings and a place in each lane
 * are theirs, however much deposits use up, and a gate that is closed for new payments lets them pass.
 */
import * as Effect from "effect/Effect"

import type { PaymentFailure } from "../../protocol/PaymentFailure.ts"
import { sealPayload } from "../../protocol/PaymentPayload.ts"
import type { ClaimRequests, Payout, SchemeDraws } from "../../scheme/SchemeDraws.ts"
import type { SchemeFacilitator } from "../../scheme/SchemeFacilitator.ts"
import { CurrentCaller } from "../Caller.ts"
import type { ChannelStore } from "../channel/ChannelStore.ts"
import * as Checkpoint from "../Checkpoint.ts"
import type { SpendLimits } from "../lane/SpendLimits.ts"
import * as ChannelSettling from "./ChannelSettling.ts"
import { type IntakeContext, present } from "./PaymentIntake.ts"

/** A network whose channels are claimed. */
export interface Watched {
  readonly facilitator: SchemeFacilitator
  readonly draws: SchemeDraws
}

/** The claims of one ledger. */
export interface ChannelClaims {
  /** Claims rows of one receiver and token, and enters the chain's answer. */
  readonly claim: (watched: Watched, requests: ClaimRequests) => Effect.Effect<void, PaymentFailure>
  /** Has a receiver paid all that is claimed. */
  readonly payOut: (watched: Watched, payout: Payout) => Effect.Effect<void, PaymentFailure>
  /** Enters the chain's states of channels. */
  readonly observe: (watched: Watched, channelIds: ReadonlyArray<string>) => Effect.Effect<void, PaymentFailure>
}

/** Ceilings with a share for claims on the networks where these schemes draw. Without callers all others share the rest. */
export const withShare = (
  limits: SpendLimits,
  schemes: ReadonlyArray<Pick<SchemeFacilitator, "channels" | "network">>
): SpendLimits => ({
  ...limits,
  callers: (network) => {
    const names = limits.callers?.(network) ?? []
    const isClaimed = schemes.some((one) => one.network === network && one.channels?.draws !== undefined)
    if (!isClaimed) return names
    return [...(names.length === 0 ? [""] : names), ChannelSettling.claimsCaller]
  }
})

/** Makes the claims. */
export const make = (
  intake: IntakeContext,
  settling: ChannelSettling.ChannelSettling,
  ledger: ChannelStore["Service"]
): ChannelClaims => {
  const open = { ...intake, intake: { ...intake.intake, passNew: () => Effect.void } }
  const settle = Effect.fnUntraced(
    function* (
      { facilitator: { channels, network, scheme } }: Watched,
      payload: ClaimRequests["claim"],
      paymentRequirements: ClaimRequests["requirements"]
    ) {
      if (channels === undefined) return
      const paymentPayload = sealPayload(scheme.name, network, payload)
      const presented = yield* present(open, { paymentPayload, paymentRequirements })
      yield* settling.settle(presented, channels, open)
    },
    Effect.provideService(CurrentCaller, { name: ChannelSettling.claimsCaller, notify: false })
  )
  const observe: ChannelClaims["observe"] = Effect.fnUntraced(function* ({ draws }, channelIds) {
    yield* ledger.observed(yield* draws.states(channelIds))
  })
  return {
    observe,
    claim: Effect.fnUntraced(function* (watched, { channelIds, claim, requirements, rows }) {
      yield* ledger.publish(rows)
      yield* Checkpoint.pass("claim-published")
      yield* settle(watched, claim, requirements)
      yield* Checkpoint.pass("claim-settled")
      yield* observe(watched, channelIds)
    }),
    payOut: (watched, { payload, requirements }) => settle(watched, payload, requirements)
  }
}
