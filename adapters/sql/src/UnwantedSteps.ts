/** Payments that no caller asked to settle: a page of them, and their end once the chain has proven them unused. */
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
  readonly end: (
    database: Database,
    unused: ReadonlyArray<PaymentStore.ProvenUnused>
  ) => Effect.Effect<ReadonlyArray<PaymentStore.StoredPayment>, FacilitatorUnavailable>
}

/** Maximum number of payments in one transaction: a long one would delay others. */
const endedAtOnce = 500

export const make = (records: Records.Records): UnwantedSteps => ({
  page: (transaction, network, validBefore, limit, after) => {
    const from = after === undefined ? before : after
    const parameters = [network, wholeUp(validBefore), BigInt(from.validBefore), from.serial, BigInt(limit)]
    return Effect.flatMap(records.serials(transaction, ofNetwork, parameters), (serials) =>
      Effect.map(records.ofSerials(transaction, serials), (found) => inOrder(found, serials))
    )
  },
  end: ({ transact }, unused) =>
    Effect.map(
      Effect.forEach(Arr.chunksOf(unused, endedAtOnce), (some) =>
        transact((transaction) => endSome(transaction, records, some))
      ),
      (ended) => ended.flat()
    )
})

/** A caller may ask for one meanwhile, so each is checked under its lock. */
const endSome = Effect.fnUntraced(function* (
  transaction: Transaction,
  records: Records.Records,
  unused: ReadonlyArray<PaymentStore.ProvenUnused>
): Effect.fn.Return<ReadonlyArray<PaymentStore.StoredPayment>, Records.RecordFault> {
  const proofs = new Map(unused.map((proof) => [proof.paymentId, proof]))
  const found = yield* records.lockAll(transaction, [...proofs.keys()])
  const transitions = found.flatMap((known) => {
    const proof = proofs.get(known.paymentId)
    return proof === undefined || !PaymentChange.isUnwanted(known)
      ? []
      : [{ before: known, after: PaymentChange.changed(known, PaymentChange.endUnused(known, proof), transaction.now) }]
  })
  yield* records.transition(transaction, transitions)
  return transitions.map(({ after }) => after)
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
