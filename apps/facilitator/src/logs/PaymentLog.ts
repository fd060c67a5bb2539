/**
 * The log of the payments: one line for each end of a payment, written by the process that records it. Its fields are those of
 * the traces. No line holds a payload or a signature.
 */
import { PaymentStore, Settlement } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

type Stored = PaymentStore.StoredPayment
type Store = PaymentStore.PaymentStore["Service"]

const fieldsOf = (stored: Stored): Readonly<Record<string, unknown>> => {
  const { authorization, caller, history, paymentId, refusal, requirements, status, transaction } = stored
  const [first, last] = [history[0], history.at(-1)]
  return {
    "payment.id": paymentId,
    "payment.network": requirements.network,
    "payment.scheme": requirements.scheme,
    "payment.state": status,
    "payment.amount": `${authorization.amount}`,
    "payment.asset": authorization.asset,
    "payment.payer": authorization.payer,
    "payment.payee": authorization.payTo,
    ...(transaction !== "" && { "payment.transaction": transaction }),
    ...(caller !== "" && { "payment.caller": caller }),
    ...(refusal !== undefined && { "payment.reason": reasonOf(refusal) }),
    ...(first && last && { "payment.millis": last.at - first.at })
  }
}

const reasonOf = (refusal: NonNullable<Stored["refusal"]>): string =>
  refusal._tag === "PaymentError" ? refusal.code : refusal.reason

const isEnd = (state: Settlement.PaymentState): boolean => state === "included" || Settlement.isDead(state)

const sentences: Readonly<Partial<Record<Settlement.PaymentState, string>>> = {
  included: "a payment has moved its money",
  rejected: "a payment was rejected",
  failed: "a payment failed on the chain",
  expired: "a payment expired unused"
}

/** Writes the line of a payment that has come to an end. */
export const ended = (stored: Stored): Effect.Effect<void> => {
  const sentence = sentences[stored.status]
  if (sentence === undefined) return Effect.void
  const line = stored.status === "failed" ? Effect.logWarning(sentence) : Effect.logInfo(sentence)
  return Effect.annotateLogs(line, fieldsOf(stored))
}

/** The store with a line for each end that it records. */
export const make = (store: Store): Store => ({
  ...store,
  record: (lease, write) =>
    Effect.tap(store.record(lease, write), (changed) =>
      Effect.forEach(
        write.changes.flatMap(({ to }, index) => {
          const stored = changed[index]
          return stored !== undefined && isEnd(to) ? [stored] : []
        }),
        ended,
        { discard: true }
      )
    ),
  endUnwanted: (unused) =>
    Effect.tap(store.endUnwanted(unused), (records) => Effect.forEach(records, ended, { discard: true }))
})

/** Adds the log to the store of the context. */
export const layer: Layer.Layer<PaymentStore.PaymentStore, never, PaymentStore.PaymentStore> = Layer.effect(
  PaymentStore.PaymentStore,
  Effect.map(PaymentStore.PaymentStore, make)
)
