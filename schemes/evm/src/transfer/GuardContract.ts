/** The contract `PaymentGuard`, which payers' user operations call: its address is the same on every chain. */
import { PaymentGuard } from "../artifacts/PaymentGuard.ts"
import * as Create2 from "../primitives/Create2.ts"

/** Its address. */
export const address = /* @__PURE__ */ Create2.addressOf(PaymentGuard.bytecode)
