/** Payments that no caller asked to settle: a page of them, and their expiry once the chain has proven them unused. */
import { type FacilitatorUnavailable, PaymentChange, type PaymentStore } from "@pontage/core"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"

import type { Database, Transaction } from "./database/Database.ts"
import type * as Records from "./records/Records.ts"

/** The steps. */
export interface UnwantedSteps {
  readonly page: (
    transaction: Transaction,
    network: string,
    validBefore: number,
    limit: number,
    after: PaymentStore.UnwantedPlace | undefined
  ) => Effect.Effect<ReadonlyArray<PaymentStore.StoredPayment>, Records.RecordFault>
  readonly expire: (
    database: Database,
    unused: ReadonlyArray<PaymentStore.ProvenUnused>
  ) => Effect.Effect<number, FacilitatorUnavailable>
}

/** Maximum number of payments in one transaction: a long one would delay others. */
const expiredAtOnce = 500

export const make = (records: Records.Records): UnwantedSteps => ({
  page: (transaction, network, validBefore, limit, after) => {
    const from = after === undefined ? before : after
    const parameters = [network, wholeUp(validBefore), BigInt(from.validBefore), from.serial, BigInt(limit)]
    return Effect.flatMap(records.serials(transaction, ofNetwork, parameters), (serials) =>
      Effect.map(records.ofSerials(transaction, serials), (found) => inOrder(found, serials))
    )
  },
  expire: ({ transact }, unused) =>
    Effect.map(
      Effect.forEach(Arr.chunksOf(unused, expiredAtOnce), (some) =>
        transact((transaction) => expireSome(transaction, records, some))
      ),
      (counts) => counts.reduce((sum, count) => sum + count, 0)
    )
})

/** A caller may ask for one meanwhile, so each is checked under its lock. */
const expireSome = Effect.fnUntraced(function* (
  transaction: Transaction,
  records: Records.Records,
  unused: ReadonlyArray<PaymentStore.ProvenUnused>
): Effect.fn.Return<number, Records.RecordFault> {
  const proofs = new Map(unused.map(({ at, paymentId }) => [paymentId, at]))
  const found = yield* records.lockAll(transaction, [...proofs.keys()])
  const transitions = found.flatMap((known) => {
    const at = proofs.get(known.paymentId)
    return at === undefined || !PaymentChange.isUnwanted(known)
      ? []
      : [{ before: known, after: PaymentChange.expired(known, at, transaction.now) }]
  })
  yield* records.transition(transaction, transitions)
  return transitions.length
})

const inOrder = (
  found: ReadonlyArray<PaymentStore.StoredPayment>,
  serials: ReadonlyArray<bigint>
): ReadonlyArray<PaymentStore.StoredPayment> => {
  const bySerial = new Map(found.map((one) => [one.serial, one]))
  return serials.flatMap((serial) => bySerial.get(serial) ?? [])
}

/** A place before every payment. */
const before: PaymentStore.UnwantedPlace = { validBefore: 0, serial: 0n }

const wholeUp = (seconds: number): bigint => BigInt(Math.ceil(seconds))

/** The order of the index `payment_unwanted`, which holds only such payments. */
const ofNetwork = `WHERE p.active AND p.lane IS NULL AND p.status = 'accepted' AND p.network = ?
  AND p.valid_before < ? AND (p.valid_before, p.serial) > (?, ?)
  ORDER BY p.valid_before, p.serial LIMIT CAST(? AS BIGINT)`
