/**
 * Whether a signed receipt is about the payer's own purchase. A receipt for another request, payment or payer proves nothing to this
 * one, whoever signed it.
 */
import type { Settlement } from "../protocol/Settlement.ts"
import type { PurchaseReceipt } from "../wire/pontage/PurchaseReceipt.ts"
import type { JournalEntry } from "./JournalEntry.ts"

const hex = /^0x[0-9a-f]+$/i

/** Whether two texts are the same; the case of hexadecimal digits does not matter, that of other addresses does. */
const isSame = (one: string, other: string): boolean =>
  one === other || (hex.test(one) && one.toLowerCase() === other.toLowerCase())

/**
 * Whether the receipt names the request. A tool is named by the origin of its shop and its own name; the address of the MCP server
 * is another thing.
 */
const isRequest = (payload: PurchaseReceipt["payload"], { method, url }: JournalEntry): boolean => {
  const [verb = ""] = method.split(" ", 1)
  const tool = verb === method ? undefined : method.slice(verb.length + 1)
  if (payload.method !== (verb === "HEAD" ? "GET" : verb)) return false
  if (tool !== undefined) return payload.resourceUrl.endsWith(`/tools/${encodeURIComponent(tool)}`)
  return payload.resourceUrl === url.split("#", 1)[0]
}

/** Compares every field that the payer knows; `receipt` is the unsigned one of the same response. */
export const isFor = ({ payload }: PurchaseReceipt, entry: JournalEntry, { transaction }: Settlement): boolean => {
  return (
    isRequest(payload, entry) &&
    payload.network === entry.network &&
    payload.amount === entry.amount &&
    payload.transaction === transaction &&
    payload.paymentId === entry.paymentId &&
    isSame(payload.asset, entry.asset) &&
    isSame(payload.payTo, entry.payTo) &&
    isSame(payload.payer, entry.payer ?? "")
  )
}
