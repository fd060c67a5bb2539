/**
 * The settlements under way at an x402 facilitator: one request at a time for each payment, and the meaning of its
 * outcome for the record. A request goes on when the caller's request ends, because its outcome is worth more than the
 * connection.
 */
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import type * as Scope from "effect/Scope"

import type { PaymentFailure } from "../../protocol/PaymentFailure.ts"
import { FacilitatorUnavailable, SettlementPending } from "../../protocol/ProtocolError.ts"
import { invalid } from "../../protocol/ValidationError.ts"
import type { SchemeServer } from "../../scheme/SchemeServer.ts"
import type { X402FacilitatorExchange } from "./X402FacilitatorExchange.ts"
import * as X402FacilitatorLedger from "./X402FacilitatorLedger.ts"
import type { X402FacilitatorRecord } from "./X402FacilitatorLedger.ts"
import * as X402FacilitatorPayment from "./X402FacilitatorPayment.ts"
import type { SettleOutcome } from "./X402FacilitatorResponse.ts"

/** Services and state of settlements. */
export interface X402FacilitatorSettlements {
  readonly exchange: X402FacilitatorExchange
  readonly ledger: X402FacilitatorLedger.X402FacilitatorLedger
  /** Time for which a caller waits, and for which a transaction without an outcome is requested again. */
  readonly patience: Duration.Duration
  readonly underWay: Map<string, Deferred.Deferred<void, PaymentFailure>>
  readonly calls: FiberSet.FiberSet<void, PaymentFailure>
}

/** Pause between two requests: a transaction needs a block, and sooner the facilitator would say the same. */
const pause = Duration.seconds(2)

/** Time for which a closing seller waits for requests under way. */
const closeTimeout = "5 seconds"

/** Starts with nothing under way. When its scope closes, requests get 5 seconds to end. */
export const make = Effect.fnUntraced(function* (
  settling: Pick<X402FacilitatorSettlements, "exchange" | "ledger" | "patience">
): Effect.fn.Return<X402FacilitatorSettlements, never, Scope.Scope> {
  const calls = yield* FiberSet.make<void, PaymentFailure>()
  yield* Effect.addFinalizer(() => Effect.timeoutOption(FiberSet.awaitEmpty(calls), closeTimeout))
  return { ...settling, underWay: new Map(), calls }
})

/** Whether a payment is being settled now. */
export const isUnderWay = ({ underWay }: X402FacilitatorSettlements, paymentId: string): boolean =>
  underWay.has(paymentId)

/**
 * Settles a payment on record, or waits for the request that is under way. Fails with a refusal, or with a failure that
 * leaves the outcome open.
 */
export const settle = (
  self: X402FacilitatorSettlements,
  schemeServer: SchemeServer,
  record: X402FacilitatorRecord
): Effect.Effect<void, PaymentFailure> =>
  Effect.flatMap(Effect.uninterruptible(begun(self, schemeServer, record)), (done) => Deferred.await(done)).pipe(
    Effect.timeoutOrElse({
      duration: self.patience,
      orElse: () => Effect.fail(openEnd(self.ledger.find(record.paymentId) ?? record))
    })
  )

const begun = (self: X402FacilitatorSettlements, schemeServer: SchemeServer, { paymentId }: X402FacilitatorRecord) =>
  Effect.suspend(() => {
    const joined = self.underWay.get(paymentId)
    if (joined !== undefined) return Effect.succeed(joined)
    const done = Deferred.makeUnsafe<void, PaymentFailure>()
    self.underWay.set(paymentId, done)
    const call = Effect.onExit(attempt(self, schemeServer, paymentId), (exit) => {
      self.underWay.delete(paymentId)
      return Deferred.done(done, exit)
    })
    return Effect.as(FiberSet.run(self.calls, call), done)
  })

/** Sends the request, and repeats it while the facilitator waits for a block. */
const attempt = Effect.fnUntraced(function* (
  self: X402FacilitatorSettlements,
  schemeServer: SchemeServer,
  paymentId: string
): Effect.fn.Return<void, PaymentFailure> {
  const end = (yield* Clock.currentTimeMillis) + Duration.toMillis(self.patience)
  for (;;) {
    const record = self.ledger.find(paymentId)
    if (record === undefined) return yield* forgotten
    const reported = yield* Effect.catchDefect(self.exchange.settle(schemeServer.scheme, record), (defect) =>
      Effect.succeed<SettleOutcome>({ _tag: "Unanswered", error: defective(defect) })
    )
    const now = yield* Clock.currentTimeMillis
    const waits = reported._tag === "Pending" && now + Duration.toMillis(pause) < end
    const outcome =
      waits || !X402FacilitatorLedger.isInDoubt(record) ? reported : yield* explained(schemeServer, record, reported)
    const failure = learn(self.ledger, paymentId, outcome, now)
    if (failure === undefined) return
    const hidden = saidBy(outcome)
    if (hidden !== undefined && hidden !== failure)
      yield* Effect.logWarning(`${paymentId}, in doubt: ${hidden.message}`)
    if (!waits) return yield* failure
    yield* Effect.sleep(pause)
  }
})

const saidBy = (outcome: SettleOutcome): PaymentFailure | undefined => {
  switch (outcome._tag) {
    case "Used":
    case "Refused":
      return outcome.failure
    case "NotTaken":
    case "Unanswered":
      return outcome.error
    case "Settled":
    case "Pending":
    case "Reverted":
      return undefined
  }
}

const forgotten = new FacilitatorUnavailable({
  message: "the record of the payment is gone; send the same payment again"
})

const defective = (cause: unknown) =>
  new FacilitatorUnavailable({
    message: "a defect during the request to the facilitator; the outcome is unknown",
    cause
  })

/**
 * Writes an outcome into the record; returns the caller's failure, `undefined` if the payment is settled. While a
 * payment is in doubt, no refusal is passed on: the request in doubt may have settled it, and then the refusal only
 * describes the consequence (the balance is spent, the time is over), but would make the payer sign again.
 */
const learn = (
  ledger: X402FacilitatorLedger.X402FacilitatorLedger,
  paymentId: string,
  outcome: SettleOutcome,
  now: number
): PaymentFailure | undefined => {
  const before = ledger.find(paymentId)
  if (before === undefined) return forgotten
  const change = (by: (record: X402FacilitatorRecord) => X402FacilitatorRecord): X402FacilitatorRecord =>
    ledger.change(paymentId, by) ?? before
  const doubted = X402FacilitatorLedger.isInDoubt(before)
  switch (outcome._tag) {
    case "Settled":
      change((record) => X402FacilitatorLedger.settled(record, outcome.transaction, now))
      return undefined
    case "Used":
      // In doubt this is proven (`explained`), so it need not be asked again.
      if (doubted) change((record) => X402FacilitatorLedger.usedUp(record, outcome.failure))
      return outcome.failure
    case "Refused":
      return doubted ? openEnd(before) : outcome.failure
    case "NotTaken":
      return doubted ? openEnd(before) : outcome.error
    case "Pending":
      return openEnd(change((record) => X402FacilitatorLedger.pending(record, outcome.transaction, now)))
    case "Reverted": {
      const after = change((record) => X402FacilitatorLedger.reverted(record, outcome.transaction, now))
      return X402FacilitatorLedger.isInDoubt(after) ? openEnd(after) : failedInBlock(outcome.transaction)
    }
    case "Unanswered":
      change((record) => X402FacilitatorLedger.unanswered(record, now, "a call to settle it was not answered"))
      return outcome.error
  }
}

/**
 * The meaning of an outcome after an earlier request of ours was left in doubt.
 *
 * The facilitator may say that the authorization was used; or refuse for a consequence of the payment itself, such as
 * an empty balance; or say nothing; or never learn the outcome of its transaction, and then only that very transaction
 * counts. The token accepts an authorization once, and the signature moves exactly this amount to exactly this payee
 * (`Offer.check`, before any request). So if it was used as signed, by any sender, then the payee was paid once, and
 * this process, which requested it and has granted nothing for it since, owes the resource. But three causes make it
 * used without that, and each of them is checked:
 *
 * - The payer has burnt it: cancelled it, or signed its nonce for another transfer. A payer that is a contract can even
 *   cause the doubt, by failing strangely during the request. So the chain is queried (`useOf`), and the facilitator's
 *   word alone counts only for a scheme whose payers cannot do that.
 * - It was used before this process took it: by an earlier process, which served it and has ended. Its block is older
 *   than the record then. Clocks differ, so a little earlier does not count as before.
 * - Another process was faster, which settles through the same facilitator at the same moment. One process cannot know
 *   that. At least a transaction seen to have failed ends the doubt about it (`X402FacilitatorLedger.reverted`) without
 *   a check of the winner, so of two requests that raced, the loser is not counted.
 */
const explained = (
  schemeServer: SchemeServer,
  record: X402FacilitatorRecord,
  reported: SettleOutcome
): Effect.Effect<SettleOutcome> => {
  if (reported._tag === "Settled" || reported._tag === "Reverted") return Effect.succeed(reported)
  const { requirements, transaction } = record
  const earliest = (record.history[0]?.at ?? 0) - clockSkewMillis
  const isUsed = reported._tag === "Used"
  if (schemeServer.useOf === undefined) return Effect.succeed(isUsed ? { _tag: "Settled", transaction } : reported)
  const unexplained = (why: string): SettleOutcome => (isUsed ? { _tag: "NotTaken", error: usedBy(why) } : reported)
  return Effect.match(
    schemeServer.useOf(requirements, X402FacilitatorPayment.payloadOf(record), Math.floor(earliest / 1000)),
    {
      onFailure: ({ message }) => unexplained(message),
      onSuccess: (use): SettleOutcome => {
        switch (use._tag) {
          case "Settled":
            if (reported._tag === "Pending" && reported.transaction !== use.transaction) return reported
            return use.time * 1000 < earliest
              ? { _tag: "Used", failure: usedBefore(use.transaction) }
              : { _tag: "Settled", transaction: use.transaction }
          case "Burnt":
            return { _tag: "Used", failure: use.error }
          case "Unseen":
            return unexplained("the node does not show it")
        }
      }
    }
  )
}

/** Milliseconds by which the chain's clock, as blocks show it, may be behind ours. */
const clockSkewMillis = 30_000

const usedBefore = (transaction: string) =>
  invalid(
    "already_used",
    transaction,
    `this authorization was used before, in ${transaction}; it pays for nothing more`
  )

const usedBy = (why: string) =>
  new FacilitatorUnavailable({
    message: `the facilitator says that the authorization was used, but not by which transaction: ${why}`
  })

const openEnd = ({ paymentId, status, transaction }: X402FacilitatorRecord): SettlementPending =>
  new SettlementPending({
    paymentId,
    status,
    ...(transaction !== "" && { transaction }),
    message: `the transfer of ${paymentId} is not confirmed yet; send the same payment again, do not sign a new one`
  })

const failedInBlock = (transaction: string) =>
  new FacilitatorUnavailable({
    message: `the facilitator's transaction ${transaction.slice(0, 100)} failed and moved nothing; send the same payment again`
  })
