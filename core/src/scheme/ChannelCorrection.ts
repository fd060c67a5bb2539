/**
 * The refusal of a voucher that does not fit what its channel owes. It carries the channel's sums, so that the payer signs the right
 * voucher next; the gate puts them into the offers.
 */
import type * as Schema from "effect/Schema"

import { ValidationError } from "../protocol/ValidationError.ts"

type Facts = Readonly<Record<string, Schema.Json>>

/** A stale voucher, and the words that its payer's offer gets. */
export class ChannelCorrection extends ValidationError {
  readonly scheme: string
  readonly network: string
  readonly facts: Facts
  /** The most that the payer's next voucher allows to claim, if it is for the same request. */
  readonly next: bigint | undefined

  constructor(
    place: { readonly scheme: string; readonly network: string; readonly next?: bigint },
    facts: Facts,
    message: string,
    detail = "batch_settlement_cumulative_amount_mismatch"
  ) {
    super({ reason: "amount_mismatch", detail, message })
    this.scheme = place.scheme
    this.network = place.network
    this.facts = facts
    this.next = place.next
  }
}
