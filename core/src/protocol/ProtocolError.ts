/**
 * Failures around a payment that neither party caused: an unreachable service, an outcome that is not known yet, a wiring
 * mistake. They are never reported as one of the payer's five codes, and never as "valid".
 */
import * as Data from "effect/Data"

import type { PaymentState } from "./Settlement.ts"
import type { UnquotedReason } from "./Supported.ts"

/**
 * The facilitator was unreachable, or its response was invalid. `message` says what was requested and what came. The same
 * payment may be sent again: after `retryAfter` seconds if the facilitator named a time.
 */
export class FacilitatorUnavailable extends Data.TaggedError("FacilitatorUnavailable")<{
  readonly message: string
  readonly retryAfter?: number
  readonly cause?: unknown
}> {}

/** A chain was unreachable: its RPC is down, slow, or its response is invalid. */
export class ChainUnavailable extends Data.TaggedError("ChainUnavailable")<{
  readonly network: string
  readonly message: string
  /** The reason that is public, if it is another one than the node. The message is for the log: it may repeat the node's own text. */
  readonly lack?: Exclude<UnquotedReason, "node_unavailable">
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
 * An operator's mistake, found at start or at the first use. `message` names the place (the route, the option) and the
 * correction.
 */
export class Misconfigured extends Data.TaggedError("Misconfigured")<{ readonly message: string }> {}

/** Any of them. */
export type ProtocolError = FacilitatorUnavailable | ChainUnavailable | SettlementPending | Misconfigured
