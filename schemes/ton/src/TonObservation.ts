/**
 * What the chain shows of a slot: the relayer's own transaction, and for each payment the way of its money to the credit
 * in the recipient's Jetton wallet, whoever brought the request to the payer's wallet.
 */
import {
  type Block,
  ChainUnavailable,
  invalid,
  type Landed,
  type Observation,
  type Passenger,
  type PaymentError,
  type Prepared,
  refuse,
  type Sighting,
  type ValidationError
} from "@pontage/core"
import * as Effect from "effect/Effect"

import type { ExactTonChain } from "./ExactTonChain.ts"
import type { Held } from "./ExactTonReading.ts"
import * as TonAddress from "./TonAddress.ts"
import * as TonHistory from "./TonHistory.ts"
import * as TonRelayer from "./TonRelayer.ts"
import type * as TonRpc from "./TonRpc.ts"
import * as TonTransaction from "./TonTransaction.ts"
import * as TonTransfer from "./TonTransfer.ts"
import * as TonWallet from "./TonWallet.ts"

/**
 * Why nothing was sent for a payment, by its nonce.
 *
 * @category models
 */
export interface Unsent {
  readonly note: (nonce: string, error: PaymentError | ValidationError) => void
  readonly reasonOf: (nonce: string) => PaymentError | ValidationError | undefined
}

const capacity = 10_000

/**
 * Nothing yet.
 *
 * @category constructors
 */
export const makeUnsent = (): Unsent => {
  const reasons = new Map<string, PaymentError | ValidationError>()
  return {
    note: (nonce, error) => {
      const [oldest] = reasons.keys()
      if (reasons.size >= capacity && oldest !== undefined) reasons.delete(oldest)
      reasons.set(nonce, error)
    },
    reasonOf: (nonce) => reasons.get(nonce)
  }
}

/** The relayer's transaction of a slot. */
interface Landing {
  readonly lane: TonAddress.Address
  readonly landed: Landed
  readonly transaction: TonTransaction.TonTransaction
}

/** A relayer's own history is worth more questions: each payment leaves a transaction in it. */
const ownPages = 400
/** Seconds that a relayer's message may be older than its validity says. */
const oldest = 600
/** How many payments are looked at at once. */
const concurrency = 8

/**
 * The block of a transaction: the masterchain's at its time.
 *
 * @category combinators
 */
export const blockOf = Effect.fnUntraced(function* (
  rpc: TonRpc.Shape,
  { lt }: TonTransaction.TonTransaction
): Effect.fn.Return<Block, ChainUnavailable> {
  const block = yield* rpc.blockAt(lt)
  if (block !== undefined) return block
  return yield* new ChainUnavailable({ network: rpc.network, message: `the node knows no block of the time ${lt}` })
})

/**
 * Looks. Before the relayer's transaction is there, nothing is said of the payments.
 *
 * @category combinators
 */
export const observe = Effect.fnUntraced(function* (
  chain: ExactTonChain,
  unsent: Unsent,
  passengers: ReadonlyArray<Passenger<Held>>,
  attempts: ReadonlyArray<Prepared>
): Effect.fn.Return<Sighting, ChainUnavailable> {
  yield* Effect.forEach(passengers, ({ payment }) => chain.flying.take(payment.payload))
  const landing = yield* landingOf(chain.rpc, attempts)
  if (landing === undefined) return { landed: undefined, observations: passengers.map(() => pending) }
  const observations = yield* Effect.forEach(passengers, (passenger) => observeOne(chain, unsent, passenger, landing), {
    concurrency
  })
  return { landed: landing.landed, observations }
})

const pending: Observation = { _tag: "Pending" }

/** A number that is not used was used by none of ours. */
const landingOf = Effect.fnUntraced(function* (
  rpc: TonRpc.Shape,
  attempts: ReadonlyArray<Prepared>
): Effect.fn.Return<Landing | undefined, ChainUnavailable> {
  const [first] = attempts
  const lane = first?.slot && TonAddress.fromText(first.slot.lane)
  if (first?.slot === undefined || lane === undefined) return undefined
  const { code, data } = yield* rpc.account(lane)
  const wallet = code && data && TonWallet.read(code, data)
  if (wallet === undefined || BigInt(wallet.seqno) <= first.slot.number) return undefined
  const hashes = new Set(attempts.map(({ transaction }) => transaction))
  const earliest =
    Math.min(...attempts.map(({ bytes }) => TonRelayer.validUntil(bytes.split(",").at(-1) ?? ""))) - oldest
  const transaction = yield* TonHistory.find(
    rpc,
    lane,
    earliest,
    (one) => one.cause?.isExternal === true && hashes.has(TonTransaction.originOf(lane, one)),
    ownPages
  )
  if (transaction === undefined) return undefined
  const block = yield* blockOf(rpc, transaction)
  const landed = { transaction: TonTransaction.originOf(lane, transaction), block, cost: transaction.cost }
  return { lane, landed, transaction }
})

const observeOne = Effect.fnUntraced(function* (
  chain: ExactTonChain,
  unsent: Unsent,
  passenger: Passenger<Held>,
  landing: Landing
): Effect.fn.Return<Observation, ChainUnavailable> {
  const { payload: held } = passenger.payment
  const hash = held.body.hash()
  const order = landing.transaction.sent.find(({ body, to }) => to === held.payer && body.hash().equals(hash))
  if (order === undefined) return yield* elsewhere(chain, passenger, unsent.reasonOf(held.nonce) ?? notRelayed)
  const begun = yield* chain.rpc.result(landing.lane, held.payer, order.createdLt)
  if (begun === undefined) return pending
  if (!TonTransfer.carriesOut(held, begun)) {
    const { landed, lane, transaction } = landing
    yield* chain.books.enter(held, { lane, transaction, name: landed.transaction }, begun, undefined)
    return yield* elsewhere(chain, passenger, refusedBy(begun))
  }
  return yield* followed(chain, passenger, begun, landing)
})

/** Our message did nothing for it: did anybody else's? */
const elsewhere = Effect.fnUntraced(function* (
  chain: ExactTonChain,
  passenger: Passenger<Held>,
  reason: PaymentError | ValidationError
): Effect.fn.Return<Observation, ChainUnavailable> {
  const { payload: held } = passenger.payment
  const begun = yield* beginningOf(chain.rpc, passenger)
  if (begun !== undefined) return yield* followed(chain, passenger, begun, undefined)
  if (held.kind === "external") return pending
  yield* chain.flying.free(held)
  return { _tag: "Failed", transaction: "", error: reason }
})

/**
 * The transaction of the payer's wallet that carried a payment's request out; `undefined` when there is none.
 *
 * @category combinators
 */
export const beginningOf = (
  rpc: TonRpc.Shape,
  { payment }: Passenger<Held>
): Effect.Effect<TonTransaction.TonTransaction | undefined, ChainUnavailable> =>
  TonHistory.find(rpc, payment.payload.payer, TonHistory.beginningOf(payment), (one) =>
    TonTransfer.carriesOut(payment.payload, one)
  )

/**
 * What becomes of a request that was carried out: by our message (`landing`), or by somebody else's. A payment is named by
 * the transaction of the recipient's Jetton wallet that credited it, which is where the money has moved.
 *
 * @category combinators
 */
export const followed = Effect.fnUntraced(function* (
  chain: ExactTonChain,
  { payment, since }: Passenger<Held>,
  begun: TonTransaction.TonTransaction,
  landing: Landing | undefined
): Effect.fn.Return<Observation, ChainUnavailable> {
  const { payload: held } = payment
  const recipient = yield* chain.jettons.walletOf(held.master, held.transfer.to)
  const way = yield* TonTransfer.follow(chain.rpc, held, recipient, begun)
  if (way._tag === "Underway") return pending
  const transaction = way._tag === "Credited" ? way.credit.hash : yield* nameOf(chain, held, begun, landing)
  const last = way._tag === "Credited" ? way.credit : way.at
  const block = yield* blockOf(chain.rpc, last)
  yield* chain.flying.free(held)
  if (landing !== undefined) yield* chain.books.enter(held, { ...landing, name: transaction }, last, way)
  if (way._tag === "Stopped") return { _tag: "Failed", transaction, error: way.error }
  if (block.number + racingBlocks < since) return { _tag: "Failed", transaction, error: usedBefore(transaction) }
  const isOurs = begun.cause?.from !== undefined && chain.relayers.has(begun.cause.from)
  const external = landing === undefined && held.kind === "w5-internal" && !isOurs
  return { _tag: "Settled", transaction, block, external }
})

/**
 * A payment is verified before it is prepared, and its wallet had not carried it out then. What did so in the moments
 * between is the payment's own, though the chain's head may have been read after it: so many blocks are no proof.
 */
const racingBlocks = 40n

/** What ended without a credit is named by the message that carried the request. */
const nameOf = (
  chain: ExactTonChain,
  { payer }: Held,
  begun: TonTransaction.TonTransaction,
  landing: Landing | undefined
) => (landing === undefined ? originOf(chain.rpc, payer, begun) : Effect.succeed(landing.landed.transaction))

/** The external message that it all began with. */
const originOf = Effect.fnUntraced(function* (
  rpc: TonRpc.Shape,
  payer: TonAddress.Address,
  begun: TonTransaction.TonTransaction
): Effect.fn.Return<string, ChainUnavailable> {
  const { cause } = begun
  if (cause?.from === undefined) return TonTransaction.originOf(payer, begun)
  const source = yield* rpc.origin(cause.from, payer, cause.createdLt)
  return source === undefined ? begun.hash : TonTransaction.originOf(cause.from, source)
})

const usedBefore = (transaction: string) =>
  invalid("already_used", transaction, `the request was carried out by ${transaction}, before it was claimed here`)

const notRelayed = refuse(
  "EXPIRED_PAYMENT",
  "not_relayed",
  "the payer's wallet had changed before the payment was sent; nothing was sent, sign a new one"
)

/** What W5 says to a request that it does not carry out. */
const refusedBy = ({ exitCode }: TonTransaction.TonTransaction): PaymentError | ValidationError => {
  if (exitCode === 133)
    return refuse("EXPIRED_PAYMENT", "seqno_consumed", "the wallet has used the request's number for another one")
  if (exitCode === 136) return refuse("EXPIRED_PAYMENT", "expired", "the request came to the wallet after its validity")
  const message = `the payer's wallet did not carry the request out; its exit code was ${exitCode}`
  return invalid("unsupported_authorization", "wallet_refused", message)
}
