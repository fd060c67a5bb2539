/**
 * Verification of a payment on TRON: the signature offline, then one look at the chain, all questions at once, and then
 * the checks in their order. A question that is not answered is no verdict.
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
import type * as TronHead from "../node/TronHead.ts"
import type * as TronRpc from "../node/TronRpc.ts"
import type { Held } from "../payment/ExactTronReading.ts"
import * as TronAddress from "../primitives/TronAddress.ts"
import * as TronHex from "../primitives/TronHex.ts"
import * as TronCommitments from "../sending/TronCommitments.ts"
import * as TronTransaction from "../transfer/TronTransaction.ts"
import type { ExactTronChain } from "./ExactTronChain.ts"

type Refusal = PaymentError | ValidationError | ChainUnavailable

/** What a verification has found: what the transfer takes of its payer, and what the payer has. */
export interface Verified {
  readonly commitment: TronCommitments.Commitment
  readonly means: TronCommitments.Means
  readonly prices: TronRpc.Prices
}

/** What the chain showed, all of it at about the same time. */
interface Seen {
  readonly head: TronBlocks.Block
  /** How many blocks behind the head the reference block is, by its low 16 bits. */
  readonly referenceAge: bigint
  readonly reference: TronBlocks.Block | undefined
  readonly isKnown: boolean
  readonly account: TronRpc.Account | undefined
  readonly resources: TronRpc.Resources
  readonly balance: TronRpc.CallOutcome
  readonly simulation: TronRpc.CallOutcome
  readonly prices: TronRpc.Prices
}

type Check = (held: Held, seen: Seen, chain: ExactTronChain) => Refusal | undefined

/** Milliseconds that must be left by the chain's clock: two slots, in which a producer may take the transaction. */
const slotsMillis = 6_000n
/** The same where energy is lent first: that takes a block or two more. */
const sponsoredMillis = 15_000n
/** The chain takes nothing that expires later than this after its head, in milliseconds. */
const longestMillis = 86_400_000n
/** Blocks: an hour. The chain itself allows 65,536. */
const oldestReference = 1_200n
/** A reference so close ahead of our node's head, seen modulo 2^16, is of a node that is ahead of ours. */
const newestReference = 65_536n - 20n
/** What the chain counts beside a transaction's own bytes, for its result. */
const resultBytes = 64n

/**
 * Verifies on behalf of a caller. Succeeds only when the chain would take the transaction now and the token would move the money.
 */
export const verify = Effect.fnUntraced(function* (
  chain: ExactTronChain,
  held: Held,
  caller: string
): Effect.fn.Return<Verified, Refusal | FacilitatorUnavailable> {
  const forged = forgery(held) ?? ownMoney(chain, held)
  if (forged !== undefined) return yield* forged
  yield* chain.prove(held.token)
  const verified = yield* chain.judge(judged(chain, held, caller))
  const { commitment, means, prices } = verified
  if (!(yield* chain.commitments.allow(commitment, means, prices))) return yield* committed(held)
  return verified
})

/** What one look says. */
const judged = Effect.fnUntraced(function* (chain: ExactTronChain, held: Held, caller: string) {
  const seen = yield* look(chain, held)
  const { number: head } = seen.head
  for (const check of checks) {
    const error = check(held, seen, chain)
    if (error !== undefined) return refused(head, error)
  }
  const found = toVerified(held, seen, yield* isSponsored(chain, held, caller, seen))
  const poor = fees(found)
  return poor === undefined ? { head, verdict: { _tag: "Good", found } as const } : refused(head, poor)
})

const refused = (head: bigint, error: Refusal): TronHead.Judged<Verified> => ({
  head,
  verdict: { _tag: "Refused", error }
})

/** The payer's other payments take what this one needs. It may be good once they have ended. */
export const committed = ({ transfer: { owner } }: Held): FacilitatorUnavailable =>
  new FacilitatorUnavailable({
    message: `other payments of ${TronAddress.toBase58(owner)} are on their way and take the TRX, energy or bandwidth that this one needs; send the same payment again when they have settled`
  })

const look = Effect.fnUntraced(function* ({ prices, rpc }: ExactTronChain, { id, transfer }: Held) {
  const { amount, owner, refBlockBytes, to, token } = transfer
  const seen = yield* Effect.all(
    {
      head: rpc.head,
      isKnown: rpc.isKnown(id),
      account: rpc.account(owner),
      resources: rpc.resources(owner),
      balance: rpc.call(owner, token, balanceCallData(owner)),
      simulation: rpc.call(owner, token, TronTransaction.transferCallData(to, amount)),
      prices
    },
    { concurrency: "unbounded" }
  )
  const referenceAge = (seen.head.number - BigInt(`0x${refBlockBytes}`)) & 0xffffn
  const number = seen.head.number - referenceAge
  const reference = referenceAge > oldestReference || number < 0n ? undefined : yield* rpc.block(number)
  return { ...seen, referenceAge, reference } satisfies Seen
})

/** The call data that asks a token for an account's balance. */
export const balanceCallData = (owner: TronAddress.Address): string => `70a08231${TronAddress.toWord(owner)}`

/** A balance as a token answers it; `undefined` when it answers something else. */
export const balanceOf = (outcome: TronRpc.CallOutcome): bigint | undefined =>
  outcome._tag === "Returned" && outcome.data.length === 64 ? BigInt(`0x${outcome.data}`) : undefined

/** Why a transaction is not signed by its payer; `undefined` when it is. Its bytes tell. */
export const forgery = ({ rawHex, signature: text, transfer }: Held): PaymentError | undefined => {
  if (TronSignature.isHighS(text)) {
    return refuse("INVALID_SIGNATURE", "high_s", "the signature's s is in the upper half of the order")
  }
  const signer = TronSignature.recoverAddress(TronTransaction.idBytes(TronHex.toBytes(rawHex)), text)
  return signer === transfer.owner
    ? undefined
    : refuse("INVALID_SIGNATURE", "signer", "the transaction is not signed by the key of its payer's account")
}

const ownMoney = ({ sponsor }: ExactTronChain, { transfer: { owner } }: Held): PaymentError | undefined =>
  owner === sponsor?.address
    ? refuse("INVALID_RECIPIENT", "facilitator_pays", "the payment is from the facilitator's own account")
    : undefined

const expiry: Check = ({ transfer: { expiration } }, { head }, { sponsor }) => {
  const margin = sponsor === undefined ? slotsMillis : sponsoredMillis
  if (expiration <= head.time + margin) {
    const message = `the transaction expires at ${expiration}, the chain's head is of ${head.time} and ${margin} ms must be left`
    return refuse("EXPIRED_PAYMENT", "expired", message)
  }
  const message = "the transaction expires more than a day after the chain's head: no node takes it yet"
  return expiration > head.time + longestMillis
    ? invalid("unsupported_authorization", "valid_too_long", message)
    : undefined
}

const singleUse: Check = ({ id }, { isKnown }) =>
  isKnown
    ? invalid("already_used", "on_chain", `the transaction ${id} is on the chain already; sign a new one`)
    : undefined

const referenceBlock: Check = ({ transfer }, { reference, referenceAge }, { network }) => {
  if (referenceAge > newestReference) {
    return new ChainUnavailable({ network, message: `the node of ${network} lags behind the payer's` })
  }
  if (referenceAge > oldestReference) {
    const message = `the reference block is ${referenceAge} blocks old, at most ${oldestReference} are taken`
    return refuse("EXPIRED_PAYMENT", "ref_block_old", message)
  }
  if (reference?.id.slice(16, 32) === transfer.refBlockHash) return undefined
  return refuse("NETWORK_MISMATCH", "ref_block", `the reference block is none of ${network}: it names another network`)
}

const activation: Check = ({ transfer: { owner } }, { account }) => {
  const payer = TronAddress.toBase58(owner)
  if (account === undefined) {
    const message = `the account ${payer} was never activated: it needs some TRX before it can pay`
    return refuse("INSUFFICIENT_BALANCE", "payer_not_activated", message)
  }
  const message = `the account ${payer} has given its owner permission to other keys; its own key alone cannot pay`
  return account.ownsItself ? undefined : refuse("INVALID_SIGNATURE", "permission", message)
}

const tokenBalance: Check = ({ token, transfer: { amount } }, { balance }, { network }) => {
  const held = balanceOf(balance)
  if (held === undefined) {
    return new ChainUnavailable({ network, message: `${token.symbol} does not tell its balances` })
  }
  const message = `the payer holds ${held} of ${token.symbol}'s smallest unit, the payment is of ${amount}`
  return held < amount ? refuse("INSUFFICIENT_BALANCE", "token", message) : undefined
}

const simulation: Check = ({ token, transfer }, { simulation: outcome }, { network }) => {
  if (outcome._tag === "NoContract") {
    return new ChainUnavailable({ network, message: `the node of ${network} does not know ${token.symbol}` })
  }
  if (outcome._tag === "Failed") {
    const message = `${token.symbol} would refuse the transfer: ${outcome.message}`
    return refuse("INSUFFICIENT_BALANCE", "simulation_reverted", message)
  }
  const message = `the transfer would not move exactly ${transfer.amount} to the recipient`
  return TronTransferEvidence.isProven(transfer, outcome.logs)
    ? undefined
    : refuse("INVALID_RECIPIENT", "transfer_effect", message)
}

const feeLimit: Check = ({ transfer }, { prices, simulation: outcome }, { maxFeeLimit }) => {
  const needed = energyOf(outcome) * prices.energy
  if (transfer.feeLimit >= needed && transfer.feeLimit <= maxFeeLimit) return undefined
  const message = `the fee limit is ${transfer.feeLimit} sun, between ${needed} and ${maxFeeLimit} are taken`
  return refuse("INSUFFICIENT_BALANCE", "fee_limit", message)
}

const checks: ReadonlyArray<Check> = [expiry, singleUse, referenceBlock, activation, tokenBalance, simulation, feeLimit]

const energyOf = (outcome: TronRpc.CallOutcome): bigint => (outcome._tag === "Returned" ? outcome.energy : 0n)

/** Energy that is missing is lent by the sponsor, as far as its budget goes. */
const isSponsored = (
  { sponsor }: ExactTronChain,
  { transfer }: Held,
  caller: string,
  { resources, simulation: outcome }: Seen
) => {
  const missing = energyOf(outcome) - resources.energy
  return sponsor === undefined || missing <= 0n
    ? Effect.succeed(false)
    : sponsor.covers({ payer: transfer.owner, caller, energy: missing }, resources)
}

/** A transaction may be taken until its expiration by the chain's clock, which is not exactly ours; milliseconds. */
const clockSlack = 10_000

const toVerified = (
  { id, rawHex, signature: text, transfer }: Held,
  { account, prices, resources, simulation: outcome }: Seen,
  sponsored: boolean
): Verified => {
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

const fees = ({ commitment, means, prices }: Verified): PaymentError | undefined => {
  const burnt = TronCommitments.burntBy([commitment], means, prices)
  const message = `the chain would take ${burnt} sun of the payer for the transfer, there are ${means.balance}`
  return means.balance < burnt ? refuse("INSUFFICIENT_BALANCE", "trx_for_fees", message) : undefined
}
