/** The receipt that a seller writes: the transaction, the challenge that was paid, and the signed receipt. */
import type { Settlement } from "../../protocol/Settlement.ts"
import type { PaidFacts } from "../pontage/Dialect.ts"
import * as MppOffer from "./MppOffer.ts"

/** The receipt's JSON. */
export const of = ({ network, transaction }: Settlement, { challengeId, now, receipts }: PaidFacts) => ({
  method: "evm",
  reference: transaction,
  status: "success",
  timestamp: MppOffer.instant(now),
  ...(challengeId !== undefined && { challengeId }),
  ...(network.startsWith("eip155:") && { chainId: Number(network.slice("eip155:".length)) }),
  ...(receipts?.purchase && { signedReceipt: receipts.purchase })
})
