/**
 * The scheme facilitator of `exact` on TRON: reads and verifies signed transfers, submits them unchanged, and trusts only the
 * receipts of blocks and the token's own events. It has no lanes: transactions have no numbers, and payers sign them.
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
import { read, type SignedTransfer } from "../payment/ExactTronReading.ts"
import * as TronSubmission from "../sending/TronSubmission.ts"
import * as TronAsset from "../transfer/TronAsset.ts"
import * as TronBalance from "../transfer/TronBalance.ts"
import * as TronTransaction from "../transfer/TronTransaction.ts"
import { connect, type ExactTronChain, type Options } from "./ExactTronChain.ts"
import * as ExactTronVerification from "./ExactTronVerification.ts"

/** Makes the scheme facilitator; it starts once the node is proven to serve the network. */
export const facilitator = (options: Options): FacilitatorScheme => Effect.map(connect(options), make)

const make = (chain: ExactTronChain): SchemeFacilitator<SignedTransfer> => {
  const { commitments, network, pendingLimits, rpc, sponsor } = chain
  const verifications: Verifications = new WeakMap()
  return {
    scheme: ExactTron.scheme,
    network,
    lanes: [],
    capacity: pendingLimits.capacity,
    shares: pendingLimits,
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
    noop: () => Effect.fail(new Misconfigured({ message: `${network} has no lanes, so a noop cannot be prepared` })),
    submit: ({ bytes, transaction }) =>
      sponsor === undefined ? TronSubmission.submit(rpc, transaction, bytes) : sponsor.submit(transaction, bytes),
    observe: (observed, attempts) =>
      Effect.tap(TronObservation.observe(chain, observed.map(soughtOf), attempts), ({ observations }) =>
        Effect.forEach(observed, ({ payment: { payload } }, index) => {
          const seen = observations[index]?._tag ?? "Pending"
          const clearing = seen === "Settled" && sponsor !== undefined ? sponsor.clearLoss(payload.id) : Effect.void
          return seen === "Pending" ? Effect.void : Effect.andThen(clearing, commitments.release(payload.id))
        })
      ),
    conclude: (observed) =>
      Effect.tap(TronObservation.conclude(chain, soughtOf(observed)), ({ _tag }) =>
        _tag === "Pending" ? Effect.void : commitments.release(observed.payment.payload.id)
      ),
    // Only a sponsor is a signer; without one the head is requested all the same, to notice a silent node.
    signers: sponsor === undefined ? Effect.as(rpc.head, []) : Effect.map(sponsor.balance, (one) => [one])
  }
}

const soughtOf = (observed: ObservedPayment<SignedTransfer>): TronObservation.SoughtPayment => ({
  signed: observed.payment.payload,
  isOwn: (block) => OwnTransfer.isOwn(observed, block)
})

/** Reads the payer's balance. One that is too low would refuse the payment, so it is read twice: a node may be behind others. */
const balance = Effect.fnUntraced(function* (rpc: TronRpc, signed: SignedTransfer) {
  const first = yield* balanceNow(rpc, signed)
  if (first >= signed.transfer.amount) return first
  const second = yield* balanceNow(rpc, signed)
  return second > first ? second : first
})

const balanceNow = (rpc: TronRpc, { token, transfer: { owner, token: contract } }: SignedTransfer) =>
  TronBalance.read(rpc, token, contract, owner)

const chainHead = (rpc: TronRpc): Effect.Effect<ChainHead, ChainUnavailable> =>
  Effect.map(Effect.all([rpc.head, rpc.solid], { concurrency: "unbounded" }), ([head, solid]) => ({
    head: { number: head.number, hash: head.id, time: Number(head.time / 1000n) },
    final: solid.number < head.number ? solid.number : head.number
  }))

/** Whether the block is still on the chain. A node that lacks its number is behind, which proves nothing. */
const isCanonical = Effect.fnUntraced(function* (rpc: TronRpc, { hash, number }: Block) {
  const found = yield* rpc.block(number)
  if (found !== undefined) return found.id === hash
  const message = `the node of ${rpc.network} lacks block ${number}`
  return yield* new ChainUnavailable({ network: rpc.network, message })
})

/** The last verification of each payment that is in memory. */
type Verifications = WeakMap<SignedTransfer, ExactTronVerification.VerifiedTransfer>

/**
 * Prepares the payer's own bytes, unchanged, followed by the signature. They cost the facilitator nothing unless it lends energy
 * for them. From here on the payment counts among those that its payer has pending.
 */
const prepare = Effect.fnUntraced(function* (
  { commitments, sponsor }: ExactTronChain,
  verifications: Verifications,
  payment: Payment<SignedTransfer> | undefined,
  head: bigint
): Effect.fn.Return<Preparation, ChainUnavailable | FacilitatorUnavailable | Misconfigured> {
  if (payment === undefined) return yield* new Misconfigured({ message: "expected a payment to prepare, got none" })
  const cost = sponsor === undefined ? 0n : yield* sponsor.cost
  const verified = verifications.get(payment.payload)
  if (verified !== undefined) {
    const { commitment, means, prices } = verified
    if (!(yield* commitments.reserve(commitment, means, prices)))
      return yield* ExactTronVerification.committed(payment.payload)
  }
  const { id, rawHex, signature } = payment.payload
  sponsor?.setCaller(id, payment.caller ?? "")
  const bytes = TronTransaction.signed(rawHex, signature)
  return { prepared: { slot: undefined, transaction: id, bytes, head, cost }, count: 1 }
})
