/** A channel, and draws on it by claims with numbers. */
import { type ChannelStore, Network, type NewChannel } from "@pontage/core"
import * as Effect from "effect/Effect"

/** A funded channel. */
export const channel: NewChannel = {
  channelId: "0xchannel",
  network: Network.make("ledger:trial"),
  config: { payer: "acct-alice", note: 'line\nline "quoted" \u0000 \u{1f600}' },
  balance: 1_000_000n,
  claimed: 0n,
  withdrawRequestedAt: undefined,
  refundNonce: 0n,
  block: { number: 10n, hash: "0x10" }
}

/** The draw of a claim: 100 of a voucher for this maximum. */
export const draw = (index: number, maximum: bigint) => ({
  channelId: channel.channelId,
  maximum,
  amount: 100n,
  unique: `salt ${index}`,
  voucher: { maximum: `${maximum}` }
})

/** Draws and charges; returns the verdict, or the end if it was granted. */
export const sell = Effect.fnUntraced(function* (store: ChannelStore["Service"], index: number, maximum: bigint) {
  const verdict = yield* store.accept(draw(index, maximum), `claim ${index}`, { lease: 60_000, open: 100 })
  return verdict._tag === "Granted"
    ? (yield* store.commit(channel.channelId, `claim ${index}`, 100n))._tag
    : verdict._tag
})
