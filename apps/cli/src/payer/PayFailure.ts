/** The failures of paying as a command's end: an exit code, and a message that says what to do. */
import {
  FacilitatorUnavailable,
  type JournalEntry,
  Misconfigured,
  PaymentDeclined,
  PaymentError,
  PaymentJournal,
  PaymentRefused,
  SettlementPending,
  SigningFailed,
  StreamBroken,
  ValidationError
} from "@pontage/core"

import { CommandFailed } from "../CommandFailed.ts"
import * as SafeText from "../terminal/SafeText.ts"

const failed = (
  exit: CommandFailed["exit"],
  error: Error,
  more: { readonly rule?: string; readonly hint?: string } = {}
) =>
  new CommandFailed({
    exit,
    kind: "_tag" in error && typeof error._tag === "string" ? error._tag : error.name,
    message: more.hint === undefined ? error.message : `${error.message}\n${more.hint}`,
    ...(more.rule !== undefined && { rule: more.rule })
  })

const hints: Readonly<Record<string, string>> = {
  over_request_limit: "To pay it, give the most that you would pay for one request: --max '$1.00'",
  over_day_limit: "To pay it, raise --max-per-day",
  network_not_allowed: "To pay on another network, leave out --network",
  asset_without_limit: "This program pays dollar stablecoins only"
}

/** The reason of a failed connection, which `fetch` hides in causes. */
const reasonOf = (error: unknown): string => {
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0])
  if (error instanceof Error && error.cause !== undefined) return reasonOf(error.cause)
  return SafeText.line(error instanceof Error ? error.message : String(error), 300)
}

const causedBy = (error: unknown, depth = 0): CommandFailed | undefined => {
  if (error instanceof CommandFailed) return error
  return error instanceof Error && depth < 8 ? causedBy(error.cause, depth + 1) : undefined
}

/** A response that broke off after its payment. */
export const brokenOff = (error: unknown, url: URL): CommandFailed =>
  new CommandFailed({
    exit: "pending",
    kind: "BrokenResponse",
    message: `${url.origin}: the response broke off: ${reasonOf(error)}`
  })

/** The command's end for an error; `undefined` if it is none of paying or fetching. */
export const of = (error: unknown, url: URL, entry: JournalEntry | undefined): CommandFailed | undefined => {
  const own = causedBy(error)
  if (own !== undefined) return own
  if (error instanceof PaymentDeclined) {
    return failed("declined", error, { rule: error.rule, ...(hints[error.rule] && { hint: hints[error.rule] ?? "" }) })
  }
  if (error instanceof StreamBroken)
    return failed(error.cause instanceof PaymentDeclined ? "declined" : "failed", error)
  if (error instanceof SettlementPending) return failed("pending", error)
  if (error instanceof PaymentError) return failed("refused", error, { rule: error.code })
  if (error instanceof ValidationError) return failed("refused", error, { rule: error.reason })
  if (error instanceof PaymentRefused) return failed("refused", error)
  if (error instanceof SigningFailed || error instanceof PaymentJournal.JournalUnavailable)
    return failed("wallet", error)
  if (error instanceof Misconfigured) return failed("usage", error)
  if (error instanceof FacilitatorUnavailable) return failed("unreachable", error)
  if (error instanceof TypeError && error.message === "fetch failed" && entry === undefined) {
    return new CommandFailed({ exit: "unreachable", kind: "NoResponse", message: `${url.origin}: ${reasonOf(error)}` })
  }
  return undefined
}
