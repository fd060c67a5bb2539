/**
 * Records that are mostly in memory. The database selects the records for a condition, and the image provides their
 * contents; only missing ones are read. Each record read or written here is kept in the image.
 */
import { type PaymentStore, Settlement } from "@pontage/core"
import * as Effect from "effect/Effect"

import { legible } from "../database/SqlDialect.ts"
import { byId, inQueue, inTurn, type Records } from "../records/Records.ts"
import type { RecordImage } from "./RecordImage.ts"

type Stored = PaymentStore.StoredPayment

/** The records of a file with this image. `plain` are the same records without it. */
export const make = (plain: Records, image: RecordImage): Records => ({
  ...plain,
  ...reading(plain, image),
  create: (transaction, payment) =>
    Effect.map(plain.create(transaction, payment), (created) => {
      image.payers.noteCreated(created)
      return keeping(image)(created)
    }),
  keepExecution: (transaction, payment) => Effect.map(plain.keepExecution(transaction, payment), keeping(image)),
  keepDelivery: (transaction, payment, notice) =>
    Effect.map(plain.keepDelivery(transaction, payment, notice), keeping(image)),
  keep: (transaction, payments) =>
    Effect.map(plain.keep(transaction, payments), () => payments.forEach(keeping(image))),
  transition: (transaction, transitions) =>
    Effect.map(plain.transition(transaction, transitions), () =>
      transitions.forEach(({ after }) => keeping(image)(after))
    ),
  takeFromQueue: (transaction, transitions) =>
    Effect.map(plain.takeFromQueue(transaction, transitions), () =>
      transitions.forEach(({ after }) => keeping(image)(after))
    ),
  remove: (transaction, payments) =>
    Effect.map(plain.remove(transaction, payments), () =>
      payments.forEach((payment) => {
        image.forget(payment.paymentId)
        image.payers.forget(payment)
      })
    )
})

const reading = (
  plain: Records,
  image: RecordImage
): Pick<Records, "find" | "waiting" | "waitingInTurn" | "ofSerials" | "lock" | "lockOne" | "lockAll"> => {
  const ofSerials: Records["ofSerials"] = (transaction, serials) => {
    const known = serials.map(image.findSerial)
    const unknown = serials.filter((_, index) => known[index] === undefined)
    if (unknown.length === 0) return Effect.succeed(existing(known))
    return Effect.map(plain.ofSerials(transaction, unknown), (found) => {
      const bySerial = new Map(found.map((payment) => [payment.serial, keeping(image)(payment)]))
      return existing(serials.map((serial, index) => known[index] ?? bySerial.get(serial)))
    })
  }
  const where: Records["lock"] = (transaction, condition, parameters) =>
    Effect.flatMap(plain.serials(transaction, condition, parameters), (serials) => ofSerials(transaction, serials))
  // Most records missing here do not exist: an index shows that without building a record.
  const find: Records["find"] = (transaction, paymentId) => {
    const known = image.find(paymentId)
    return known !== undefined || image.isAbsent(paymentId)
      ? Effect.succeed(known)
      : Effect.map(where(transaction, byId, [paymentId]), ([found]) => found)
  }
  return {
    find,
    waiting: (transaction, lane, limit) => where(transaction, inQueue, [lane, BigInt(limit)]),
    waitingInTurn: (transaction, lane, limit, ofPayer) =>
      where(transaction, inTurn, [lane, BigInt(ofPayer), BigInt(limit)]),
    ofSerials,
    lock: (transaction, condition, parameters) => where(transaction, `${condition} ORDER BY p.serial`, parameters),
    lockOne: find,
    lockAll: (transaction, paymentIds) =>
      Effect.map(
        Effect.forEach(new Set(paymentIds), (paymentId) => find(transaction, paymentId)),
        existing
      )
  }
}

const existing = (found: ReadonlyArray<Stored | undefined>): ReadonlyArray<Stored> =>
  found.filter((one) => one !== undefined)

/** Keeps a record, unless it has ended, or the database altered one of its texts. */
const keeping =
  (image: RecordImage) =>
  (payment: Stored): Stored => {
    image.payers.note(payment)
    if (!isAtItsEnd(payment) && textsOf(payment).every((text) => text === undefined || legible(text) === text)) {
      image.keep(payment)
    } else image.forget(payment.paymentId)
    return payment
  }

const isAtItsEnd = ({ status }: Stored): boolean => status === "final" || Settlement.isDead(status)

/** The texts that have their own column; a text inside JSON is always legible. */
const textsOf = ({ block, caller, history, lane, paymentId, transaction }: Stored) => [
  paymentId,
  caller,
  transaction,
  block?.hash,
  lane,
  ...history.map(({ note }) => note)
]
