/**
 * Everything that three witnesses say of one authorization: the callers' journal, the facilitator's books, the chain.
 */
import type { ChainFacts, ChainTransfer, SignerTransaction } from "./ChainFacts.ts"
import type { CrossingFacts } from "./CrossingFacts.ts"
import type { BookEntry } from "./PaymentBooks.ts"
import type { OutcomeReceived, RequestSent, JournalLine, JournalPayment, CallerOutcome } from "./TrialJournal.ts"

/** The full testimony of all witnesses. */
export interface Testimony {
  readonly chain: ChainFacts
  readonly books: ReadonlyArray<BookEntry>
  readonly journal: ReadonlyArray<JournalLine>
  /** Where a part of the payments goes on to a second chain. */
  readonly crossings?: CrossingFacts
}

/** A request and its response. */
export interface Exchange {
  readonly sent: RequestSent
  readonly received: OutcomeReceived | undefined
}

/** A verdict that a caller was given, and the request that it is the outcome of. */
export interface Verdict extends Extract<CallerOutcome, { readonly _tag: "Verdict" }> {
  readonly sent: RequestSent
  readonly received: OutcomeReceived
}

/** The story of one authorization. */
export interface PaymentStory {
  /** The payer and the nonce, in lower case, joined by a comma. */
  readonly key: string
  /** As its caller knows it; `undefined` when no caller does. */
  readonly payment: JournalPayment | undefined
  readonly exchanges: ReadonlyArray<Exchange>
  readonly records: ReadonlyArray<BookEntry>
  readonly transfers: ReadonlyArray<ChainTransfer>
  /** The transactions of our signers that carry it, whatever became of them. */
  readonly transactions: ReadonlyArray<SignerTransaction>
}

/** The stories of all authorizations that any witness mentions. */
export const all = ({ books, chain, journal }: Testimony): ReadonlyArray<PaymentStory> => {
  const drafts = new Map<string, Draft>()
  const at = (payer: string, nonce: string): Draft => {
    const key = `${payer},${nonce}`.toLowerCase()
    const draft = drafts.get(key) ?? {
      key,
      payment: undefined,
      exchanges: [],
      records: [],
      transfers: [],
      transactions: []
    }
    drafts.set(key, draft)
    return draft
  }
  for (const exchange of exchangesOf(journal)) {
    const { payment } = exchange.sent
    const draft = at(payment.payer, payment.nonce)
    draft.payment ??= payment
    draft.exchanges.push(exchange)
  }
  for (const record of books) at(record.payer, record.nonce).records.push(record)
  for (const transfer of chain.transfers) {
    if (transfer.nonce !== undefined) at(transfer.from, transfer.nonce).transfers.push(transfer)
  }
  const byNonce = new Map([...drafts.values()].map((draft) => [digitsOf(draft.key), draft]))
  for (const transaction of chain.transactions) {
    for (const draft of carriedBy(transaction, byNonce)) draft.transactions.push(transaction)
  }
  return [...drafts.values()]
}

interface Draft extends PaymentStory {
  payment: JournalPayment | undefined
  readonly exchanges: Array<Exchange>
  readonly records: Array<BookEntry>
  readonly transfers: Array<ChainTransfer>
  readonly transactions: Array<SignerTransaction>
}

const exchangesOf = (journal: ReadonlyArray<JournalLine>): ReadonlyArray<Exchange> => {
  const outcomes = new Map<number, OutcomeReceived>()
  for (const line of journal) if (line._tag === "OutcomeReceived") outcomes.set(line.to, line)
  return journal.flatMap((line) =>
    line._tag === "RequestSent" ? [{ sent: line, received: outcomes.get(line.order) }] : []
  )
}

/** The digits of a nonce as a call has them; that of a user operation or of Permit2 is a decimal number at the end of its name. */
const digitsOf = (key: string): string =>
  /,(?:userop|permit2):/.test(key)
    ? BigInt(key.slice(key.lastIndexOf(":") + 1))
        .toString(16)
        .padStart(64, "0")
    : key.slice(-64)

/** A nonce is random: bytes that equal one are one, wherever a settling contract packs them. */
const carriedBy = ({ input }: SignerTransaction, byNonce: ReadonlyMap<string, Draft>): ReadonlySet<Draft> => {
  const found = new Set<Draft>()
  for (let place = 2; place + 64 <= input.length; place += 2) {
    const draft = byNonce.get(input.slice(place, place + 64))
    if (draft !== undefined) found.add(draft)
  }
  return found
}

/** The verdicts that the callers were given, of an operation. */
export const verdicts = ({ exchanges }: PaymentStory, operation: "settle" | "claim"): ReadonlyArray<Verdict> =>
  exchanges.flatMap(({ received, sent }) =>
    sent.operation === operation && received?.told._tag === "Verdict" ? [{ ...received.told, sent, received }] : []
  )

/** Whether a record says that the money has moved. */
export const isSettled = ({ status }: { readonly status: string }): boolean =>
  status === "included" || status === "final"

/** Whether a record says that nothing can happen to it any more. */
export const isOver = ({ status }: { readonly status: string }): boolean =>
  ["final", "rejected", "failed", "expired"].includes(status)

/** Whether the payment was not taken and its caller received a time to retry. */
export const isTurnedAway = ({ exchanges, records }: PaymentStory): boolean =>
  records.length === 0 &&
  exchanges.some(
    ({ received }) =>
      received?.told._tag === "CannotTell" && received.told.httpStatus === 503 && (received.told.retryAfter ?? 0) > 0
  )
