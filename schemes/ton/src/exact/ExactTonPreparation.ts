/**
 * Signs the relayer's external message for the first payments of a list. Each is looked at once more before: one whose
 * wallet or money has changed is taken along without a message, so that nothing is spent on it and the chain shows its end.
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

import type { Unsent } from "../evidence/TonObservation.ts"
import type { Held } from "../payment/ExactTonReading.ts"
import * as TonRelay from "../sending/TonRelay.ts"
import * as TonRelayer from "../sending/TonRelayer.ts"
import type * as TonTariff from "../sending/TonTariff.ts"
import type { ExactTonChain } from "./ExactTonChain.ts"
import * as ExactTonVerification from "./ExactTonVerification.ts"

/** What verifications have found a moment ago. */
export type Verifications = WeakMap<Held, ExactTonVerification.Verified>

/** How long an external message of a relayer is good, seconds. */
const validSeconds = 90
/** How long a verification holds, milliseconds. */
const freshness = 3_000
/** How many payments are looked at at once. */
const concurrency = 16

/** A payment that is taken along. */
interface TrackedTransaction {
  readonly payment: Payment<Held>
  /** `undefined` where nothing is to be sent for it. */
  readonly isDeployed: boolean | undefined
  /** What the relayer sends for it; nothing where the payer's own message travels. */
  readonly relay: TonRelay.TonRelay | undefined
}

/**
 * Signs. In the place of another message the payments of that one are taken again, all of them: what was signed for before is
 * not judged by budgets again.
 */
export const prepare = Effect.fnUntraced(function* (
  chain: ExactTonChain,
  verifications: Verifications,
  unsent: Unsent,
  payments: ReadonlyArray<Payment<Held>>,
  slot: Slot | undefined,
  chainHead: ChainHead,
  maximumCost?: bigint,
  replaced?: PreparedTransaction
): Effect.fn.Return<Preparation, ChainUnavailable | FacilitatorUnavailable | Misconfigured> {
  const isAgain = replaced !== undefined
  const company = isAgain ? payments : companyOf(payments, chain.batches.maximum)
  if (company.length === 0) return yield* new Misconfigured({ message: "there is no payment to prepare" })
  const tariff = yield* chain.tariff
  if (isAgain) yield* Effect.forEach(company, (payment) => chain.losses.hold(payment), { discard: true })
  const looks = yield* Effect.forEach(
    company,
    (payment) => Effect.result(boarding(chain, verifications, unsent, payment, tariff)),
    { concurrency }
  )
  const aboard = yield* boarded(unsent, company, looks)
  const place = yield* placeOf(chain, slot)
  const { balance } = yield* chain.rpc.account(place.relayer.address)
  const most = maximumCost !== undefined && maximumCost < balance ? maximumCost : balance
  const ready = isAgain ? aboard : aboard.slice(0, affordable(aboard, tariff, most))
  let count = yield* risked(chain, unsent, ready, tariff)
  while (true) {
    const preparation = yield* signed(ready.slice(0, count), place, tariff, balance, chainHead)
    if (preparation !== undefined) return preparation
    count = Math.max(1, Math.floor(count * 0.9))
  }
})

/**
 * A payment that cannot be looked at, while others can, is taken along without a message: one account that no node answers for
 * must not stop the others. Where none can be looked at, the chain is not to be asked. One that is beyond a budget ends the list.
 */
const boarded = Effect.fnUntraced(function* (
  unsent: Unsent,
  company: ReadonlyArray<Payment<Held>>,
  looks: ReadonlyArray<Result.Result<TrackedTransaction, ChainUnavailable | FacilitatorUnavailable>>
): Effect.fn.Return<Array<TrackedTransaction>, ChainUnavailable | FacilitatorUnavailable> {
  const aboard: Array<TrackedTransaction> = []
  const isSilent = looks.every((look) => Result.isFailure(look) && look.failure._tag === "ChainUnavailable")
  for (const [index, look] of looks.entries()) {
    const payment = company[index]
    if (Result.isSuccess(look)) aboard.push(look.success)
    else if (isSilent || payment === undefined) return yield* look.failure
    else if (look.failure._tag === "FacilitatorUnavailable") return index > 0 ? aboard : yield* look.failure
    else {
      unsent.note(payment.payload.nonce, notLookedAt)
      aboard.push({ payment, isDeployed: undefined, relay: undefined })
    }
  }
  return aboard
})

const notLookedAt = refuse(
  "EXPIRED_PAYMENT",
  "not_relayed",
  "the node did not answer for the payer's account; nothing was sent, sign a new payment"
)

/**
 * How many of the first may be risked: each counts with all that it may cost from here on, before anything is signed. What is
 * beyond a budget waits; who is banned by now is taken along without a message.
 */
const risked = Effect.fnUntraced(function* (
  { losses }: ExactTonChain,
  unsent: Unsent,
  aboard: Array<TrackedTransaction>,
  { external }: TonTariff.TonTariff
): Effect.fn.Return<number, FacilitatorUnavailable> {
  for (const [index, one] of aboard.entries()) {
    if (one.isDeployed === undefined) continue
    const reserving = losses.reserve(one.payment, (one.relay?.cost ?? 0n) + external)
    const verdict = yield* Effect.result(reserving)
    if (Result.isSuccess(verdict)) continue
    if (verdict.failure._tag === "FacilitatorUnavailable") return index > 0 ? index : yield* verdict.failure
    unsent.note(one.payment.payload.nonce, verdict.failure)
    aboard[index] = { ...one, isDeployed: undefined, relay: undefined }
  }
  return aboard.length
})

/** The first payments of the list, up to the second of one payer. */
const companyOf = (payments: ReadonlyArray<Payment<Held>>, maximum: number) => {
  const payers = new Set<string>()
  const company: Array<Payment<Held>> = []
  for (const payment of payments.slice(0, maximum)) {
    if (payers.has(payment.payload.payer)) break
    payers.add(payment.payload.payer)
    company.push(payment)
  }
  return company
}

const boarding = Effect.fnUntraced(function* (
  chain: ExactTonChain,
  verifications: Verifications,
  unsent: Unsent,
  payment: Payment<Held>,
  tariff: TonTariff.TonTariff
): Effect.fn.Return<TrackedTransaction, ChainUnavailable | FacilitatorUnavailable> {
  const { payload: held } = payment
  const without: TrackedTransaction = { payment, isDeployed: undefined, relay: undefined }
  const known = verifications.get(held)
  const isFresh = known !== undefined && (yield* Clock.currentTimeMillis) - known.at < freshness
  const verified = yield* Effect.result(isFresh ? Effect.succeed(known) : ExactTonVerification.verify(chain, payment))
  if (Result.isFailure(verified)) {
    const { failure } = verified
    if (failure._tag === "ChainUnavailable" || failure._tag === "FacilitatorUnavailable") return yield* failure
    unsent.note(held.nonce, failure)
    return without
  }
  const { isCarriedOut, isDeployed } = verified.success
  if (isCarriedOut) return without
  if (!(yield* chain.flying.take(held))) {
    unsent.note(held.nonce, ExactTonVerification.reserved(held))
    return without
  }
  const relay = held.kind === "external" ? undefined : TonRelay.make(held, isDeployed, tariff)
  return { payment, isDeployed, relay }
})

/** How many of the first can be paid for; at least one is taken. */
const affordable = (aboard: ReadonlyArray<TrackedTransaction>, tariff: TonTariff.TonTariff, most: bigint): number => {
  let left = most - tariff.base
  const count = aboard.findIndex(({ relay }) => (left -= relay?.cost ?? 0n) < 0n)
  return count < 0 ? aboard.length : Math.max(1, count)
}

const isSent = ({ isDeployed }: TrackedTransaction): boolean => isDeployed !== undefined

/** What is signed for these; `undefined` when it would be too large to be sent. */
const signed = Effect.fnUntraced(function* (
  aboard: ReadonlyArray<TrackedTransaction>,
  { lane, number, relayer }: Place,
  tariff: TonTariff.TonTariff,
  balance: bigint,
  chainHead: ChainHead
): Effect.fn.Return<Preparation | undefined, Misconfigured> {
  const relays = aboard.flatMap(({ relay }) => (relay === undefined ? [] : [relay]))
  const messages = relays.map(({ message }) => message)
  const external = yield* TonRelayer.sign(relayer, number, chainHead.head.time + validSeconds, messages)
  if (external.bytes > TonRelayer.maximumBytes && aboard.length > 1) return undefined
  const cost = TonRelay.costOf(relays, tariff)
  if (balance < cost) {
    const message = `the relayer ${relayer.address} has ${balance} nanotons, ${cost} are needed; fund it`
    return yield* new Misconfigured({ message })
  }
  const own = aboard
    .filter(isSent)
    .flatMap(({ isDeployed, payment: { payload } }) =>
      payload.kind === "external" ? [TonRelay.externalOf(payload, isDeployed === true)] : []
    )
  const bytes = [...own, external.boc].join(separator)
  const prepared = { slot: { lane, number }, transaction: external.hash, bytes, head: chainHead.head.number, cost }
  return { prepared, count: aboard.length }
})

/** Payers' own external messages travel before the relayer's: base64 has no commas. */
const separator = ","

/** The external messages of prepared bytes: payers' own, and the relayer's last. */
export const messagesOf = (bytes: string): ReadonlyArray<string> => bytes.split(separator)

interface Place extends Slot {
  readonly relayer: TonRelayer.TonRelayer
}

const placeOf = (chain: ExactTonChain, slot: Slot | undefined): Effect.Effect<Place, Misconfigured> => {
  const relayer = slot && chain.relayers.get(slot.lane)
  if (slot !== undefined && relayer !== undefined) return Effect.succeed({ ...slot, relayer })
  const message = `no relayer of ${chain.network} works the lane ${slot?.lane ?? "(none)"}`
  return Effect.fail(new Misconfigured({ message }))
}

/** Signs an external message that sends nothing, to use a slot up. */
export const noop = Effect.fnUntraced(function* (chain: ExactTonChain, slot: Slot, chainHead: ChainHead) {
  const { lane, number, relayer } = yield* placeOf(chain, slot)
  const external = yield* TonRelayer.sign(relayer, number, chainHead.head.time + validSeconds, [])
  return {
    slot: { lane, number },
    transaction: external.hash,
    bytes: external.boc,
    head: chainHead.head.number,
    cost: TonRelay.costOf([], yield* chain.tariff)
  }
})
