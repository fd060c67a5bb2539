/**
 * Verifies a payment on TON against the chain as it is now: the payer's wallet, its Jettons, the recipient's Jetton wallet, and
 * with an emulation the transfer itself. A node that does not respond proves nothing about the payment.
 */
import {
  type Asset,
  AssetTable,
  ChainUnavailable,
  type FacilitatorUnavailable,
  invalid,
  type Payment,
  type PaymentError,
  refuse,
  type ValidationError
} from "@pontage/core"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

import * as TonTransferEvidence from "../evidence/TonTransferEvidence.ts"
import type * as TonRpc from "../node/TonRpc.ts"
import type { SignedJettonTransfer } from "../payment/ExactTonReading.ts"
import * as TonPayer from "../payment/TonPayer.ts"
import type * as TonAddress from "../primitives/TonAddress.ts"
import * as TonMessage from "../primitives/TonMessage.ts"
import * as TonRelay from "../sending/TonRelay.ts"
import type * as TonTariff from "../sending/TonTariff.ts"
import * as JettonTransfer from "../transfer/JettonTransfer.ts"
import type { ExactTonChain } from "./ExactTonChain.ts"

type VerificationError = PaymentError | ValidationError | ChainUnavailable | FacilitatorUnavailable

/** Result of a verification. */
export interface Verified {
  readonly isDeployed: boolean
  /** Whether the wallet has carried the request out already: then nothing is sent. */
  readonly isCarriedOut: boolean
  /** Unix milliseconds. */
  readonly at: number
}

/** The most that an external request costs its payer beside the TON it hands on, in nanotons. */
const externalFees = 10_000_000n

/** Blocks of the responses to a verification, which asks in steps. */
interface Blocks {
  /** Notes the block of a response. It must not be older than those of earlier steps. */
  readonly note: (block: bigint | undefined) => void
  /** Begins the next step. The responses of one step are not compared: their requests were sent at the same time. */
  readonly nextStep: () => void
  /** The block that a response is behind; `undefined` where none is. */
  readonly missed: () => bigint | undefined
}

const blocksFrom = (newest: bigint): Blocks => {
  let floor = newest
  let highest = newest
  let missed: bigint | undefined
  return {
    note: (block) => {
      if (block === undefined) return
      if (block < floor) missed = floor
      if (block > highest) highest = block
    },
    nextStep: () => void (floor = highest),
    missed: () => missed
  }
}

/**
 * Verifies a payment. A refusal by a backend that is behind the blocks of earlier responses proves nothing: it may not know
 * the payer's money, wallet or number yet.
 */
export const verify = Effect.fnUntraced(function* (
  chain: ExactTonChain,
  payment: Payment<SignedJettonTransfer>
): Effect.fn.Return<Verified, VerificationError> {
  const blocks = blocksFrom(yield* chain.rpc.newest)
  return yield* Effect.catchTag(verifyNow(chain, payment, blocks), ["PaymentError", "ValidationError"], (refusal) => {
    const { network } = chain
    const missed = blocks.missed()
    const message = `the node of ${network} is behind block ${missed}; try again`
    return Effect.fail(missed === undefined ? refusal : new ChainUnavailable({ network, message, cause: refusal }))
  })
})

const verifyNow = Effect.fnUntraced(function* (
  chain: ExactTonChain,
  payment: Payment<SignedJettonTransfer>,
  blocks: Blocks
): Effect.fn.Return<Verified, VerificationError> {
  const { payload: signed } = payment
  const tariff = yield* chain.tariff
  yield* chain.losses.allow(payment, riskOf(signed, tariff))
  const account = yield* chain.rpc.account(signed.payer)
  blocks.note(account.head.number)
  blocks.nextStep()
  const payer = yield* Effect.fromResult(TonPayer.check(chain, signed, account))
  if (payer.ahead > 0)
    return yield* refuse("EXPIRED_PAYMENT", "seqno_ahead", "the request's number is ahead of the payer's wallet")
  if (payer.ahead === 0 && (yield* chain.pendingPayers.isTaken(signed))) return yield* reserved(signed)
  if (!AssetTable.isRetired(signed.token)) yield* chain.prove(signed.token)
  const wallet = yield* chain.jettons.walletOf(signed.master, signed.payer)
  if (wallet !== signed.jettonWallet) {
    const message = `the request is to ${signed.jettonWallet}, the payer's wallet of the asset is ${wallet}`
    return yield* refuse("INVALID_RECIPIENT", "other_jetton_wallet", message)
  }
  const recipient = yield* chain.jettons.walletOf(signed.master, signed.transfer.to)
  if (payer.ahead < 0) {
    yield* carriedOut(chain, payment, account, recipient)
    return { isDeployed: true, isCarriedOut: true, at: yield* Clock.currentTimeMillis }
  }
  yield* movable(chain, signed, recipient, blocks.note)
  blocks.nextStep()
  yield* affordable(chain, signed, account, tariff)
  if (chain.emulation !== undefined) yield* emulate(chain, payment, account, recipient, payer.isDeployed, blocks.note)
  return { isDeployed: payer.isDeployed, isCarriedOut: false, at: yield* Clock.currentTimeMillis }
})

/** Estimate of the most that a payment may cost, before its message is written; nanotons. */
const riskOf = (signed: SignedJettonTransfer, tariff: TonTariff.TonTariff): bigint =>
  signed.kind === "external" ? tariff.external : tariff.attached(signed, signed.token) + tariff.external

/** Error: another payment of the payer is pending. */
export const reserved = ({ payer }: SignedJettonTransfer) =>
  refuse("EXPIRED_PAYMENT", "seqno_reserved", `another payment of ${payer} is pending; sign a new one after it`)

/**
 * Error: the wallet carried the request out before its payment was accepted here; it may have paid for another response.
 */
export const carriedOutBefore = invalid(
  "already_used",
  "seqno_consumed",
  "the wallet has carried this request out already; sign a new one"
)

/**
 * Checks a request whose number is used: by this very request, or by another one. Any account may send a signed request to
 * its wallet. For a bound payment only the payer knows the challenge and the salt of its query id: if its record was made
 * before, a transfer that is proven to be this one pays for it, no matter who sent it (`OwnTransfer`).
 */
const carriedOut = Effect.fnUntraced(function* (
  chain: ExactTonChain,
  payment: Payment<SignedJettonTransfer>,
  account: TonRpc.Account,
  recipient: TonAddress.Address
): Effect.fn.Return<void, VerificationError> {
  const { payload: signed } = payment
  const walletTransaction = yield* chain.searches.find(payment, account)
  if (walletTransaction === undefined)
    return yield* refuse("EXPIRED_PAYMENT", "seqno_consumed", "the wallet has used this request's number for another")
  if (payment.authorization.binding === undefined) return yield* carriedOutBefore
  const evidence = yield* TonTransferEvidence.follow(chain.rpc, signed, recipient, walletTransaction)
  if (evidence._tag === "Stopped") return yield* evidence.error
})

/** Checks that the token moves the amount: the payer's balance, and the locks of its issuer. */
export const movable = Effect.fnUntraced(function* (
  { jettons }: Pick<ExactTonChain, "jettons">,
  { jettonWallet, master, payer, transfer: { amount, to } }: SignedJettonTransfer,
  recipient: TonAddress.Address,
  note: Blocks["note"]
): Effect.fn.Return<void, VerificationError> {
  const [own, receiving] = yield* Effect.all(
    [jettons.holding(master, jettonWallet), jettons.holding(master, recipient)],
    {
      concurrency: "unbounded"
    }
  )
  note(own.block)
  note(receiving.block)
  if (own.balance < amount) {
    const message = `${payer} holds ${own.balance}, the payment is of ${amount}`
    return yield* refuse("INSUFFICIENT_BALANCE", "balance_below_amount", message)
  }
  if (!own.maySend) return yield* invalid("unsupported_authorization", "account_blocked", `the token locks ${payer}`)
  if (!receiving.mayReceive) return yield* refuse("INVALID_RECIPIENT", "account_blocked", `the token locks ${to}`)
})

/**
 * Checks that the request hands on enough TON, and for an external payment its amount and the payer's TON for gas. Clients that
 * emulate the transfer hand on less than the tariff's safe amount; an emulation here decides about theirs.
 */
const affordable = (
  { emulation, externalMinimum, maxInnerTon }: ExactTonChain,
  { kind, payer, request, token, transfer, value }: SignedJettonTransfer,
  { balance }: TonRpc.Account,
  tariff: TonTariff.TonTariff
): Effect.Effect<void, PaymentError | ValidationError> => {
  const needed = lower(tariff.transfer(token), maxInnerTon)
  const isEmulated = emulation !== undefined && kind === "w5-internal"
  if (request.mode !== 64 && value < needed && !isEmulated) {
    const emulated = kind === "w5-internal" ? "; this facilitator has no emulation, which could accept less" : ""
    const message = `the request hands on ${value} nanotons, and ${needed} are safe for a transfer${emulated}; sign a request that hands on ${needed}`
    return Effect.fail(invalid("unsupported_authorization", "too_little_ton", message))
  }
  if (kind !== "external") return Effect.void
  const least = externalMinimum ?? hundredthOf(token)
  if (transfer.amount < least) {
    const message = `a payment by an external message must be at least ${least}, this one is ${transfer.amount}; use w5-internal`
    return Effect.fail(invalid("unsupported_authorization", "external_below_minimum", message))
  }
  if (balance < value + externalFees) {
    const message = `${payer} has ${balance} nanotons for gas, but needs ${value + externalFees}`
    return Effect.fail(refuse("INSUFFICIENT_BALANCE", "no_gas", message))
  }
  return Effect.void
}

const lower = (left: bigint, right: bigint): bigint => (left < right ? left : right)

const hundredthOf = ({ decimals }: Asset): bigint => 10n ** BigInt(Math.max(0, decimals - 2))

const unemulated = invalid(
  "unsupported_authorization",
  "not_playable",
  "the virtual machine cannot emulate the payment; sign a new one with a wallet of a known version"
)

/** Exit codes of Jetton wallets for too few Jettons or too little TON. */
const tooLittle = new Set([47, 48, 706, 709])

const emulate = Effect.fnUntraced(function* (
  { config, emulation, losses, network, relayers, rpc, tariff }: ExactTonChain,
  payment: Payment<SignedJettonTransfer>,
  payer: TonRpc.Account,
  recipient: TonAddress.Address,
  isDeployed: boolean,
  note: Blocks["note"]
): Effect.fn.Return<void, VerificationError> {
  const { payload: signed } = payment
  const [relayer] = [...relayers.values()].map(({ address }) => address)
  if (emulation === undefined || relayer === undefined) return
  const others = yield* Effect.forEach(
    [signed.jettonWallet, recipient],
    (address) => Effect.map(rpc.account(address), (account) => [address, account] as const),
    { concurrency: "unbounded" }
  )
  for (const [, { head }] of others) note(head.number)
  const isExternal = signed.kind === "external"
  const transactions = yield* emulation({
    network,
    config: yield* config,
    from: isExternal ? undefined : relayer,
    message: isExternal
      ? TonMessage.external(signed.payer, signed.body, isDeployed ? undefined : signed.init)
      : TonRelay.make(signed, isDeployed, yield* tariff).message,
    accounts: [[signed.payer, payer], ...others],
    time: payer.head.time
  }).pipe(Effect.catchTag("EmulationFailed", () => Effect.andThen(losses.suspect(payment), unemulated)))
  const credit = transactions.find(
    ({ account, transaction: { cause } }) =>
      account === recipient &&
      cause?.from === signed.jettonWallet &&
      JettonTransfer.isCredit(cause.body, signed.transfer)
  )
  if (credit?.transaction.isCarriedOut === true) return
  if (credit !== undefined)
    return yield* refuse("INVALID_RECIPIENT", "bounced", "the recipient's Jetton wallet would bounce the payment")
  const exits = transactions.map(({ transaction: { exitCode } }) => exitCode)
  const message = `the emulated payment does not arrive; exit codes ${exits.join(", ")}`
  return yield* exits.some((code) => tooLittle.has(code))
    ? refuse("INSUFFICIENT_BALANCE", "transfer_refused", message)
    : refuse("INVALID_SIGNATURE", "not_carried_out", message)
})
