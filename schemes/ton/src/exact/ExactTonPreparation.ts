/**
 * Prepares the relayer's external message for the first payments of a list. Each payment is verified once more: one whose
 * wallet or money has changed stays in the batch without a message, so nothing is spent on it and the chain shows its end.
 */
import {
  type ChainUnavailable,
  type FacilitatorUnavailable,
  Misconfigured,
  type Payment,
  type Preparation,
  type PreparedTransaction,
  refuse,
  type Slot,
  type ChainHead
} from "@pontage/core"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schedule from "effect/Schedule"

import type { UnsentPayments } from "../evidence/TonObservation.ts"
import type { SignedJettonTransfer } from "../payment/ExactTonReading.ts"
import * as TonRelay from "../sending/TonRelay.ts"
import * as TonRelayer from "../sending/TonRelayer.ts"
import type * as TonTariff from "../sending/TonTariff.ts"
import type { ExactTonChain } from "./ExactTonChain.ts"
import * as ExactTonVerification from "./ExactTonVerification.ts"

/** Results of recent verifications. */
export type Verifications = WeakMap<SignedJettonTransfer, ExactTonVerification.Verified>

/** Validity of a relayer's external message, in seconds. */
const validSeconds = 90
/** Milliseconds that a verification is used. */
const freshMillis = 3_000
/** Payments that are verified at the same time. */
const concurrency = 16
/** Pauses before the repetitions of a verification that the node did not serve: nodes limit the requests of a second. */
const firstPause = "250 millis"
const nextPauses = Schedule.exponential("500 millis")
const nextRepeats = 2
/** Time limit of all repetitions: the other payments of the batch wait for them. */
const repeatsTimeout = "10 seconds"

/** A payment of the batch. */
interface BatchEntry {
  readonly payment: Payment<SignedJettonTransfer>
  /** Whether the payer's wallet is deployed; `undefined` where nothing is sent for the payment. */
  readonly isDeployed: boolean | undefined
  /** The relayer's message for it; `undefined` where the payer's own message is sent. */
  readonly relay: TonRelay.TonRelay | undefined
}

/**
 * Prepares a batch. A replacement takes all payments of the message that it replaces: budgets do not judge them again.
 */
export const prepare = Effect.fnUntraced(function* (
  chain: ExactTonChain,
  verifications: Verifications,
  unsent: UnsentPayments,
  payments: ReadonlyArray<Payment<SignedJettonTransfer>>,
  slot: Slot | undefined,
  chainHead: ChainHead,
  maximumCost?: bigint,
  replaced?: PreparedTransaction
): Effect.fn.Return<Preparation, ChainUnavailable | FacilitatorUnavailable | Misconfigured> {
  const isAgain = replaced !== undefined
  const batch = isAgain ? payments : batchOf(payments, chain.batches.maximum)
  if (batch.length === 0) return yield* new Misconfigured({ message: "no payment to prepare" })
  const tariff = yield* chain.tariff
  if (isAgain) yield* Effect.forEach(batch, (payment) => chain.losses.hold(payment), { discard: true })
  const results = yield* verifiedEntries((payment) => entryOf(chain, verifications, unsent, payment, tariff), batch)
  const entries = yield* entriesOf(unsent, batch, results)
  const relayerSlot = yield* relayerSlotOf(chain, slot)
  const { balance } = yield* chain.rpc.account(relayerSlot.relayer.address)
  const most = maximumCost !== undefined && maximumCost < balance ? maximumCost : balance
  const ready = isAgain ? entries : entries.slice(0, affordable(entries, tariff, most))
  let count = yield* reserve(chain, unsent, ready, tariff)
  while (true) {
    const preparation = yield* signBatch(ready.slice(0, count), relayerSlot, tariff, balance, chainHead)
    if (preparation !== undefined) return preparation
    count = Math.max(1, Math.floor(count * 0.9))
  }
})

type EntryResult = Result.Result<BatchEntry, ChainUnavailable | FacilitatorUnavailable>

/**
 * The verified entries of a batch. A verification that the node did not serve, while it served others, is repeated: one refused
 * or lost request must not end an honest payment. Where the node serves none, the batch fails at once.
 */
const verifiedEntries = Effect.fnUntraced(function* (
  entryFor: (payment: Payment<SignedJettonTransfer>) => ReturnType<typeof entryOf>,
  batch: ReadonlyArray<Payment<SignedJettonTransfer>>
): Effect.fn.Return<ReadonlyArray<EntryResult>> {
  const results = yield* Effect.forEach(batch, (payment) => Effect.result(entryFor(payment)), { concurrency })
  if (results.every(isUnserved)) return results
  return yield* Effect.forEach(
    results.entries(),
    ([index, result]) => {
      const payment = batch[index]
      return payment !== undefined && isUnserved(result) ? repeated(entryFor(payment), result) : Effect.succeed(result)
    },
    { concurrency }
  )
})

/** Result of a few repetitions of a verification; `first`, the unserved one, where they take too long. */
const repeated = (entry: ReturnType<typeof entryOf>, first: EntryResult): Effect.Effect<EntryResult> =>
  Effect.retry(entry, {
    schedule: nextPauses,
    times: nextRepeats,
    while: ({ _tag }) => _tag === "ChainUnavailable"
  }).pipe(
    Effect.delay(firstPause),
    Effect.result,
    Effect.timeoutOrElse({ duration: repeatsTimeout, orElse: () => Effect.succeed(first) })
  )

const isUnserved = (result: EntryResult): boolean =>
  Result.isFailure(result) && result.failure._tag === "ChainUnavailable"

/**
 * The entries of a batch. A payment that cannot be verified, while others can, stays without a message: one account that no
 * node answers for must not stop the others. Where none can be verified, the chain is unavailable. A payment beyond a budget
 * ends the batch.
 */
const entriesOf = Effect.fnUntraced(function* (
  unsent: UnsentPayments,
  batch: ReadonlyArray<Payment<SignedJettonTransfer>>,
  results: ReadonlyArray<EntryResult>
): Effect.fn.Return<Array<BatchEntry>, ChainUnavailable | FacilitatorUnavailable> {
  const entries: Array<BatchEntry> = []
  const areUnserved = results.every(isUnserved)
  for (const [index, result] of results.entries()) {
    const payment = batch[index]
    if (Result.isSuccess(result)) entries.push(result.success)
    else if (areUnserved || payment === undefined) return yield* result.failure
    else if (result.failure._tag === "FacilitatorUnavailable") return index > 0 ? entries : yield* result.failure
    else {
      unsent.record(payment.payload.nonce, notVerified)
      entries.push({ payment, isDeployed: undefined, relay: undefined })
    }
  }
  return entries
})

const notVerified = refuse(
  "EXPIRED_PAYMENT",
  "not_relayed",
  "the node did not respond for the payer's account; nothing was sent, sign a new payment"
)

/**
 * Reserves the cost of each entry in the loss budgets, before anything is signed; returns the number of entries within them.
 * Entries beyond a budget wait; a payer who is banned by now stays without a message.
 */
const reserve = Effect.fnUntraced(function* (
  { losses }: ExactTonChain,
  unsent: UnsentPayments,
  entries: Array<BatchEntry>,
  { external }: TonTariff.TonTariff
): Effect.fn.Return<number, FacilitatorUnavailable> {
  for (const [index, entry] of entries.entries()) {
    if (entry.isDeployed === undefined) continue
    const reserving = losses.reserve(entry.payment, (entry.relay?.cost ?? 0n) + external)
    const verdict = yield* Effect.result(reserving)
    if (Result.isSuccess(verdict)) continue
    if (verdict.failure._tag === "FacilitatorUnavailable") return index > 0 ? index : yield* verdict.failure
    unsent.record(entry.payment.payload.nonce, verdict.failure)
    entries[index] = { ...entry, isDeployed: undefined, relay: undefined }
  }
  return entries.length
})

/** The first payments of the list, up to the second of one payer. */
const batchOf = (payments: ReadonlyArray<Payment<SignedJettonTransfer>>, maximum: number) => {
  const payers = new Set<string>()
  const batch: Array<Payment<SignedJettonTransfer>> = []
  for (const payment of payments.slice(0, maximum)) {
    if (payers.has(payment.payload.payer)) break
    payers.add(payment.payload.payer)
    batch.push(payment)
  }
  return batch
}

/** Verifies a payment once more, unless that was done a moment ago, and makes its message. */
const entryOf = Effect.fnUntraced(function* (
  chain: ExactTonChain,
  verifications: Verifications,
  unsent: UnsentPayments,
  payment: Payment<SignedJettonTransfer>,
  tariff: TonTariff.TonTariff
): Effect.fn.Return<BatchEntry, ChainUnavailable | FacilitatorUnavailable> {
  const { payload: signed } = payment
  const without: BatchEntry = { payment, isDeployed: undefined, relay: undefined }
  const known = verifications.get(signed)
  const isFresh = known !== undefined && (yield* Clock.currentTimeMillis) - known.at < freshMillis
  const verified = yield* Effect.result(isFresh ? Effect.succeed(known) : ExactTonVerification.verify(chain, payment))
  if (Result.isFailure(verified)) {
    const { failure } = verified
    if (failure._tag === "ChainUnavailable" || failure._tag === "FacilitatorUnavailable") return yield* failure
    unsent.record(signed.nonce, failure)
    return without
  }
  const { isCarriedOut, isDeployed } = verified.success
  if (isCarriedOut) return without
  if (!(yield* chain.pendingPayers.take(signed))) {
    unsent.record(signed.nonce, ExactTonVerification.reserved(signed))
    return without
  }
  const relay = signed.kind === "external" ? undefined : TonRelay.make(signed, isDeployed, tariff)
  return { payment, isDeployed, relay }
})

/** Number of entries that `most` nanotons pay for; at least one. */
const affordable = (entries: ReadonlyArray<BatchEntry>, tariff: TonTariff.TonTariff, most: bigint): number => {
  let left = most - tariff.base
  const count = entries.findIndex(({ relay }) => (left -= relay?.cost ?? 0n) < 0n)
  return count < 0 ? entries.length : Math.max(1, count)
}

const isSent = ({ isDeployed }: BatchEntry): boolean => isDeployed !== undefined

/** Signs the message of these entries; `undefined` when it is too large to be sent. */
const signBatch = Effect.fnUntraced(function* (
  entries: ReadonlyArray<BatchEntry>,
  { lane, number, relayer }: RelayerSlot,
  tariff: TonTariff.TonTariff,
  balance: bigint,
  chainHead: ChainHead
): Effect.fn.Return<Preparation | undefined, Misconfigured> {
  const relays = entries.flatMap(({ relay }) => (relay === undefined ? [] : [relay]))
  const messages = relays.map(({ message }) => message)
  const external = yield* TonRelayer.sign(relayer, number, chainHead.head.time + validSeconds, messages)
  if (external.bytes > TonRelayer.maximumBytes && entries.length > 1) return undefined
  const cost = TonRelay.costOf(relays, tariff)
  if (balance < cost) {
    const message = `the relayer ${relayer.address} has ${balance} nanotons, ${cost} are needed; fund it`
    return yield* new Misconfigured({ message })
  }
  const own = entries
    .filter(isSent)
    .flatMap(({ isDeployed, payment: { payload } }) =>
      payload.kind === "external" ? [TonRelay.externalOf(payload, isDeployed === true)] : []
    )
  const bytes = [...own, external.boc].join(separator)
  const prepared = { slot: { lane, number }, transaction: external.hash, bytes, head: chainHead.head.number, cost }
  return { prepared, count: entries.length }
})

/** Separates payers' own external messages and the relayer's, which is the last one: base64 has no commas. */
const separator = ","

/** The external messages of prepared bytes: payers' own, and the relayer's last. */
export const messagesOf = (bytes: string): ReadonlyArray<string> => bytes.split(separator)

interface RelayerSlot extends Slot {
  readonly relayer: TonRelayer.TonRelayer
}

const relayerSlotOf = (chain: ExactTonChain, slot: Slot | undefined): Effect.Effect<RelayerSlot, Misconfigured> => {
  const relayer = slot && chain.relayers.get(slot.lane)
  if (slot !== undefined && relayer !== undefined) return Effect.succeed({ ...slot, relayer })
  const message = `no relayer of ${chain.network} serves the lane ${slot?.lane ?? "(none)"}`
  return Effect.fail(new Misconfigured({ message }))
}

/** Signs an external message that sends nothing, to use a slot up. */
export const noop = Effect.fnUntraced(function* (chain: ExactTonChain, slot: Slot, chainHead: ChainHead) {
  const { lane, number, relayer } = yield* relayerSlotOf(chain, slot)
  const external = yield* TonRelayer.sign(relayer, number, chainHead.head.time + validSeconds, [])
  return {
    slot: { lane, number },
    transaction: external.hash,
    bytes: external.boc,
    head: chainHead.head.number,
    cost: TonRelay.costOf([], yield* chain.tariff)
  }
})
