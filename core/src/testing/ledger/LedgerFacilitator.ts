/**
 * The scheme facilitator of `exact` on a ledger in memory: batches, replacements at higher fees, and proofs from the
 * transfers themselves, in the fewest lines that keep all the laws.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

import type { Network } from "../../protocol/Network.ts"
import { type PaymentError, refuse } from "../../protocol/PaymentError.ts"
import type { PaymentRequirements } from "../../protocol/PaymentRequirements.ts"
import type { ChainUnavailable } from "../../protocol/ProtocolError.ts"
import { invalid, type ValidationError } from "../../protocol/ValidationError.ts"
import type { Onward } from "../../scheme/Onward.ts"
import * as OwnTransfer from "../../scheme/OwnTransfer.ts"
import type {
  Block,
  Conclusion,
  PaymentObservation,
  ObservedPayment,
  Payment,
  Preparation,
  PreparedTransaction,
  SchemeFacilitator,
  TransactionObservation,
  Slot,
  SubmitResult,
  ChainHead
} from "../../scheme/SchemeFacilitator.ts"
import * as LedgerBytes from "./LedgerBytes.ts"
import {
  arriving,
  asked,
  askedIn,
  boundNonce,
  network,
  Payload,
  scheme,
  signatureOf,
  unavailable
} from "./LedgerScheme.ts"
import { type LedgerOrder, type LedgerReceipt, type TestLedger, toOrder } from "./TestLedger.ts"

/** The options of the scheme facilitator. */
export interface FacilitatorOptions {
  /** Its signers; default one, `signer-1`. Empty for a family whose payers send their own transactions. */
  readonly lanes?: ReadonlyArray<string>
  readonly capacity?: number
  /** Whether payments are batched; default one by one. */
  readonly batches?: NonNullable<SchemeFacilitator["batches"]>
  /** Maximum number of payments in one transaction, whatever `batches` says. */
  readonly fitting?: number
  /** `false`: transactions of this family are never replaced at a higher fee. */
  readonly fees?: boolean
  /** The network of the ledger; default `ledger:test`. */
  readonly network?: Network
  /** Where payments go on to another network (`TestBridge`). */
  readonly onward?: Onward<Payload>
}

/** Makes the scheme facilitator. */
export const make = (ledger: TestLedger, options: FacilitatorOptions = {}): SchemeFacilitator => {
  const { batches, capacity, fees = true, fitting = Infinity, lanes = ["signer-1"], onward } = options
  const most = Math.min(fitting, batches?.maximum ?? 1)
  const facilitator: SchemeFacilitator<Payload> = {
    scheme,
    network: options.network ?? network,
    lanes,
    ...(onward && { onward }),
    ...(capacity !== undefined && { capacity }),
    ...(batches && { batches }),
    read: (requirements, payload) => read(requirements, payload),
    verify: (payment) => verify(ledger, payment),
    balance: ({ authorization }) => asked(ledger, () => ledger.balanceOf(authorization.payer)),
    nextSlot: (lane, counting) => asked(ledger, () => ledger.nextSlot(lane, counting)),
    chainHead: asked(ledger, () => chainHead(ledger, fees)),
    isCanonical: (block) => asked(ledger, () => ledger.isCanonical(block)),
    prepare: (payments, slot, now, maximumCost, replaced) =>
      asked(ledger, () => {
        const orders = payments
          .slice(0, replaced === undefined ? most : payments.length)
          .map(({ payload }) => toOrder(payload))
        return prepare(orders, slot, now, maximumCost)
      }),
    noop: (slot, now) => asked(ledger, () => LedgerBytes.sign([], slot, now)),
    submit: ({ bytes }) => submit(ledger, bytes),
    observe: (observedPayments, attempts) => asked(ledger, () => observe(ledger, observedPayments, attempts, lanes)),
    conclude: (observedPayment) => asked(ledger, () => conclude(ledger, observedPayment, lanes)),
    signers: asked(ledger, () => lanes.map((address) => ({ address, balance: ledger.signerBalanceOf(address) })))
  }
  return facilitator
}

/** Signs for as many of the first orders as the cost allows. */
const prepare = (
  orders: ReadonlyArray<LedgerOrder>,
  slot: Slot | undefined,
  now: ChainHead,
  maximumCost: bigint | undefined
): Preparation => {
  const prepared = LedgerBytes.sign(orders, slot, now)
  return maximumCost === undefined || prepared.cost <= maximumCost || orders.length < 2
    ? { prepared, count: orders.length }
    : prepare(orders.slice(0, -1), slot, now, maximumCost)
}

const decodePayload = Schema.decodeUnknownEffect(Payload)

/** Reads an order; the scheme server reads it in the same way. */
export const read = Effect.fnUntraced(function* (requirements: PaymentRequirements, json: unknown) {
  const payload = yield* Effect.mapError(decodePayload(json), (error) =>
    invalid("malformed", "payload_fields", `the payload is no order: ${error.message}`)
  )
  const { binding, nonce } = payload
  if (binding !== undefined && nonce !== (yield* boundNonce(binding))) {
    return yield* invalid("binding_mismatch", "nonce_not_bound", "the nonce is not the one of the challenge and salt")
  }
  const { amount, asset: token, payTo, payer, validAfter, validBefore } = payload
  const terms = { payer, payTo, asset: token, amount, nonce, validAfter, validBefore, binding }
  const asked = askedIn(requirements)
  return {
    requirements,
    payload,
    authorization: asked === undefined ? terms : { ...terms, arrival: { amount: arriving(amount), asked } }
  }
})

const proveSigned = Effect.fnUntraced(function* ({ payload }: Payment<Payload>) {
  const { signature, ...terms } = payload
  if (signature !== (yield* signatureOf({ ...terms, amount: `${terms.amount}` }))) {
    return yield* refuse("INVALID_SIGNATURE", "payer_mismatch", `the signature is not one of ${terms.payer}`)
  }
})

/** The checks of the scheme server: those that the ledger's bank could make without reading the accounts. */
export const inspect = Effect.fnUntraced(function* (requirements: PaymentRequirements, json: unknown) {
  const payment = yield* read(requirements, json)
  yield* proveSigned(payment)
  return payment.authorization
})

const verify = Effect.fnUntraced(function* (
  ledger: TestLedger,
  payment: Payment<Payload>
): Effect.fn.Return<void, PaymentError | ValidationError | ChainUnavailable> {
  const { payload } = payment
  yield* proveSigned(payment)
  const now = Math.floor((yield* Clock.currentTimeMillis) / 1000)
  if (payload.validBefore <= now) return yield* refuse("EXPIRED_PAYMENT", "expired", "the ledger's time is over")
  const error = yield* asked(ledger, () => obstacle(ledger, toOrder(payload)))
  if (error !== undefined) return yield* error
})

const obstacle = (ledger: TestLedger, order: LedgerOrder): PaymentError | ValidationError | undefined => {
  const use = ledger.useOf(order)
  if (use !== undefined) return invalid("already_used", use.transaction, `the nonce was used in ${use.transaction}`)
  return ledger.balanceOf(order.payer) < order.amount
    ? refuse("INSUFFICIENT_BALANCE", "balance_below_amount", `${order.payer} holds less than ${order.amount}`)
    : undefined
}

const chainHead = (ledger: TestLedger, withFees: boolean): ChainHead => {
  const { hash, number, time } = ledger.head()
  const { base, ceiling, priority } = ledger.market
  return {
    head: { number, hash, time },
    final: ledger.final().number,
    ...(withFees && { fees: { maximum: 2n * base + priority, priority, ceiling } })
  }
}

const submit = Effect.fnUntraced(function* (
  ledger: TestLedger,
  bytes: string
): Effect.fn.Return<SubmitResult, ChainUnavailable> {
  const answer = yield* asked(ledger, () => ledger.submit(LedgerBytes.toTransaction(bytes)))
  if (answer === undefined) return yield* unavailable("the response was lost")
  if (answer === "accepted") return { _tag: "Accepted" }
  if (answer === "slotUsed") return { _tag: "SlotUsed" }
  return "refused" in answer
    ? { _tag: "Refused", message: answer.refused }
    : { _tag: "Outdated", message: answer.outdated }
})

const observe = (
  ledger: TestLedger,
  observedPayments: ReadonlyArray<ObservedPayment<Payload>>,
  attempts: ReadonlyArray<PreparedTransaction>,
  lanes: ReadonlyArray<string>
): TransactionObservation => {
  if (ledger.faults.hiddenLooks > 0) {
    ledger.faults.hiddenLooks--
    return { inclusion: undefined, observations: observedPayments.map(() => ({ _tag: "Pending" })) }
  }
  const own = attempts.map(({ transaction }) => transaction)
  const inclusion = own.map((transaction) => ledger.receipt(transaction)).find((receipt) => receipt !== undefined)
  return {
    inclusion: inclusion && { transaction: inclusion.transaction, block: inclusion.block, cost: inclusion.cost },
    observations: observedPayments.map((observedPayment) => {
      const isOurs = (transaction: string, time: number) =>
        own.includes(transaction) || isOfLanes(lanes, observedPayment, transaction, time)
      return observation(ledger, observedPayment, isOurs, inclusion)
    })
  }
}

/** The transfer itself is searched first: the sender of its transaction does not matter. */
const observation = (
  ledger: TestLedger,
  observedPayment: ObservedPayment<Payload>,
  isOurs: (transaction: string, time: number) => boolean,
  inclusion: LedgerReceipt | undefined
): PaymentObservation => {
  const transfer = transferOf(ledger, observedPayment, isOurs)
  if (transfer !== undefined) {
    const { block, transaction } = transfer
    return { _tag: "Settled", transaction, block: placeOf(block), external: !isOurs(transaction, block.time) }
  }
  // A no-op transaction has only used the slot: the order may still be executed until it expires.
  if (inclusion === undefined || inclusion.paid.length === 0) return { _tag: "Pending" }
  const order = toOrder(observedPayment.payment.payload)
  const error = obstacle(ledger, order) ?? invalid("unsupported_authorization", "reverted", "the transfer was refused")
  return { _tag: "Failed", transaction: inclusion.transaction, error }
}

/**
 * Whether one of our signers has sent this transaction since the payment's record was made: its slot may be another one than that
 * of the observed attempts, whose bytes the payment had before.
 */
const isOfLanes = (
  lanes: ReadonlyArray<string>,
  observedPayment: ObservedPayment<Payload>,
  transaction: string,
  time: number
): boolean =>
  OwnTransfer.isSigner(observedPayment, new Set(lanes), transaction.split("/")[0] ?? "") &&
  OwnTransfer.isSince(observedPayment, time)

const placeOf = ({ hash, number }: Block): Block => ({ number, hash })

/** The payment's own transfer. */
const transferOf = (
  ledger: TestLedger,
  observedPayment: ObservedPayment<Payload>,
  isOurs: (transaction: string, time: number) => boolean
) => {
  const use = ledger.useOf(toOrder(observedPayment.payment.payload))
  const byUs = use !== undefined && isOurs(use.transaction, use.block.time)
  return use?.paid === true && OwnTransfer.isOwn(observedPayment, use.block, byUs) ? use : undefined
}

const conclude = (
  ledger: TestLedger,
  observedPayment: ObservedPayment<Payload>,
  lanes: ReadonlyArray<string>
): Conclusion => {
  const isOurs = (transaction: string, time: number) => isOfLanes(lanes, observedPayment, transaction, time)
  const transfer = transferOf(ledger, observedPayment, isOurs)
  if (transfer !== undefined) {
    const { block, transaction } = transfer
    const isByOthers = !isOurs(transaction, block.time)
    // Without lanes no transaction names who has sent it: one that was settled as the payment's own before stays so.
    const external = isByOthers && !(lanes.length === 0 && observedPayment.settledBefore === true)
    return { _tag: "Settled", transaction, block: placeOf(block), external }
  }
  const { hash, number, time } = ledger.final()
  return time < observedPayment.payment.payload.validBefore
    ? { _tag: "Pending" }
    : { _tag: "Unused", at: { number, hash } }
}
