/**
 * The operator's payment to a shop has another nonce each time, and its push is not remembered: the shop is paid again and again, and the
 * token, which takes a nonce once, does not hold it back.
 */
import type { SourceMutation } from "../attacks/SourceMutation.ts"
import { forgetting } from "./PushesRepeated.ts"

const sources: SourceMutation = [
  {
    module: "schemes/evm/src/route/InventoryRoute",
    piece: "token, payer, nonce])",
    instead: "token, payer, `${nonce}${performance.now()}`])"
  }
]

export const payoutsRenamed = { sources, store: forgetting }
