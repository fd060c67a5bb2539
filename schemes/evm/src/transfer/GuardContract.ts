/** The contract `PaymentGuard`, which payers' user operations call: its address is the same on every chain. */
import { PaymentGuard } from "../artifacts/PaymentGuard.ts"
import * as Create2 from "../primitives/Create2.ts"
import type { OwnContract } from "../primitives/OwnCode.ts"

/** The contract that ends the validity of a user operation. */
export const contract: OwnContract = {
  name: "payment guard",
  deployedBy: "deployPaymentGuard",
  artifact: PaymentGuard
}

/** Its address. */
export const address = /* @__PURE__ */ Create2.addressOf(PaymentGuard.bytecode)
