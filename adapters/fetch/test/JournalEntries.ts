/**
 * Entries for the journals' tests.
 */
import type { JournalEntry } from "@pontage/core"

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

export const allowed = () => undefined
