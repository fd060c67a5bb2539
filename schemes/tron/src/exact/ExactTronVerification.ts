/**
 * Verification of a payment on TRON: the signature offline, then all requests to the node at once, then the checks in their
 * order. A request without a response gives no verdict.
 */
import {
  ChainUnavailable,
  FacilitatorUnavailable,
  invalid,
  type PaymentError,
  refuse,
  type ValidationError
} from "@pontage/core"
import * as Effect from "effect/Effect"

import * as TronSignature from "../crypto/TronSignature.ts"
import * as TronTransferEvidence from "../evidence/TronTransferEvidence.ts"
import type * as TronBlocks from "../node/TronBlocks.ts"
import type * as TronLagGuard from "../node/TronLagGuard.ts"
import type * as TronRpc from "../node/TronRpc.ts"
import type { SignedTransfer } from "../payment/ExactTronReading.ts"
import * as TronAddress from "../primitives/TronAddress.ts"
import * as TronHex from "../primitives/TronHex.ts"
import * as TronCommitments from "../sending/TronCommitments.ts"
import * as TronBalance from "../transfer/TronBalance.ts"
import * as TronTransaction from "../transfer/TronTransaction.ts"
import type { ExactTronChain } from "./ExactTronChain.ts"

type VerificationError = PaymentError | ValidationError | ChainUnavailable

/** A verified transfer: what it takes from its payer, and what the payer has. */
export interface VerifiedTransfer {
  readonly commitment: TronCommitments.Commitment
  readonly means: TronCommitments.Means
  readonly prices: TronRpc.Prices
}

/** The chain's state at about one time, as far as the checks need it. */
interface ChainSnapshot {
  readonly head: TronBlocks.Block
  /** Blocks from the reference block to the head, modulo 2^16. */
  readonly referenceAge: bigint
  readonly reference: TronBlocks.Block | undefined
  readonly isKnown: boolean
  readonly account: TronRpc.Account | undefined
  readonly resources: TronRpc.Resources
  readonly balance: TronRpc.CallOutcome
  readonly simulation: TronRpc.CallOutcome
  readonly prices: TronRpc.Prices
}

type TransferCheck = (
  signed: SignedTransfer,
  snapshot: ChainSnapshot,
  chain: ExactTronChain
) => VerificationError | undefined

/** Least validity left by the chain's clock, in milliseconds: two slots, in which a producer may include the transaction. */
const slotsMillis = 6_000n
/** Least validity left if energy is lent first, which takes a block or two more; milliseconds. */
const sponsoredMillis = 15_000n
/** Longest validity that the chain accepts, in milliseconds after its head. */
const longestMillis = 86_400_000n
/** Greatest age of a reference block, in blocks: an hour. The chain itself allows 65,536. */
const oldestReference = 1_200n
/** Age modulo 2^16 above which a reference block is taken for one ahead of this node's head, from a node that is ahead of it. */
const newestReference = 65_536n - 20n
/** Bytes that the chain adds to a transaction's own, for its result. */
const resultBytes = 64n

/** Verifies on behalf of a caller. Succeeds only if the chain would accept the transaction now and the token would move the money. */
export const verify = Effect.fnUntraced(function* (
  chain: ExactTronChain,
  signed: SignedTransfer,
  caller: string
): Effect.fn.Return<VerifiedTransfer, VerificationError | FacilitatorUnavailable> {
  const forged = forgery(signed) ?? fromSponsor(chain, signed)
  if (forged !== undefined) return yield* forged
  yield* chain.prove(signed.token)
  const verified = yield* chain.judge(judged(chain, signed, caller))
  const { commitment, means, prices } = verified
  if (!(yield* chain.commitments.allow(commitment, means, prices))) return yield* committed(signed)
  return verified
})

/** The verdict by one snapshot. */
const judged = Effect.fnUntraced(function* (chain: ExactTronChain, signed: SignedTransfer, caller: string) {
  const snapshot = yield* takeSnapshot(chain, signed)
  const { number: head } = snapshot.head
  for (const check of checks) {
    const error = check(signed, snapshot, chain)
    if (error !== undefined) return refused(head, error)
  }
  const found = toVerified(signed, snapshot, yield* isSponsored(chain, signed, caller, snapshot))
  const poor = fees(found)
  return poor === undefined ? { head, verdict: { _tag: "Good", found } as const } : refused(head, poor)
})

const refused = (head: bigint, error: VerificationError): TronLagGuard.Judged<VerifiedTransfer> => ({
  head,
  verdict: { _tag: "Refused", error }
})

/** The payer's other payments take the funds that this one needs; it may become valid once they have ended. */
export const committed = ({ transfer: { owner } }: SignedTransfer): FacilitatorUnavailable =>
  new FacilitatorUnavailable({
    message: `other pending payments of ${TronAddress.toBase58(owner)} take the TRX, energy or bandwidth that this one needs; send the same payment again when they have settled`
  })

const takeSnapshot = Effect.fnUntraced(function* ({ prices, rpc }: ExactTronChain, { id, transfer }: SignedTransfer) {
  const { amount, owner, refBlockBytes, to, token } = transfer
  const found = yield* Effect.all(
    {
      head: rpc.head,
      isKnown: rpc.isKnown(id),
      account: rpc.account(owner),
      resources: rpc.resources(owner),
      balance: rpc.call(owner, token, TronBalance.callData(owner)),
      simulation: rpc.call(owner, token, TronTransaction.transferCallData(to, amount)),
      prices
    },
    { concurrency: "unbounded" }
  )
  const referenceAge = (found.head.number - BigInt(`0x${refBlockBytes}`)) & 0xffffn
  const number = found.head.number - referenceAge
  const reference = referenceAge > oldestReference || number < 0n ? undefined : yield* rpc.block(number)
  return { ...found, referenceAge, reference } satisfies ChainSnapshot
})

/** The error for a transaction that its payer has not signed, judged by its bytes alone; `undefined` if the signature is good. */
export const forgery = ({ rawHex, signature: text, transfer }: SignedTransfer): PaymentError | undefined => {
  if (TronSignature.isHighS(text)) {
    return refuse("INVALID_SIGNATURE", "high_s", "the signature's s is in the upper half of the order")
  }
  const signer = TronSignature.recoverAddress(TronTransaction.idBytes(TronHex.toBytes(rawHex)), text)
  return signer === transfer.owner
    ? undefined
    : refuse("INVALID_SIGNATURE", "signer", "the transaction is not signed by the key of its payer's account")
}

const fromSponsor = ({ sponsor }: ExactTronChain, { transfer: { owner } }: SignedTransfer): PaymentError | undefined =>
  owner === sponsor?.address
    ? refuse("INVALID_RECIPIENT", "facilitator_pays", "the payment is from the facilitator's own account")
    : undefined

const expiry: TransferCheck = ({ transfer: { expiration } }, { head }, { sponsor }) => {
  const margin = sponsor === undefined ? slotsMillis : sponsoredMillis
  if (expiration <= head.time + margin) {
    const message = `the transaction expires at ${expiration}, less than ${margin} ms after the chain's head (${head.time})`
    return refuse("EXPIRED_PAYMENT", "expired", message)
  }
  const message = "the transaction expires more than a day after the chain's head: no node accepts it yet"
  return expiration > head.time + longestMillis
    ? invalid("unsupported_authorization", "valid_too_long", message)
    : undefined
}

const singleUse: TransferCheck = ({ id }, { isKnown }) =>
  isKnown
    ? invalid("already_used", "on_chain", `the transaction ${id} is on the chain already; sign a new one`)
    : undefined

const referenceBlock: TransferCheck = ({ transfer }, { reference, referenceAge }, { network }) => {
  if (referenceAge > newestReference) {
    return new ChainUnavailable({ network, message: `the node of ${network} is behind the payer's node` })
  }
  if (referenceAge > oldestReference) {
    const message = `the reference block is ${referenceAge} blocks old, at most ${oldestReference} are accepted`
    return refuse("EXPIRED_PAYMENT", "ref_block_old", message)
  }
  if (reference?.id.slice(16, 32) === transfer.refBlockHash) return undefined
  return refuse("NETWORK_MISMATCH", "ref_block", `the reference block is not on ${network}: it is of another network`)
}

const activation: TransferCheck = ({ transfer: { owner } }, { account }) => {
  const payer = TronAddress.toBase58(owner)
  if (account === undefined) {
    const message = `the account ${payer} is not activated: it needs some TRX before it can pay`
    return refuse("INSUFFICIENT_BALANCE", "payer_not_activated", message)
  }
  const message = `the account ${payer} has given its owner permission to other keys; its own key alone cannot sign a payment`
  return account.ownsItself ? undefined : refuse("INVALID_SIGNATURE", "permission", message)
}

const tokenBalance: TransferCheck = ({ token, transfer: { amount } }, { balance }, { network }) => {
  const held = TronBalance.fromOutcome(balance)
  if (held === undefined) return TronBalance.missing(token, network)
  const message = `the payer holds ${held} of ${token.symbol}'s smallest unit, the payment takes ${amount}`
  return held < amount ? refuse("INSUFFICIENT_BALANCE", "token", message) : undefined
}

const simulation: TransferCheck = ({ token, transfer }, { simulation: outcome }, { network }) => {
  if (outcome._tag === "NoContract") {
    return new ChainUnavailable({ network, message: `the node of ${network} has no contract ${token.symbol}` })
  }
  if (outcome._tag === "Failed") {
    const message = `${token.symbol} would reject the transfer: ${outcome.message}`
    return refuse("INSUFFICIENT_BALANCE", "simulation_reverted", message)
  }
  const message = `the transfer would not move exactly ${transfer.amount} to the recipient`
  return TronTransferEvidence.isProven(transfer, outcome.logs)
    ? undefined
    : refuse("INVALID_RECIPIENT", "transfer_effect", message)
}

const feeLimit: TransferCheck = ({ transfer }, { prices, simulation: outcome }, { maxFeeLimit }) => {
  const needed = energyOf(outcome) * prices.energy
  if (transfer.feeLimit >= needed && transfer.feeLimit <= maxFeeLimit) return undefined
  const message = `the fee limit is ${transfer.feeLimit} sun, expected between ${needed} and ${maxFeeLimit}`
  return refuse("INSUFFICIENT_BALANCE", "fee_limit", message)
}

const checks: ReadonlyArray<TransferCheck> = [
  expiry,
  singleUse,
  referenceBlock,
  activation,
  tokenBalance,
  simulation,
  feeLimit
]

const energyOf = (outcome: TronRpc.CallOutcome): bigint => (outcome._tag === "Returned" ? outcome.energy : 0n)

/** Whether the sponsor would lend the energy that the payer lacks, within its budget. */
const isSponsored = (
  { sponsor }: ExactTronChain,
  { transfer }: SignedTransfer,
  caller: string,
  { resources, simulation: outcome }: ChainSnapshot
) => {
  const missing = energyOf(outcome) - resources.energy
  return sponsor === undefined || missing <= 0n
    ? Effect.succeed(false)
    : sponsor.covers({ payer: transfer.owner, caller, energy: missing }, resources)
}

/** Most by which the chain's clock, which decides when a transaction expires, lags behind ours; milliseconds. */
const clockSlack = 10_000

const toVerified = (
  { id, rawHex, signature: text, transfer }: SignedTransfer,
  { account, prices, resources, simulation: outcome }: ChainSnapshot,
  sponsored: boolean
): VerifiedTransfer => {
  const { energy, freeBandwidth, stakedBandwidth } = resources
  return {
    commitment: {
      id,
      payer: transfer.owner,
      energy: sponsored ? 0n : energyOf(outcome),
      bytes: BigInt(TronTransaction.signed(rawHex, text).length / 2) + resultBytes,
      until: Number(transfer.expiration) + clockSlack
    },
    means: { balance: account?.balance ?? 0n, energy, freeBandwidth, stakedBandwidth },
    prices
  }
}

const fees = ({ commitment, means, prices }: VerifiedTransfer): PaymentError | undefined => {
  const burnt = TronCommitments.burntBy([commitment], means, prices)
  const message = `the transfer would burn ${burnt} sun of the payer, who has ${means.balance}`
  return means.balance < burnt ? refuse("INSUFFICIENT_BALANCE", "trx_for_fees", message) : undefined
}
