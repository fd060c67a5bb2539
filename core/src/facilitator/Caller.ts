/**
 * On whose behalf the facilitator is being asked, where it tells its callers apart.
 */
import * as Context from "effect/Context"

/** A caller: the name its payments are kept and counted under, and whether it is told of their ends. */
export interface Caller {
  readonly name: string
  readonly notify: boolean
  /** Whether it is shown everybody's payments, as those who keep the books are; default its own alone. */
  readonly seesAll?: boolean
}

/** Whether a caller is shown a payment: its own, or any. For everybody else the payment does not exist. */
export const maySee = ({ name, seesAll = false }: Caller, payment: { readonly caller: string }): boolean =>
  seesAll || payment.caller === name

/** The caller of the request that is being answered; without one all are the same caller of the empty name. */
export const CurrentCaller: Context.Reference<Caller> = Context.Reference<Caller>("@pontage/core/CurrentCaller", {
  defaultValue: () => ({ name: "", notify: false })
})
