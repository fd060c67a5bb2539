/**
 * Settlements under way at a foreign facilitator: one call at a time for each payment, and what its outcome means for the
 * record. A call goes on when the request that began it ends, because its answer is worth more than the connection.
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

/** What settlements need. */
export interface X402FacilitatorSettlements {
  readonly exchange: X402FacilitatorExchange
  readonly ledger: X402FacilitatorLedger.X402FacilitatorLedger
  /** How long a caller waits, and how long a transaction without an outcome is asked about again. */
  readonly patience: Duration.Duration
  readonly underWay: Map<string, Deferred.Deferred<void, PaymentFailure>>
  readonly calls: FiberSet.FiberSet<void, PaymentFailure>
}

/** A transaction needs a block: asked sooner, the facilitator would say the same. */
const pause = Duration.seconds(2)

/** How long a seller that closes waits for answers under way. */
const farewell = "5 seconds"

/** Nothing under way yet. When its scope closes, calls are given a while to end. */
export const make = Effect.fnUntraced(function* (
  settling: Pick<X402FacilitatorSettlements, "exchange" | "ledger" | "patience">
): Effect.fn.Return<X402FacilitatorSettlements, never, Scope.Scope> {
  const calls = yield* FiberSet.make<void, PaymentFailure>()
  yield* Effect.addFinalizer(() => Effect.timeoutOption(FiberSet.awaitEmpty(calls), farewell))
  return { ...settling, underWay: new Map(), calls }
})

/** Whether a payment is being settled now. */
export const isUnderWay = ({ underWay }: X402FacilitatorSettlements, paymentId: string): boolean =>
  underWay.has(paymentId)

/**
 * Has a payment on record settled, or waits for the call that is under way. Fails with a refusal, or with what leaves the
 * outcome open.
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

/** Asks; and asks again while the facilitator waits for a block. */
const attempt = Effect.fnUntraced(function* (
  self: X402FacilitatorSettlements,
  schemeServer: SchemeServer,
  paymentId: string
): Effect.fn.Return<void, PaymentFailure> {
  const end = (yield* Clock.currentTimeMillis) + Duration.toMillis(self.patience)
  for (;;) {
    const record = self.ledger.find(paymentId)
    if (record === undefined) return yield* forgotten
    const told = yield* Effect.catchDefect(self.exchange.settle(schemeServer.scheme, record), (defect) =>
      Effect.succeed<SettleOutcome>({ _tag: "Unanswered", error: defective(defect) })
    )
    const now = yield* Clock.currentTimeMillis
    const waits = told._tag === "Pending" && now + Duration.toMillis(pause) < end
    const outcome =
      waits || !X402FacilitatorLedger.isInDoubt(record) ? told : yield* explained(schemeServer, record, told)
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
  new FacilitatorUnavailable({ message: "a defect while the facilitator was asked; the outcome is unknown", cause })

/**
 * Takes an outcome into the record; returns what the caller is told, `undefined` when the payment is settled. While a
 * payment is in doubt, no refusal is passed on: the call in doubt may have settled it, and then the refusal only describes
 * what that has left behind (the balance is spent, the time is over), but would make the payer sign again.
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
 * What an outcome means after a call of ours was left in doubt.
 *
 * The facilitator may say that the authorization was used; or refuse for what the payment itself has left behind, such as
 * an empty balance; or say nothing; or never learn what became of its transaction, and then only that very one counts. The
 * token takes an authorization once, and what was signed moves exactly this amount to exactly this payee (`Offer.check`,
 * before anybody was asked). So if it was used as it was signed, whoever sent it, then the payee was paid once, and this
 * process, which has asked for it and has granted nothing for it since, owes the resource.
 * But three things make it used without that, and each of them is looked for:
 *
 * - The payer has burnt it: cancelled it, or signed its nonce for another transfer. A payer that is a contract can even
 *   bring about the doubt, by failing strangely while it is asked. So the chain is asked (`useOf`), and the facilitator's
 *   word alone counts only for a scheme whose payers cannot do that.
 * - It was used before this process took it: by an earlier process, that has served it and is gone. Its block is older than
 *   the record then. Clocks differ, so a little earlier is not yet before.
 * - Another process was faster, which settles through the same facilitator at the same moment. That is beyond what one
 *   process can know. At least a transaction seen to have failed ends the doubt about it (`X402FacilitatorLedger.reverted`) without
 *   a look at what has won, so of two calls that raced, the one that lost is not counted.
 */
const explained = (
  schemeServer: SchemeServer,
  record: X402FacilitatorRecord,
  told: SettleOutcome
): Effect.Effect<SettleOutcome> => {
  if (told._tag === "Settled" || told._tag === "Reverted") return Effect.succeed(told)
  const { requirements, transaction } = record
  const earliest = (record.history[0]?.at ?? 0) - clockSkewMillis
  const isUsed = told._tag === "Used"
  if (schemeServer.useOf === undefined) return Effect.succeed(isUsed ? { _tag: "Settled", transaction } : told)
  const unexplained = (why: string): SettleOutcome => (isUsed ? { _tag: "NotTaken", error: usedBy(why) } : told)
  return Effect.match(
    schemeServer.useOf(requirements, X402FacilitatorPayment.payloadOf(record), Math.floor(earliest / 1000)),
    {
      onFailure: ({ message }) => unexplained(message),
      onSuccess: (use): SettleOutcome => {
        switch (use._tag) {
          case "Settled":
            if (told._tag === "Pending" && told.transaction !== use.transaction) return told
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

/** How far the chain's clock, as blocks tell it, may be behind ours. */
const clockSkewMillis = 30_000

const usedBefore = (transaction: string) =>
  invalid(
    "already_used",
    transaction,
    `this authorization was used before, in ${transaction}; it pays for nothing more`
  )

const usedBy = (why: string) =>
  new FacilitatorUnavailable({
    message: `the facilitator calls the authorization used, and it is not known by what: ${why}`
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
