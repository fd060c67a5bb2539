/** How a payment ended, in the terms that matter to its payer: whether money moved, and what to do now. */
import type { Settlement } from "@pontage/core"

import type { Texts } from "../texts/Texts.ts"

/** The end of an attempt. */
export type Outcome =
  /** Paid and delivered. */
  | { readonly kind: "served"; readonly response: Response; readonly receipt: Settlement.Receipt | undefined }
  /** Nothing was charged. `isRefused`: the shop refused the payment, whose signature is good until it expires. */
  | {
      readonly kind: "notCharged"
      readonly reason: keyof Texts
      readonly detail: string
      readonly isRefused?: boolean
    }
  /** Sent; the outcome is not known. The same payment is sent again. */
  | { readonly kind: "pending"; readonly detail: string }
  /** The payment was used already, by a request whose response this page could not read; `url` is where the shop led on to. */
  | { readonly kind: "used"; readonly url: string | undefined }
  /** Money moved, and the shop failed to deliver. The same payment is good for another attempt. */
  | { readonly kind: "unserved"; readonly response: Response }

/** Progress of a payment. */
export type Stage = "connect" | "sign" | "send" | "wait"

/** A field of any value. */
const fieldOf = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined

const messageOf = (error: unknown): string => {
  const message = fieldOf(error, "message")
  return typeof message === "string" ? message : String(error)
}

const walletReasons: ReadonlyArray<keyof Texts> = [
  "rejected",
  "busy",
  "locked",
  "unsupported",
  "wrong_network",
  "changed",
  "failed"
]

/** The reason of a wallet's error, here or below `cause`. */
const walletReasonOf = (error: unknown, depth = 0): keyof Texts | undefined => {
  if (fieldOf(error, "_tag") === "WalletError") return walletReasons.find((one) => one === fieldOf(error, "reason"))
  return depth > 4 || typeof error !== "object" || error === null
    ? undefined
    : walletReasonOf(fieldOf(error, "cause") ?? fieldOf(error, "error"), depth + 1)
}

const codes: ReadonlyArray<keyof Texts> = [
  "INSUFFICIENT_BALANCE",
  "INVALID_SIGNATURE",
  "EXPIRED_PAYMENT",
  "NETWORK_MISMATCH",
  "INVALID_RECIPIENT"
]

/**
 * The outcome of an attempt that failed. Once the payment has left (`isSent`), only the shop's typed refusal says that nothing was
 * charged: every other failure leaves it open. `movedTo` is the address that the shop has led on to meanwhile.
 */
export const ofFailure = (error: unknown, isSent: boolean, movedTo?: string): Outcome => {
  const detail = messageOf(error)
  const notCharged = (reason: keyof Texts, isRefused = false): Outcome => ({
    kind: "notCharged",
    reason,
    detail,
    isRefused
  })
  switch (fieldOf(error, "_tag")) {
    case "WalletError":
    case "SigningFailed":
      return notCharged(walletReasonOf(error) ?? "failed")
    case "PaymentDeclined":
      return notCharged("priceChanged")
    case "PaymentError":
      return notCharged(codes.find((code) => code === fieldOf(error, "code")) ?? "refused", isSent)
    case "ValidationError":
      return isSent && fieldOf(error, "reason") === "already_used"
        ? { kind: "used", url: movedTo }
        : notCharged("refused", isSent)
    case "JournalUnavailable":
      return isSent ? { kind: "pending", detail } : notCharged("storage")
    default:
      return isSent ? { kind: "pending", detail } : notCharged("connection")
  }
}

/** Whether a kept form is needed no more: its payment is over, or the shop wants another form for it. */
export const isOver = (outcome: Outcome): boolean =>
  outcome.kind === "unserved" ? outcome.response.status < 500 : outcome.kind !== "pending"
