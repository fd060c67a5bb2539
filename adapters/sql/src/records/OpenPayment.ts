/** A payment that is open: its money has neither moved nor been proven not to move. */
import { type Execution, type PaymentStore, Settlement } from "@pontage/core"

/** The part of an open payment that decides what it reserves. */
export interface OpenPayment {
  readonly paymentId: string
  readonly amount: bigint
  readonly status: Settlement.PaymentState
  readonly lane: string | undefined
  readonly execution: Execution.Execution
}

/** Whether the money has neither moved nor been proven not to move. */
export const isActive = ({ status }: Pick<PaymentStore.StoredPayment, "status">): boolean =>
  !Settlement.isSettled(status) && !Settlement.isDead(status)

/** The key of the balance that pays: network, asset and payer. */
export const payerOf = ({ authorization, requirements }: PaymentStore.NewPayment): ReadonlyArray<string> => [
  requirements.network,
  authorization.asset,
  authorization.payer
]
