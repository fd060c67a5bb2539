/**
 * The runs that callers may have had of one payment. A grant by `/claims` before the money has moved lets its caller run the handler
 * and hold the result back: the run is over when the caller asks for the settlement or reports an end, and only a settlement that is
 * granted too lets the result out. A grant after the money has moved lets the result out. So two grants are one too many if both came
 * with the money, or if one came while the other's handler ran.
 */
import * as PaymentStory from "./PaymentStory.ts"

/** A run that a caller was granted, in the order and by the clock of the journal. */
interface Run {
  readonly claimId: string | undefined
  /** The order of the response that granted it. */
  readonly from: number
  /** The order at which its handler had surely ended; without money only. */
  readonly until: number
  readonly isPaid: boolean
}

/** The lease of a run without a sign of its caller, in milliseconds: the product's own. */
const leaseMillis = 60_000

/** The claims that were granted runs which exclude each other; empty if there are none. */
export const conflicting = (story: PaymentStory.PaymentStory): ReadonlySet<string | undefined> => {
  const runs = [
    ...PaymentStory.verdicts(story, "settle").map((verdict) => runOf(story, verdict)),
    ...PaymentStory.verdicts(story, "claim").map((verdict) => runOf(story, verdict))
  ].filter((run) => run !== undefined)
  const wrong = runs.filter((one) => runs.some((other) => other.claimId !== one.claimId && exclude(one, other)))
  return new Set(wrong.map(({ claimId }) => claimId))
}

const exclude = (one: Run, other: Run): boolean =>
  (one.isPaid && other.isPaid) || (one.from < other.until && other.from < one.until)

const runOf = (
  { exchanges }: PaymentStory.PaymentStory,
  { execution, received, sent, status, success }: PaymentStory.Verdict
): Run | undefined => {
  if (!success || execution !== "granted") return undefined
  const run = { claimId: sent.claimId, from: received.order }
  if (PaymentStory.isSettled({ status })) return { ...run, until: received.order, isPaid: true }
  const isLater = (one: PaymentStory.Exchange["sent"]) => one.order > received.order
  const next = exchanges.find((one) => one.sent.claimId === sent.claimId && isLater(one.sent))?.sent.order
  const lapsed = exchanges.find((one) => isLater(one.sent) && one.sent.at >= sent.at + leaseMillis)?.sent.order
  return { ...run, until: Math.min(next ?? Infinity, lapsed ?? Infinity), isPaid: false }
}
