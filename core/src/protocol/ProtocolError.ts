/**
 * What goes wrong around a payment and is nobody's fault in it: a service that cannot be asked, an outcome that is not
 * known yet, a wiring mistake. It is never reported as one of the payer's five codes, and never as "valid".
 */
import * as Data from "effect/Data"

import type { PaymentState } from "./Settlement.ts"

/**
 * The facilitator could not be asked, or answered something that is no answer. `message` says what was asked and what
 * came. The same payment may be sent again: after `retryAfter` seconds, where the facilitator has named a time.
 */
export class FacilitatorUnavailable extends Data.TaggedError("FacilitatorUnavailable")<{
  readonly message: string
  readonly retryAfter?: number
  readonly cause?: unknown
}> {}

/** A chain could not be asked: its RPC is down, slow, or answers nonsense. */
export class ChainUnavailable extends Data.TaggedError("ChainUnavailable")<{
  readonly network: string
  readonly message: string
  readonly cause?: unknown
}> {}

/**
 * The transfer was handed to the chain and its outcome is not known yet. Never a failure: the same authorization is sent
 * again later, nothing new is signed.
 */
export class SettlementPending extends Data.TaggedError("SettlementPending")<{
  readonly paymentId: string
  readonly status: PaymentState
  readonly transaction?: string
  readonly message: string
}> {}

/**
 * A mistake of the operator, found at start or at the first use. `message` names the place (the route, the option) and
 * the mend.
 */
export class Misconfigured extends Data.TaggedError("Misconfigured")<{ readonly message: string }> {}

/** Any of them. */
export type ProtocolError = FacilitatorUnavailable | ChainUnavailable | SettlementPending | Misconfigured
