/** The tools of the channel store laws: a channel of its own for each law, and the steps that most laws begin with. */
import * as Effect from "effect/Effect"

import type { ChannelState, ClaimPolicy, Draw, NewChannel, Standing } from "../../facilitator/channel/Channel.ts"
import { ChannelStore } from "../../facilitator/channel/ChannelStore.ts"
import { Entropy, identifier } from "../../platform/Entropy.ts"
import * as Network from "../../protocol/Network.ts"
import type { FacilitatorUnavailable } from "../../protocol/ProtocolError.ts"
import { type Law, LawBroken, same } from "../Law.ts"

/** The store's interface. */
export type Store = ChannelStore["Service"]

/** A law of a channel store. */
export type ChannelLaw = Law<ChannelStore>

/** Makes a law. Unavailable records break it. */
export const law = (
  name: string,
  body: (store: Store) => Effect.Effect<void, LawBroken | FacilitatorUnavailable>
): ChannelLaw => ({
  name,
  effect: Effect.gen(function* () {
    yield* Effect.mapError(body(yield* ChannelStore), (error) =>
      error._tag === "LawBroken" ? error : new LawBroken({ message: `${error._tag}: ${error.message}` })
    )
  })
})

const fresh = Effect.map(Entropy, identifier)

/** Limits that no draw of a law meets. */
export const roomy = { lease: 3_600_000, open: 1_000 }

/** The limits of a draw that lapses at once. */
export const lapsing = { lease: 0, open: 1_000 }

/** A channel on a network of its own, as the chain shows it. */
export const newChannel = Effect.fnUntraced(function* (state: Partial<ChannelState> = {}) {
  const name = yield* fresh
  const channel: NewChannel = {
    channelId: `0x${name}`,
    network: Network.make(`ledger:${name.slice(0, 20).replaceAll(/[^-a-zA-Z0-9]/g, "x")}`),
    config: { payer: "acct-alice", salt: name },
    balance: 1_000n,
    claimed: 0n,
    withdrawRequestedAt: undefined,
    refundNonce: 0n,
    block: { number: 10n, hash: "0x10" },
    ...state
  }
  return channel
})

/** The same, in the store. */
export const opened = Effect.fnUntraced(function* (store: Store, state?: Partial<ChannelState>) {
  const channel = yield* newChannel(state)
  yield* store.open(channel)
  return channel
})

/** A draw on a channel by the voucher of this maximum. */
export const drawOn = (
  { channelId }: Pick<NewChannel, "channelId">,
  maximum: bigint,
  amount: bigint,
  unique?: string
): Draw => ({ channelId, maximum, amount, unique, voucher: { channelId, maximum: `${maximum}` } })

/** A granted and charged draw. */
export const sold = Effect.fnUntraced(function* (store: Store, draw: Draw, charge = draw.amount) {
  const claimId = yield* fresh
  yield* same("the verdict", (yield* store.accept(draw, claimId, roomy))._tag, "Granted")
  return yield* store.commit(draw.channelId, claimId, charge)
})

/** Holds when the store's record of the channel has these facts. */
export const standingIs = Effect.fnUntraced(function* (store: Store, channelId: string, facts: Partial<Standing>) {
  const standing = yield* store.find(channelId)
  if (standing === undefined) return yield* new LawBroken({ message: `the store has no channel ${channelId}` })
  const found = Object.fromEntries(Object.entries(standing).filter(([name]) => name in facts))
  return yield* same(`the channel ${channelId}`, found, facts)
})

/** A policy that finds nothing due but what a law asks for. */
export const policy = ({ network }: NewChannel, more: Partial<ClaimPolicy> = {}): ClaimPolicy => ({
  network,
  least: 1n,
  maximumUnclaimed: 2n ** 200n,
  worthwhile: 2n ** 200n,
  worthwhileAge: Number.MAX_SAFE_INTEGER,
  maximumAge: Number.MAX_SAFE_INTEGER,
  ...more
})
