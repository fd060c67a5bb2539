/**
 * A payment store in this process's memory: for tests, demonstrations and a first day. What it holds is gone with the
 * process; the chain still takes no authorization twice, but an entitlement to a failed run is forgotten.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

import * as PaymentStore from "./PaymentStore.ts"
import * as Run from "./Run.ts"

type Stored = PaymentStore.StoredPayment

/** A record is dropped this long after its authorization has expired: far beyond the entitlement, so nothing is owed. */
const retentionMillis = 24 * 3_600_000

/** Records looked at for dropping, for every one added: the sweep keeps up and never stalls a request. */
const sweepPerClaim = 2

/**
 * Makes an empty store. JavaScript runs one synchronous step at a time, so a method that never suspends is atomic.
 *
 * @category constructors
 */
export const make: Effect.Effect<PaymentStore.PaymentStore["Service"]> = Effect.sync(() => {
  const records = makeRecords()
  return PaymentStore.PaymentStore.of({
    find: (paymentId) => Effect.sync(() => records.find(paymentId)),
    claim: (payment, claim, available) =>
      synchronously((now): PaymentStore.ClaimResult => {
        const known = records.find(payment.paymentId)
        if (known !== undefined) return claimKnown(known, claim, now, records.put)
        const reserved = records.reservedBy(payment, now)
        if (reserved > 0n && (available === undefined || reserved + payment.authorization.amount > available)) {
          return { _tag: "Overdrawn", reserved }
        }
        records.sweep(now)
        const execution = claim && "granted"
        return {
          _tag: "Claimed",
          created: true,
          execution,
          payment: records.create(payment, Run.make(claim, now), now)
        }
      }),
    advance: (paymentId, change) =>
      synchronously((now) => {
        const known = records.find(paymentId)
        return known !== undefined && change.from.includes(known.status)
          ? records.put(advanced(known, change, now))
          : undefined
      }),
    finish: (paymentId, claimId, outcome) =>
      synchronously((now) => {
        const known = records.find(paymentId)
        return known && records.put({ ...known, run: Run.finish(known.run, claimId, outcome, now) })
      }),
    oweAnswer: (paymentId, owed) =>
      Effect.sync(() => {
        const known = records.find(paymentId)
        if (known !== undefined) records.put({ ...known, answerOwed: owed })
        return known?.answerOwed ?? false
      })
  })
})

/**
 * The store as a layer.
 *
 * @category layers
 */
export const layer: Layer.Layer<PaymentStore.PaymentStore> = Layer.effect(PaymentStore.PaymentStore, make)

/** The records, and each payer's among them. */
const makeRecords = () => {
  const payments = new Map<string, Stored>()
  const byPayer = new Map<string, Set<string>>()

  const put = (payment: Stored): Stored => {
    payments.set(payment.paymentId, payment)
    return payment
  }

  const reservedBy = (payment: PaymentStore.NewPayment, now: number): bigint => {
    let total = 0n
    for (const id of byPayer.get(payerKey(payment)) ?? []) {
      const other = payments.get(id)
      if (other !== undefined && PaymentStore.reserves(other, now)) total += other.authorization.amount
    }
    return total
  }

  const create = (payment: PaymentStore.NewPayment, run: Run.Run, now: number): Stored => {
    const key = payerKey(payment)
    const siblings = byPayer.get(key) ?? new Set()
    byPayer.set(key, siblings.add(payment.paymentId))
    return put({
      ...payment,
      status: "accepted",
      transaction: "",
      prepared: undefined,
      refusal: undefined,
      run,
      answerOwed: false,
      history: [{ status: "accepted", at: now }]
    })
  }

  const drop = (payment: Stored) => {
    payments.delete(payment.paymentId)
    const siblings = byPayer.get(payerKey(payment))
    siblings?.delete(payment.paymentId)
    if (siblings?.size === 0) byPayer.delete(payerKey(payment))
  }

  /** A payment on its way that is long overdue does not keep the sweep from those behind it. */
  const moveToEnd = (payment: Stored) => {
    payments.delete(payment.paymentId)
    put(payment)
  }

  const sweep = (now: number) => {
    let budget = sweepPerClaim
    for (const payment of payments.values()) {
      if (budget-- === 0 || isNeeded(payment, now)) return
      if (isOnItsWay(payment)) moveToEnd(payment)
      else drop(payment)
    }
  }

  return { find: (paymentId: string) => payments.get(paymentId), put, reservedBy, create, sweep }
}

const synchronously = <A>(step: (now: number) => A) => Effect.map(Clock.currentTimeMillis, step)

const payerKey = ({ authorization, requirements }: PaymentStore.NewPayment) =>
  `${requirements.network} ${authorization.asset} ${authorization.payer}`

const claimKnown = (
  known: Stored,
  claim: Parameters<PaymentStore.PaymentStore["Service"]["claim"]>[1],
  now: number,
  put: (payment: Stored) => Stored
): PaymentStore.ClaimResult => {
  if (claim === undefined) return { _tag: "Claimed", created: false, execution: undefined, payment: known }
  const [execution, run] = Run.claim(known.run, claim, PaymentStore.circumstances(known, now))
  return { _tag: "Claimed", created: false, execution, payment: put({ ...known, run }) }
}

const advanced = (known: Stored, change: PaymentStore.Advance, now: number): Stored => ({
  ...known,
  status: change.to,
  transaction: change.transaction ?? known.transaction,
  prepared: change.prepared ?? known.prepared,
  refusal: change.refusal ?? known.refusal,
  history: [...known.history, { status: change.to, at: now, ...(change.note !== undefined && { note: change.note }) }]
})

const isNeeded = ({ authorization }: Stored, now: number): boolean =>
  now <= authorization.validBefore * 1000 + retentionMillis

const isOnItsWay = ({ status }: Stored): boolean => status === "planned" || status === "sent"
