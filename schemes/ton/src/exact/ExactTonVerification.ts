/**
 * Verification of a payment on TON against the chain as it is now: the payer's wallet, then its Jettons, then the
 * recipient's, and where there is an emulation, the transfer itself played through. What cannot be asked is no verdict.
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

import * as TonTransfer from "../evidence/TonTransfer.ts"
import type * as TonRpc from "../node/TonRpc.ts"
import type { Held } from "../payment/ExactTonReading.ts"
import * as TonMessage from "../primitives/TonMessage.ts"
import * as TonRelay from "../sending/TonRelay.ts"
import type * as TonTariff from "../sending/TonTariff.ts"
import * as JettonTransfer from "../transfer/JettonTransfer.ts"
import type { ExactTonChain } from "./ExactTonChain.ts"
import * as TonPayer from "./TonPayer.ts"

type Failure = PaymentError | ValidationError | ChainUnavailable | FacilitatorUnavailable

/** What a verification has found. */
export interface Verified {
  readonly isDeployed: boolean
  /** The wallet has carried the request out already: nothing is to be sent. */
  readonly isCarriedOut: boolean
  /** Unix milliseconds. */
  readonly at: number
}

/** What an external request costs its payer beside what it hands on, at most, in nanotons. */
const externalFees = 10_000_000n

/**
 * Verifies. What a backend says against a payment that has fallen behind what others have shown before is no verdict: it may
 * not know of the payer's money, wallet or number yet.
 */
export const verify = Effect.fnUntraced(function* (
  chain: ExactTonChain,
  payment: Payment<Held>
): Effect.fn.Return<Verified, Failure> {
  const newest = yield* chain.rpc.newest
  let isBehind = false
  const note = (block: bigint | undefined) => void (isBehind ||= block !== undefined && block < newest)
  return yield* Effect.catchTag(look(chain, payment, note), ["PaymentError", "ValidationError"], (refusal) => {
    const { network } = chain
    const message = `the node of ${network} has fallen behind the block ${newest}; ask again`
    return Effect.fail(isBehind ? new ChainUnavailable({ network, message, cause: refusal }) : refusal)
  })
})

const look = Effect.fnUntraced(function* (
  chain: ExactTonChain,
  payment: Payment<Held>,
  note: (block: bigint | undefined) => void
): Effect.fn.Return<Verified, Failure> {
  const { payload: held } = payment
  const tariff = yield* chain.tariff
  yield* chain.losses.allow(payment, riskOf(held, tariff))
  const account = yield* chain.rpc.account(held.payer)
  note(account.head.number)
  const payer = yield* Effect.fromResult(TonPayer.judge(chain, held, account))
  if (payer.ahead > 0)
    return yield* refuse("EXPIRED_PAYMENT", "seqno_ahead", "the payer's wallet is not at this request's number yet")
  if (payer.ahead === 0 && (yield* chain.flying.isTaken(held))) return yield* reserved(held)
  if (!AssetTable.isRetired(held.token)) yield* chain.prove(held.token)
  const wallet = yield* chain.jettons.walletOf(held.master, held.payer)
  if (wallet !== held.jettonWallet) {
    const message = `the request is to ${held.jettonWallet}, the payer's wallet of the asset is ${wallet}`
    return yield* refuse("INVALID_RECIPIENT", "other_jetton_wallet", message)
  }
  const theirs = yield* chain.jettons.walletOf(held.master, held.transfer.to)
  if (payer.ahead < 0) {
    yield* carriedOut(chain, payment, account, theirs)
    return { isDeployed: true, isCarriedOut: true, at: yield* Clock.currentTimeMillis }
  }
  yield* movable(chain, held, theirs, note)
  yield* affordable(chain, held, account, tariff)
  if (chain.emulation !== undefined) yield* played(chain, payment, account, theirs, payer.isDeployed)
  return { isDeployed: payer.isDeployed, isCarriedOut: false, at: yield* Clock.currentTimeMillis }
})

/** The most that a payment may cost, near enough before its message is written. */
const riskOf = (held: Held, tariff: TonTariff.TonTariff): bigint =>
  held.kind === "external" ? tariff.external : tariff.attached(held, held.token) + tariff.external

/** Another payment of the payer is on its way. */
export const reserved = ({ payer }: Held) =>
  refuse("EXPIRED_PAYMENT", "seqno_reserved", `another payment of ${payer} is on its way; sign a new one after it`)

/**
 * The wallet had carried the request out before its payment was taken in here: somebody may have served it by it.
 */
export const carriedOutBefore = invalid(
  "already_used",
  "seqno_consumed",
  "the wallet has carried this request out already; sign a new one"
)

/**
 * A number that is used was used by this very request, or by another one. Anybody may bring a signed request to its wallet.
 * Of a payment that is bound, nobody but the payer knows the challenge and the salt that its query id was made from: where
 * its record was made before, a transfer that is proven to be this one pays for it, whoever sent it (`OwnTransfer`).
 */
const carriedOut = Effect.fnUntraced(function* (
  chain: ExactTonChain,
  payment: Payment<Held>,
  account: TonRpc.Account,
  theirs: Held["jettonWallet"]
): Effect.fn.Return<void, Failure> {
  const { payload: held } = payment
  const used = yield* chain.searches.find(payment, account)
  if (used === undefined)
    return yield* refuse("EXPIRED_PAYMENT", "seqno_consumed", "the wallet has used this request's number for another")
  if (payment.authorization.binding === undefined) return yield* carriedOutBefore
  const way = yield* TonTransfer.follow(chain.rpc, held, theirs, used)
  if (way._tag === "Stopped") return yield* way.error
})

const movable = Effect.fnUntraced(function* (
  { jettons }: ExactTonChain,
  { jettonWallet, master, payer, transfer: { amount, to } }: Held,
  theirs: Held["jettonWallet"],
  note: (block: bigint | undefined) => void
): Effect.fn.Return<void, Failure> {
  const [own, their] = yield* Effect.all([jettons.holding(master, jettonWallet), jettons.holding(master, theirs)], {
    concurrency: "unbounded"
  })
  note(own.block)
  note(their.block)
  if (own.balance < amount) {
    const message = `${payer} holds ${own.balance}, the payment is of ${amount}`
    return yield* refuse("INSUFFICIENT_BALANCE", "balance_below_amount", message)
  }
  if (!own.maySend) return yield* invalid("unsupported_authorization", "account_blocked", `the token locks ${payer}`)
  if (!their.mayReceive) return yield* refuse("INVALID_RECIPIENT", "account_blocked", `the token locks ${to}`)
})

/** Whoever pays the gas has to have it, and a payment whose gas the payer pays has to be worth the relayer's own message. */
const affordable = (
  { externalMinimum, maxInnerTon }: ExactTonChain,
  { kind, payer, request, token, transfer, value }: Held,
  { balance }: TonRpc.Account,
  tariff: TonTariff.TonTariff
): Effect.Effect<void, PaymentError | ValidationError> => {
  const needed = lower(tariff.transfer(token), maxInnerTon)
  if (request.mode !== 64 && value < needed) {
    const message = `the request hands on ${value} nanotons, too little for a transfer; ${needed} are needed`
    return Effect.fail(invalid("unsupported_authorization", "too_little_ton", message))
  }
  if (kind !== "external") return Effect.void
  const least = externalMinimum ?? hundredthOf(token)
  if (transfer.amount < least) {
    const message = `a payment by an external message is of ${least} at least, this one is of ${transfer.amount}; use w5-internal`
    return Effect.fail(invalid("unsupported_authorization", "external_below_minimum", message))
  }
  if (balance < value + externalFees) {
    const message = `${payer} has ${balance} nanotons for gas, ${value + externalFees} are needed`
    return Effect.fail(refuse("INSUFFICIENT_BALANCE", "no_gas", message))
  }
  return Effect.void
}

const lower = (left: bigint, right: bigint): bigint => (left < right ? left : right)

const hundredthOf = ({ decimals }: Asset): bigint => 10n ** BigInt(Math.max(0, decimals - 2))

const unplayable = invalid(
  "unsupported_authorization",
  "not_playable",
  "the virtual machine cannot play the payment through; sign a new one with a wallet of a known version"
)

/** Exit codes of Jetton wallets that say that there is too little: of Jettons, of TON. */
const tooLittle = new Set([47, 48, 706, 709])

const played = Effect.fnUntraced(function* (
  { config, emulation, losses, network, relayers, rpc, tariff }: ExactTonChain,
  payment: Payment<Held>,
  payer: TonRpc.Account,
  theirs: Held["jettonWallet"],
  isDeployed: boolean
): Effect.fn.Return<void, Failure> {
  const { payload: held } = payment
  const [relayer] = [...relayers.values()].map(({ address }) => address)
  if (emulation === undefined || relayer === undefined) return
  const others = yield* Effect.forEach(
    [held.jettonWallet, theirs],
    (address) => Effect.map(rpc.account(address), (account) => [address, account] as const),
    { concurrency: "unbounded" }
  )
  const isExternal = held.kind === "external"
  const transactions = yield* emulation({
    network,
    config: yield* config,
    from: isExternal ? undefined : relayer,
    message: isExternal
      ? TonMessage.external(held.payer, held.body, isDeployed ? undefined : held.init)
      : TonRelay.make(held, isDeployed, yield* tariff).message,
    accounts: [[held.payer, payer], ...others],
    time: payer.head.time
  }).pipe(Effect.catchTag("Unplayable", () => Effect.andThen(losses.suspect(payment), unplayable)))
  const credit = transactions.find(
    ({ account, transaction: { cause } }) =>
      account === theirs && cause?.from === held.jettonWallet && JettonTransfer.isCredit(cause.body, held.transfer)
  )
  if (credit?.transaction.isCarriedOut === true) return
  if (credit !== undefined)
    return yield* refuse("INVALID_RECIPIENT", "bounced", "the recipient's Jetton wallet would not take the payment")
  const exits = transactions.map(({ transaction: { exitCode } }) => exitCode)
  const message = `played through, the payment does not arrive; exit codes ${exits.join(", ")}`
  return yield* exits.some((code) => tooLittle.has(code))
    ? refuse("INSUFFICIENT_BALANCE", "transfer_refused", message)
    : refuse("INVALID_SIGNATURE", "not_carried_out", message)
})
