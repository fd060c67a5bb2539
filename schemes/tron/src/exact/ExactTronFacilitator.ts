/**
 * The settling half of `exact` on TRON: reads and verifies signed transfers, sends them as they are, and believes only the
 * receipts of blocks and the token's own events. It has no lanes: payers number nothing, and sign for themselves.
 */
import {
  type Block,
  ChainUnavailable,
  type FacilitatorScheme,
  type FacilitatorUnavailable,
  Misconfigured,
  OwnTransfer,
  type ObservedPayment,
  type Payment,
  type Preparation,
  type SchemeFacilitator,
  type ChainHead
} from "@pontage/core"
import * as Effect from "effect/Effect"

import * as TronObservation from "../evidence/TronObservation.ts"
import type { TronRpc } from "../node/TronRpc.ts"
import * as ExactTron from "../payment/ExactTron.ts"
import { type Held, read } from "../payment/ExactTronReading.ts"
import * as TronSubmission from "../sending/TronSubmission.ts"
import * as TronAsset from "../transfer/TronAsset.ts"
import * as TronTransaction from "../transfer/TronTransaction.ts"
import { connect, type ExactTronChain, type Options } from "./ExactTronChain.ts"
import * as ExactTronVerification from "./ExactTronVerification.ts"

/** The settling half. It comes to life once the node has shown that it serves the network. */
export const facilitator = (options: Options): FacilitatorScheme => Effect.map(connect(options), half)

const half = (chain: ExactTronChain): SchemeFacilitator<Held> => {
  const { commitments, inFlight, network, rpc, sponsor } = chain
  const verifications: Verifications = new WeakMap()
  return {
    scheme: ExactTron.scheme,
    network,
    lanes: [],
    capacity: inFlight.capacity,
    shares: inFlight,
    read: (requirements, json) => read(network, chain.assets.find, requirements, json),
    recall: (requirements, json) => read(network, TronAsset.retired, requirements, json),
    verify: ({ caller = "", payload }) =>
      Effect.map(
        ExactTronVerification.verify(chain, payload, caller),
        (verified) => void verifications.set(payload, verified)
      ),
    balance: ({ payload }) => balance(rpc, payload),
    nextSlot: () => Effect.succeed(0n),
    time: Effect.map(rpc.head, ({ time }) => Number(time / 1000n)),
    chainHead: chainHead(rpc),
    isCanonical: (block) => isCanonical(rpc, block),
    prepare: ([payment], _, { head }) => prepare(chain, verifications, payment, head.number),
    release: (payments) =>
      Effect.forEach(payments, ({ payload }) => commitments.release(payload.id), { discard: true }),
    noop: () => Effect.fail(new Misconfigured({ message: `${network} has no slots to fill` })),
    submit: ({ bytes, transaction }) =>
      sponsor === undefined ? TronSubmission.submit(rpc, transaction, bytes) : sponsor.submit(transaction, bytes),
    observe: (observedPayments, attempts) =>
      Effect.tap(TronObservation.observe(chain, observedPayments.map(soughtOf), attempts), ({ observations }) =>
        Effect.forEach(observedPayments, ({ payment: { payload } }, index) => {
          const seen = observations[index]?._tag ?? "Pending"
          const absolving = seen === "Settled" && sponsor !== undefined ? sponsor.absolve(payload.id) : Effect.void
          return seen === "Pending" ? Effect.void : Effect.andThen(absolving, commitments.release(payload.id))
        })
      ),
    conclude: (observedPayment) =>
      Effect.tap(TronObservation.conclude(chain, soughtOf(observedPayment)), ({ _tag }) =>
        _tag === "Pending" ? Effect.void : commitments.release(observedPayment.payment.payload.id)
      ),
    // Without a sponsor there is no signer; the node is asked all the same, so that its silence is noticed.
    signers: sponsor === undefined ? Effect.as(rpc.head, []) : Effect.map(sponsor.balance, (one) => [one])
  }
}

const soughtOf = (observedPayment: ObservedPayment<Held>): TronObservation.Sought => ({
  held: observedPayment.payment.payload,
  isOwn: (block) => OwnTransfer.isOwn(observedPayment, block)
})

/** A balance that is too low would refuse the payment: it is asked for once more, since a node may be behind its fellows. */
const balance = Effect.fnUntraced(function* (rpc: TronRpc, held: Held) {
  const first = yield* balanceNow(rpc, held)
  if (first >= held.transfer.amount) return first
  const second = yield* balanceNow(rpc, held)
  return second > first ? second : first
})

const balanceNow = Effect.fnUntraced(function* (rpc: TronRpc, { token, transfer: { owner, token: contract } }: Held) {
  const held = ExactTronVerification.balanceOf(
    yield* rpc.call(owner, contract, ExactTronVerification.balanceCallData(owner))
  )
  if (held !== undefined) return held
  return yield* new ChainUnavailable({ network: rpc.network, message: `${token.symbol} does not tell its balances` })
})

const chainHead = (rpc: TronRpc): Effect.Effect<ChainHead, ChainUnavailable> =>
  Effect.map(Effect.all([rpc.head, rpc.solid], { concurrency: "unbounded" }), ([head, solid]) => ({
    head: { number: head.number, hash: head.id, time: Number(head.time / 1000n) },
    final: solid.number < head.number ? solid.number : head.number
  }))

/** A node that does not know the place yet has fallen behind, or another has: that proves nothing. */
const isCanonical = Effect.fnUntraced(function* (rpc: TronRpc, { hash, number }: Block) {
  const found = yield* rpc.block(number)
  if (found !== undefined) return found.id === hash
  const message = `the node of ${rpc.network} does not know block ${number}`
  return yield* new ChainUnavailable({ network: rpc.network, message })
})

/** What was found when a payment was last verified, as long as it is held. */
type Verifications = WeakMap<Held, ExactTronVerification.Verified>

/**
 * The payer's own bytes, unchanged, and the signature behind them. They cost us nothing unless energy is lent for them. From
 * here on they count for what their payer may have on its way.
 */
const prepare = Effect.fnUntraced(function* (
  { commitments, sponsor }: ExactTronChain,
  verifications: Verifications,
  payment: Payment<Held> | undefined,
  head: bigint
): Effect.fn.Return<Preparation, ChainUnavailable | FacilitatorUnavailable | Misconfigured> {
  if (payment === undefined) return yield* new Misconfigured({ message: "there is no payment to prepare" })
  const cost = sponsor === undefined ? 0n : yield* sponsor.cost
  const verified = verifications.get(payment.payload)
  if (verified !== undefined) {
    const { commitment, means, prices } = verified
    if (!(yield* commitments.reserve(commitment, means, prices)))
      return yield* ExactTronVerification.committed(payment.payload)
  }
  const { id, rawHex, signature } = payment.payload
  sponsor?.announce(id, payment.caller ?? "")
  const bytes = TronTransaction.signed(rawHex, signature)
  return { prepared: { slot: undefined, transaction: id, bytes, head, cost }, count: 1 }
})
