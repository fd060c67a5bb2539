/**
 * Schema 6. Money is text, times are Unix milliseconds except `withdraw_at`, which is Unix seconds as on the chain.
 * - `payment_channel`: a channel's state on the chain as of a block, its highest voucher, and what its draws have cost.
 * - `channel_draw`: one request's use of a channel. `name` tells a repeated voucher, `claim_id` the run of the handler.
 */
import { index, type Migration, table } from "../schema/Migration.ts"

/** The tables of `ChannelStore`. */
export const paymentChannels: Migration = {
  name: "payment_channels",
  serves: 1,
  changes: () => [
    table("payment_channel", {
      channel_id: "TEXT NOT NULL PRIMARY KEY",
      network: "TEXT NOT NULL",
      config: "TEXT NOT NULL",
      balance: "TEXT NOT NULL",
      claimed: "TEXT NOT NULL",
      withdraw_at: "BIGINT",
      refund_nonce: "TEXT NOT NULL",
      block_number: "TEXT NOT NULL",
      block_hash: "TEXT NOT NULL",
      signed: "TEXT NOT NULL",
      voucher: "TEXT",
      charged: "TEXT NOT NULL",
      reserved: "TEXT NOT NULL",
      open_draws: "BIGINT NOT NULL",
      lapses_at: "BIGINT",
      unclaimed_since: "BIGINT"
    }),
    index(
      "payment_channel_unclaimed",
      "payment_channel (network, unclaimed_since, channel_id) WHERE unclaimed_since IS NOT NULL"
    ),
    table(
      "channel_draw",
      {
        channel_id: "TEXT NOT NULL",
        name: "TEXT NOT NULL",
        claim_id: "TEXT NOT NULL",
        amount: "TEXT NOT NULL",
        state: "TEXT NOT NULL",
        charged: "TEXT NOT NULL",
        lapses_at: "BIGINT NOT NULL"
      },
      { key: ["channel_id", "name"], unique: ["channel_id", "claim_id"] }
    ),
    index("channel_draw_open", "channel_draw (channel_id) WHERE state = 'reserved'"),
    index("channel_draw_ended", "channel_draw (lapses_at) WHERE state <> 'reserved'")
  ]
}
