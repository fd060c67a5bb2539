/** The caller of the facilitator, if it distinguishes its callers. */
import * as Context from "effect/Context"

import type { Network } from "../protocol/Network.ts"

/** A caller: the name under which its payments are kept and counted, and whether it is notified of their ends. */
export interface Caller {
  readonly name: string
  readonly notify: boolean
  /** Whether it sees all callers' payments, for bookkeeping; default its own alone. */
  readonly seesAll?: boolean
  /** Whether it may draw on payment channels of this receiver in this token; default on all. */
  readonly mayDraw?: (place: DrawPlace) => boolean
}

/** The receiver of a payment channel, and its token. */
export interface DrawPlace {
  readonly scheme: string
  readonly network: Network
  readonly payTo: string
  readonly asset: string
}

/** Whether a caller may see a payment: its own, or any. For other callers the payment does not exist. */
export const maySee = ({ name, seesAll = false }: Caller, payment: { readonly caller: string }): boolean =>
  seesAll || payment.caller === name

/** The caller of the current request; without callers all share the empty name. */
export const CurrentCaller: Context.Reference<Caller> = Context.Reference<Caller>("@pontage/core/CurrentCaller", {
  defaultValue: () => ({ name: "", notify: false })
})
