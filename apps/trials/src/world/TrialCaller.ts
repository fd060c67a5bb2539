/**
 * A server that has its payments settled, as far as the facilitator sees of it: it presents payments over HTTP, and writes
 * every request and every response into the journal.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

import type { Operation, CallerOutcome, TrialJournal } from "../audit/TrialJournal.ts"
import type { TrialPayment } from "./TrialPayment.ts"

/** A wish to run a resource once. */
export interface TrialClaim {
  readonly id: string
  readonly resource: string
}

/** The caller. */
export interface TrialCaller {
  /** `POST /settle` or `POST /claims`. */
  readonly present: (
    operation: "settle" | "claim",
    facilitator: string,
    payment: TrialPayment,
    claim: TrialClaim | undefined
  ) => Effect.Effect<CallerOutcome>
  /** `POST /payments/{id}/finish`. */
  readonly finish: (
    facilitator: string,
    payment: TrialPayment,
    paymentId: string,
    claimId: string,
    outcome: "served" | "failed" | "notRun"
  ) => Effect.Effect<CallerOutcome>
}

/** The options of the caller. */
export interface Options {
  readonly journal: TrialJournal
  /** Its API key, where the facilitator asks for one. */
  readonly apiKey?: string | undefined
  /** Timeout of a request, in milliseconds; default 30 000. */
  readonly timeoutMillis?: number
}

/** A caller that writes into this journal. */
export const make = (options: Options): TrialCaller => {
  const exchange = (
    request: Parameters<TrialJournal["noteRequest"]>[0],
    path: string,
    body: unknown,
    read: (json: unknown) => CallerOutcome
  ): Effect.Effect<CallerOutcome> =>
    Effect.promise(async () => {
      const order = options.journal.noteRequest(request)
      const told = await post(options, `${request.facilitator}${path}`, body, read)
      options.journal.noteOutcome(order, told)
      return told
    })
  return {
    present: (operation, facilitator, payment, claim) =>
      exchange(
        note(operation, facilitator, payment, claim?.id),
        operation === "settle" ? "/settle" : "/claims",
        { ...payment.body, ...(claim !== undefined && { claim }) },
        readVerdict
      ),
    finish: (facilitator, payment, paymentId, claimId, outcome) =>
      exchange(
        note("finish", facilitator, payment, claimId),
        `/payments/${paymentId}/finish`,
        { claimId, outcome },
        () => ({ _tag: "Finished" })
      )
  }
}

const note = (
  operation: Operation,
  facilitator: string,
  { journal }: TrialPayment,
  claimId: string | undefined
): Parameters<TrialJournal["noteRequest"]>[0] => ({ operation, facilitator, payment: journal, claimId })

const Verdict = Schema.Struct({
  success: Schema.Boolean,
  paymentId: Schema.String,
  status: Schema.String,
  execution: Schema.optionalKey(Schema.String),
  transaction: Schema.String,
  code: Schema.optionalKey(Schema.String),
  reason: Schema.optionalKey(Schema.String),
  detail: Schema.optionalKey(Schema.String)
})
const decodeVerdict = Schema.decodeUnknownOption(Verdict)

const readVerdict = (json: unknown): CallerOutcome => {
  const found = decodeVerdict(json)
  if (Option.isNone(found)) return { _tag: "Lost" }
  const { code, detail, execution, paymentId, reason, status, success, transaction } = found.value
  return { _tag: "Verdict", success, paymentId, status, execution, transaction, refusal: code ?? reason, detail }
}

const post = async (
  { apiKey, timeoutMillis = 30_000 }: Options,
  url: string,
  body: unknown,
  read: (json: unknown) => CallerOutcome
): Promise<CallerOutcome> => {
  try {
    const headers = {
      "content-type": "application/json",
      ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` })
    }
    const signal = AbortSignal.timeout(timeoutMillis)
    const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(body), signal })
    const text = await response.text()
    return response.ok ? read(JSON.parse(text)) : cannotTell(response)
  } catch {
    return { _tag: "Lost" }
  }
}

const cannotTell = ({ headers, status }: Response): CallerOutcome => {
  const seconds = headers.get("retry-after")
  return { _tag: "CannotTell", httpStatus: status, ...(seconds !== null && { retryAfter: Number(seconds) }) }
}
