/**
 * The audit of payments that go on to a second chain: the facilitator's books against both chains. All that the router has taken in is
 * delivered, a fee, or on its way; nothing arrives twice; and every record of such a payment ends with its delivery.
 */
import type { Arrival, CrossingFacts, Departure } from "./CrossingFacts.ts"
import type { BookEntry } from "./PaymentBooks.ts"
import { isSettled, type Testimony } from "./PaymentStory.ts"

/** A message, as all witnesses tell of it. */
interface Crossing {
  readonly guid: string
  readonly departure: Departure | undefined
  readonly arrivals: ReadonlyArray<Arrival>
  /** The record of its payment. */
  readonly record: BookEntry | undefined
  /** The transactions of the facilitator's signer that deliver it. */
  readonly pushes: CrossingFacts["far"]["transactions"]
}

type Look = (crossing: Crossing) => string | false | undefined

const looks = {
  /** The money has left, and the books do not say so. */
  "departure-unbooked": ({ departure, record }) =>
    departure !== undefined &&
    (record === undefined || !isSettled(record)) &&
    `has departed by ${departure.transaction}, and its record is ${record?.status ?? "missing"}`,
  /** A message arrives whose payment has not departed. */
  "arrival-undeparted": ({ arrivals, departure }) =>
    departure === undefined && arrivals.length > 0 && "has arrived and never departed",
  /** The same money arrives again. */
  "delivered-twice": ({ arrivals }) => arrivals.length > 1 && `has arrived ${arrivals.length} times`,
  /** Another amount arrives, or elsewhere. */
  "delivered-otherwise": ({ arrivals, departure }) => {
    const [arrival] = arrivals
    if (departure === undefined || arrival === undefined) return false
    const { amount, fee } = arrival
    const isRight = amount + fee === departure.sent && amount >= departure.arriving
    return !isRight && `has brought ${amount} of ${departure.sent} for a fee of ${fee}`
  },
  /** Money that has departed has not arrived. */
  undelivered: ({ arrivals, departure }) =>
    departure !== undefined && arrivals.length === 0 && `has departed by ${departure.transaction} and not arrived`,
  /** The books do not know of the delivery. */
  "delivery-open": ({ record }) =>
    record !== undefined &&
    isSettled(record) &&
    record.delivery?.status !== "delivered" &&
    `its delivery is ${record.delivery?.status ?? "missing"}: ${record.delivery?.detail ?? ""}`,
  /** The books tell of another delivery than the chain. */
  "delivery-unproven": ({ arrivals, record }) => {
    const { amount, status, transaction } = record?.delivery ?? {}
    return (
      status === "delivered" &&
      !arrivals.some((one) => one.transaction === transaction?.toLowerCase() && one.amount === amount) &&
      `is on record as delivered by ${transaction}, which did not bring ${amount}`
    )
  },
  /** Nothing makes a push of these trials fail but an earlier delivery, so a second one is one too many. */
  "pushed-twice": ({ pushes }) => pushes.length > 1 && `was pushed by ${pushes.map(({ hash }) => hash).join(" and ")}`
} satisfies Record<string, Look>

type LookAtAll = (facts: CrossingFacts, testimony: Testimony) => ReadonlyArray<string>

const looksAtAll = {
  /** A record of a payment that went on, without its departure. */
  "settled-undeparted": ({ departures }, { books }) =>
    books
      .filter((record) => record.delivery !== undefined && isSettled(record))
      .filter((record) => !departures.some((one) => isOf(one, record)))
      .map(({ paymentId, transaction }) => `${paymentId} is settled by ${transaction}, and it has not departed there`),
  /** All that was taken in is delivered, a fee, or pending. */
  unbalanced: (facts) => {
    const { locked, taken } = facts.sums
    const { arrived, fees, pending } = sumsOf(facts)
    const left = taken - facts.sums.fees - locked
    return [
      ...(left === 0n ? [] : [`the router took ${taken}, and ${left} of it are neither fees nor on the bridge`]),
      ...(taken === arrived + fees + pending
        ? []
        : [`${taken} were taken; ${arrived} arrived, ${fees} are fees and ${pending} are pending`])
    ]
  },
  /** The token there moved other amounts to the payee than the messages brought. */
  "arrived-unbalanced": (facts) => {
    const moved = facts.far.transfers.reduce((sum, { value }) => sum + value, 0n)
    const { arrived } = sumsOf(facts)
    return moved === arrived ? [] : [`the payee got ${moved}, and the messages brought ${arrived}`]
  },
  /** A transaction of the signer there that delivers no message of a payment. */
  "push-unbooked": ({ departures, far }) =>
    far.transactions
      .filter(({ input }) => input !== "0x" && !departures.some((one) => input.includes(one.guid.slice(2))))
      .map(({ hash }) => `${hash} delivers nothing that has departed`),
  /** Something waits in the pool of the second chain. */
  "far-slot-gap": ({ far }) =>
    far.standings
      .filter(({ pooled }) => pooled.length > 0)
      .map(({ included, pooled, signer }) => `${signer} is at ${included}, and ${pooled.join(", ")} wait in the pool`)
} satisfies Record<string, LookAtAll>

/** The names of the checks. */
export type CrossingCheck = keyof typeof looks | keyof typeof looksAtAll

/** All checks. Each is shown to find its planted difference. */
export const crossingChecks: ReadonlyArray<string> = [...Object.keys(looks), ...Object.keys(looksAtAll)]

/** A difference. */
export interface Finding {
  readonly check: CrossingCheck
  readonly detail: string
}

const lasting: ReadonlySet<string> = new Set<CrossingCheck>([
  "delivered-twice",
  "delivered-otherwise",
  "arrival-undeparted",
  "pushed-twice",
  "push-unbooked"
])

/** Whether time cannot mend it. */
export const isLasting = ({ check }: { readonly check: string }): boolean => lasting.has(check)

/** Compares both chains and the books; nothing found means that all three say the same, or that no payment goes on. */
export const findings = (testimony: Testimony): ReadonlyArray<Finding> => {
  const { crossings: facts } = testimony
  if (facts === undefined) return []
  const crossings = crossingsOf(facts, testimony.books)
  return [
    ...keysOf(looks).flatMap((check) =>
      crossings.flatMap((crossing) => {
        const wrong = looks[check](crossing)
        return typeof wrong === "string" ? [{ check, detail: `${crossing.guid} ${wrong}` }] : []
      })
    ),
    ...keysOf(looksAtAll).flatMap((check) => looksAtAll[check](facts, testimony).map((detail) => ({ check, detail })))
  ]
}

const isOf = ({ nonce, payer, transaction }: Departure, record: BookEntry): boolean =>
  payer === record.payer.toLowerCase() &&
  nonce === record.nonce.toLowerCase() &&
  transaction === record.transaction.toLowerCase()

const crossingsOf = (
  { arrivals, departures, far }: CrossingFacts,
  books: ReadonlyArray<BookEntry>
): ReadonlyArray<Crossing> => {
  const records = new Map(books.map((record) => [`${record.payer},${record.nonce}`.toLowerCase(), record]))
  const guids = new Set([...departures, ...arrivals].map(({ guid }) => guid))
  return [...guids].map((guid) => {
    const departure = departures.find((one) => one.guid === guid)
    return {
      guid,
      departure,
      arrivals: arrivals.filter((one) => one.guid === guid),
      record: departure && records.get(`${departure.payer},${departure.nonce}`),
      pushes: far.transactions.filter(({ input }) => input.includes(guid.slice(2)))
    }
  })
}

const sumsOf = ({ arrivals, departures, sums }: CrossingFacts) => {
  const here = new Set(arrivals.map(({ guid }) => guid))
  return {
    arrived: arrivals.reduce((sum, { amount }) => sum + amount, 0n),
    /** The router's fees, and those on the way. */
    fees: arrivals.reduce((sum, { fee }) => sum + fee, sums.fees),
    pending: departures.filter(({ guid }) => !here.has(guid)).reduce((sum, { sent }) => sum + sent, 0n)
  }
}

/** The figures of payments that went on; none where no payment does. */
export const figures = ({ crossings: facts }: Testimony): Readonly<Record<string, number | string>> => {
  if (facts === undefined) return {}
  const { arrivals, departures, far, sums } = facts
  const { arrived, fees, pending } = sumsOf(facts)
  const ours = new Set(far.transactions.map(({ hash }) => hash))
  return {
    departed: departures.length,
    "delivered by the executor": arrivals.filter(({ transaction }) => !ours.has(transaction)).length,
    "delivered by the facilitator": arrivals.filter(({ transaction }) => ours.has(transaction)).length,
    "pushes that came too late": far.transactions.filter(({ reverted }) => reverted).length,
    "departures = deliveries + fees + pending": `${sums.taken} = ${arrived} + ${fees} + ${pending}`
  }
}

const keysOf = <K extends string>(table: Readonly<Record<K, unknown>>): ReadonlyArray<K> => {
  const keys: ReadonlyArray<string> = Object.keys(table)
  return keys.filter((key): key is K => Object.hasOwn(table, key))
}
