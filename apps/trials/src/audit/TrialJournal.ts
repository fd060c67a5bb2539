/**
 * The harness's own memory: every request before it is sent and every response as it arrived, numbered in the order in which
 * they happened. It is the callers' side of the books.
 */
import { appendFileSync } from "node:fs"

/** A payment by what the chain consumes of it. Hexadecimal in lower case. */
export interface JournalPayment {
  readonly payer: string
  readonly nonce: string
  readonly payTo: string
  /** In the token's smallest unit. */
  readonly amount: bigint
}

/** The requested operation. */
export type Operation = "settle" | "claim" | "finish"

/** A request that was sent. */
export interface RequestSent {
  readonly _tag: "RequestSent"
  readonly order: number
  /** Milliseconds of the monotonic clock. */
  readonly at: number
  readonly operation: Operation
  readonly facilitator: string
  readonly payment: JournalPayment
  readonly claimId: string | undefined
}

/** The caller's outcome: a verdict; a response without one, with its HTTP status; or no response. */
export type CallerOutcome =
  | {
      readonly _tag: "Verdict"
      readonly success: boolean
      readonly paymentId: string
      readonly status: string
      readonly execution: string | undefined
      readonly transaction: string
      /** The code or the reason of a refusal. */
      readonly refusal: string | undefined
      readonly detail: string | undefined
    }
  | { readonly _tag: "Finished" }
  | {
      readonly _tag: "CannotTell"
      readonly httpStatus: number
      /** Seconds after which the same request makes sense again, where that was said. */
      readonly retryAfter?: number
    }
  | { readonly _tag: "Lost" }

/** The response to a request, by the order of the request. */
export interface OutcomeReceived {
  readonly _tag: "OutcomeReceived"
  readonly order: number
  readonly at: number
  readonly to: number
  readonly told: CallerOutcome
}

export type JournalLine = RequestSent | OutcomeReceived

/** The journal. */
export interface TrialJournal {
  readonly lines: ReadonlyArray<JournalLine>
  /** Notes a request about to be sent; returns its order. */
  readonly noteRequest: (request: Omit<RequestSent, "_tag" | "order" | "at">) => number
  readonly noteOutcome: (to: number, told: CallerOutcome) => void
}

/** An empty journal; with a file it is written there too, one line of JSON each. */
export const make = (file?: string): TrialJournal => {
  const lines: Array<JournalLine> = []
  const write = (line: JournalLine) => {
    lines.push(line)
    if (file !== undefined) appendFileSync(file, `${toJson(line)}\n`)
    return line.order
  }
  return {
    lines,
    noteRequest: (request) => write({ _tag: "RequestSent", order: lines.length, at: performance.now(), ...request }),
    noteOutcome: (to, told) =>
      void write({ _tag: "OutcomeReceived", order: lines.length, at: performance.now(), to, told })
  }
}

const toJson = (line: JournalLine): string =>
  JSON.stringify(line, (_, value: unknown) => (typeof value === "bigint" ? `${value}` : value))
