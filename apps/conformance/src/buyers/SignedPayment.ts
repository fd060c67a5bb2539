import type { Payer } from "@pontage/devnet/BaseSepoliaChain"

/**
 * Payments that a buyer has signed and not sent: what it would have put on the wire is kept, so that it can be sent as often
 * and wherever a behaviour wants it.
 */
import type { Buyer } from "./Buyer.ts"

/** A header that pays. */
export type SignedPayment = Readonly<Record<string, string>>

/** The headers of all the dialects. */
const names = ["payment-signature", "x-payment"]

/** Whether a request pays. */
export const isPaying = ({ headers }: Request): boolean => names.some((name) => headers.has(name))

/** Lets a buyer sign for a resource. Rejects when it signs nothing. */
export const sign = async (buyer: Buyer, payer: Payer, rpcUrl: string, url: string): Promise<SignedPayment> => {
  const controller = new AbortController()
  let kept: SignedPayment | undefined
  const send: typeof fetch = async (input, init) => {
    const request = new Request(input, init)
    const name = names.find((each) => request.headers.has(each))
    if (name === undefined) return fetch(request)
    kept = { [name]: request.headers.get(name) ?? "" }
    controller.abort()
    throw new TypeError("kept, not sent")
  }
  const failure = await buyer({ key: payer.key, rpcUrl, send })(url, { signal: controller.signal }).then(
    ({ status }) => `it was answered ${status}`,
    (error: unknown) => String(error)
  )
  if (kept === undefined) throw new Error(`the buyer signed nothing for ${url}: ${failure}`)
  return kept
}

/** A shop's response. */
export interface Answer {
  readonly status: number
  readonly text: string
  readonly retryAfter: string | null
}

/** Sends a payment. */
export const send = async (url: string, payment: SignedPayment): Promise<Answer> => {
  const response = await fetch(url, { headers: payment })
  return { status: response.status, text: await response.text(), retryAfter: response.headers.get("retry-after") }
}
