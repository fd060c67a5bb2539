/**
 * Signs the relayer's external message for the first payments of a list. Each is looked at once more before: one whose
 * wallet or money has changed is taken along without a message, so that nothing is spent on it and the chain shows its end.
 */
import {
  type ChainUnavailable,
  Misconfigured,
  type Payment,
  type Preparation,
  type Slot,
  type Survey
} from "@pontage/core"
import type { Cell } from "@ton/core"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"

import type { ExactTonChain } from "./ExactTonChain.ts"
import type { Held } from "./ExactTonReading.ts"
import * as ExactTonVerification from "./ExactTonVerification.ts"
import * as TonBoc from "./TonBoc.ts"
import * as TonMessage from "./TonMessage.ts"
import type { Unsent } from "./TonObservation.ts"
import * as TonRelay from "./TonRelay.ts"
import * as TonRelayer from "./TonRelayer.ts"

/**
 * What verifications have found a moment ago.
 *
 * @category models
 */
export type Verifications = WeakMap<Held, ExactTonVerification.Verified>

/** How long an external message of a relayer is good, seconds. */
const validSeconds = 90
/** How long a verification holds, milliseconds. */
const freshness = 3_000
/** How many payments are looked at at once. */
const concurrency = 16

/** A payment that is taken along. */
interface Aboard {
  readonly held: Held
  /** `undefined` where nothing is to be sent for it. */
  readonly isDeployed: boolean | undefined
}

/**
 * Signs.
 *
 * @category constructors
 */
export const prepare = Effect.fnUntraced(function* (
  chain: ExactTonChain,
  verifications: Verifications,
  unsent: Unsent,
  payments: ReadonlyArray<Payment<Held>>,
  slot: Slot | undefined,
  survey: Survey,
  maximumCost?: bigint
): Effect.fn.Return<Preparation, ChainUnavailable | Misconfigured> {
  const company = companyOf(payments, chain.batches.maximum)
  if (company.length === 0) return yield* new Misconfigured({ message: "there is no payment to prepare" })
  const aboard = yield* Effect.forEach(company, (payment) => boarding(chain, verifications, unsent, payment), {
    concurrency
  })
  const place = yield* placeOf(chain, slot)
  const { balance } = yield* chain.rpc.account(place.relayer.address)
  let count = affordable(chain, aboard, maximumCost !== undefined && maximumCost < balance ? maximumCost : balance)
  while (true) {
    const preparation = yield* signed(chain, aboard.slice(0, count), place, balance, survey)
    if (preparation !== undefined) return preparation
    count = Math.max(1, Math.floor(count * 0.9))
  }
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
  payment: Payment<Held>
): Effect.fn.Return<Aboard, ChainUnavailable> {
  const { payload: held } = payment
  const known = verifications.get(held)
  const isFresh = known !== undefined && (yield* Clock.currentTimeMillis) - known.at < freshness
  const verified = yield* Effect.result(isFresh ? Effect.succeed(known) : ExactTonVerification.verify(chain, payment))
  if (Result.isFailure(verified)) {
    if (verified.failure._tag === "ChainUnavailable") return yield* verified.failure
    unsent.note(held.nonce, verified.failure)
    return { held, isDeployed: undefined }
  }
  if (verified.success.isCarriedOut) return { held, isDeployed: undefined }
  const isFree = yield* chain.flying.take(held)
  if (!isFree) unsent.note(held.nonce, ExactTonVerification.reserved(held))
  return { held, isDeployed: isFree ? verified.success.isDeployed : undefined }
})

/** How many of the first can be paid for; at least one is taken. */
const affordable = (chain: ExactTonChain, aboard: ReadonlyArray<Aboard>, most: bigint): number => {
  let count = aboard.length
  while (count > 1 && costOf(chain, aboard.slice(0, count)) > most) count--
  return count
}

const costOf = ({ attachedTon }: ExactTonChain, aboard: ReadonlyArray<Aboard>): bigint =>
  TonRelay.costOf(
    relayedOf(aboard).map(({ held }) => held),
    attachedTon
  )

const isSent = ({ isDeployed }: Aboard): boolean => isDeployed !== undefined

/** Those that the relayer brings to their wallets. */
const relayedOf = (aboard: ReadonlyArray<Aboard>) =>
  aboard.filter((one) => isSent(one) && one.held.kind === "w5-internal")

/** What is signed for these; `undefined` when it would be too large to be sent. */
const signed = Effect.fnUntraced(function* (
  chain: ExactTonChain,
  aboard: ReadonlyArray<Aboard>,
  { lane, number, relayer }: Place,
  balance: bigint,
  survey: Survey
): Effect.fn.Return<Preparation | undefined, Misconfigured> {
  const messages = relayedOf(aboard).map(({ held, isDeployed }): Cell =>
    TonRelay.messageFor(held, chain.attachedTon, isDeployed === true)
  )
  const external = yield* TonRelayer.sign(relayer, number, survey.head.time + validSeconds, messages)
  if (external.bytes > TonRelayer.maximumBytes && aboard.length > 1) return undefined
  const cost = costOf(chain, aboard)
  if (balance < cost) {
    const message = `the relayer ${relayer.address} has ${balance} nanotons, ${cost} are needed; fund it`
    return yield* new Misconfigured({ message })
  }
  const own = aboard
    .filter(isSent)
    .flatMap(({ held, isDeployed }) => (held.kind === "external" ? [externalOf(held, isDeployed)] : []))
  const bytes = [...own, external.boc].join(separator)
  const prepared = { slot: { lane, number }, transaction: external.hash, bytes, head: survey.head.number, cost }
  return { prepared, count: aboard.length }
})

/** Payers' own external messages travel before the relayer's: base64 has no commas. */
const separator = ","

/**
 * The external messages of prepared bytes: payers' own, and the relayer's last.
 *
 * @category getters
 */
export const messagesOf = (bytes: string): ReadonlyArray<string> => bytes.split(separator)

const externalOf = ({ body, init, payer }: Held, isDeployed: boolean | undefined): string =>
  TonBoc.toBase64(TonMessage.external(payer, body, isDeployed ? undefined : init))

interface Place extends Slot {
  readonly relayer: TonRelayer.TonRelayer
}

const placeOf = (chain: ExactTonChain, slot: Slot | undefined): Effect.Effect<Place, Misconfigured> => {
  const relayer = slot && chain.relayers.get(slot.lane)
  if (slot !== undefined && relayer !== undefined) return Effect.succeed({ ...slot, relayer })
  const message = `no relayer of ${chain.network} works the lane ${slot?.lane ?? "(none)"}`
  return Effect.fail(new Misconfigured({ message }))
}

/**
 * Signs an external message that sends nothing, to use a slot up.
 *
 * @category constructors
 */
export const fill = Effect.fnUntraced(function* (chain: ExactTonChain, slot: Slot, survey: Survey) {
  const { lane, number, relayer } = yield* placeOf(chain, slot)
  const external = yield* TonRelayer.sign(relayer, number, survey.head.time + validSeconds, [])
  return {
    slot: { lane, number },
    transaction: external.hash,
    bytes: external.boc,
    head: survey.head.number,
    cost: TonRelay.costOf([], chain.attachedTon)
  }
})
