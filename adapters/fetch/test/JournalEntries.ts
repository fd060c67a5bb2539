/**
 * Entries for the journals' tests.
 */
import type { ChannelEntry, JournalEntry } from "@pontage/core"

export const entryOf = (changes: Partial<JournalEntry> = {}): JournalEntry => ({
  id: "one",
  state: "pending",
  request: "request",
  method: "GET",
  url: "https://shop.example/report",
  host: "shop.example",
  network: "eip155:8453",
  asset: "0xa",
  payTo: "0xb",
  amount: "10",
  spendings: [{ unit: "$", digits: "10", scale: 3 }],
  at: 0,
  validBefore: 60,
  paymentId: "pay_one",
  payer: "0xc",
  headers: { "X-Payment": "{}" },
  ...changes
})

/** A payment channel. */
export const channelOf = (changes: Partial<ChannelEntry.ChannelEntry> = {}): ChannelEntry.ChannelEntry => ({
  kind: "channel",
  id: "0xchannel",
  host: "shop.example",
  network: "eip155:8453",
  asset: "0xa",
  payTo: "0xb",
  terms: { salt: "0x0" },
  units: [{ unit: "$", scale: 6 }],
  balance: "100",
  claimed: "0",
  charged: "10",
  signed: "20",
  deposit: { amount: "100", onTopOf: "0", validBefore: 60, isReported: false, signed: { signature: "0x1" } },
  at: 0,
  ...changes
})

export const allowed = () => undefined
