/**
 * An operator's payments on TON from its own W5 wallet: ordinary payments of `exact`, signed by its key and relayed by a facilitator. A
 * wallet carries out one request of each number, so the account makes one payment at a time: another one is signed only once the wallet has
 * used the number of the last one, or the masterchain is past its validity. The chain keeps that order also between processes: of two
 * requests with one number it carries out one, and the other one is over.
 */
import {
  type Asset,
  ChainUnavailable,
  Misconfigured,
  type Payouts,
  type PayoutOrder,
  type PayoutSigning,
  type Push,
  SigningFailed
} from "@pontage/core"
import * as OptionCheck from "@pontage/core/OptionCheck"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Semaphore from "effect/Semaphore"

import * as Ed25519 from "../crypto/Ed25519.ts"
import * as TonPayoutEvidence from "../evidence/TonPayoutEvidence.ts"
import * as TonSearches from "../evidence/TonSearches.ts"
import * as TonChainCheck from "../node/TonChainCheck.ts"
import * as TonRpc from "../node/TonRpc.ts"
import * as ExactTon from "../payment/ExactTon.ts"
import { recall } from "../payment/ExactTonReading.ts"
import * as TonPayer from "../payment/TonPayer.ts"
import * as TonAddress from "../primitives/TonAddress.ts"
import * as TonNetwork from "../primitives/TonNetwork.ts"
import * as CurrentTariff from "../sending/CurrentTariff.ts"
import type * as TonTariff from "../sending/TonTariff.ts"
import * as TonAsset from "../transfer/TonAsset.ts"
import * as TonJettons from "../transfer/TonJettons.ts"
import * as TonSigner from "../wallet/TonSigner.ts"
import * as TonWallet from "../wallet/TonWallet.ts"
import { keepingClient } from "./ExactTonClient.ts"
import * as ExactTonVerification from "./ExactTonVerification.ts"

/** Options of the payments. */
export interface Options {
  /** The key of the W5 wallet that pays. It needs the Jettons and no TON, and need not be deployed. */
  readonly signer: TonSigner.TonKeySigner
  /** The number of that wallet among those of its key; default 0. */
  readonly subwallet?: number
  /** The address of the first relayer of the facilitator that sends the payments: it gets the unused TON back. */
  readonly relayer: string
  /** toncenter's API v2, its JSON-RPC address. */
  readonly rpcUrl: string
  readonly apiKey?: string
  /** Default `ton:mainnet`. */
  readonly network?: string
  /** Jettons beside the known ones. */
  readonly assets?: ReadonlyArray<TonAsset.CustomAsset>
  /** The facilitator's own amount to attach to a payment, in nanotons, where it has one. */
  readonly attachedTon?: bigint
}

const check = OptionCheck.options<Options>({
  signer: OptionCheck.given<TonSigner.TonKeySigner>(
    "a signer: exactTon.localSigner(seed), a key pair, or { publicKey, sign }",
    TonSigner.isKeySigner
  ),
  subwallet: OptionCheck.optional(OptionCheck.whole()),
  relayer: OptionCheck.setting("the address of the facilitator's relayer"),
  rpcUrl: OptionCheck.nodeUrl("https://toncenter.com/api/v2/jsonRPC"),
  apiKey: OptionCheck.optional(OptionCheck.text),
  network: OptionCheck.optional(OptionCheck.text),
  assets: OptionCheck.optional(TonAsset.check),
  attachedTon: OptionCheck.optional(OptionCheck.amount(1n))
})

/** Seconds for which a payment can be made: longer than a relayer's queue, and the pause after a payment that was not relayed. */
const validSeconds = 300

/** The parts that the payments are made with. */
interface Context extends TonPayoutEvidence.Context {
  readonly ed25519: Ed25519.Shape
  readonly payer: ReturnType<typeof keepingClient>
  /** The nanotons that a transfer of a token needs. */
  readonly needOf: (asset: Asset) => Effect.Effect<bigint, ChainUnavailable>
  readonly account: TonAddress.Address
  readonly relayer: TonAddress.Address
  /** The last payment that may still be made, as this process knows. */
  last: { readonly seqno: number; readonly validUntil: number } | undefined
}

/** Makes the payments. The node is asked when it is needed. Throws `Misconfigured` for an invalid network, asset, signer or relayer. */
export const payouts = (options: Options): Payouts => {
  const given = Result.getOrThrow(OptionCheck.read(check, options, "exactTon.payouts"))
  const table = Result.getOrThrow(TonAsset.table(given.assets ?? []))
  const context = contextOf(given)
  const { account, jettons, network, rpc } = context
  const lock = Semaphore.makeUnsafe(1)
  return {
    scheme: ExactTon.scheme,
    network,
    account,
    asset: (name) => table.find(network, name),
    prove: Effect.fnUntraced(function* (asset) {
      yield* TonChainCheck.network(rpc, network)
      yield* TonChainCheck.asset(rpc, asset)
    }),
    balance: Effect.fnUntraced(function* (asset) {
      const master = TonAddress.fromText(asset.address)
      if (master === undefined) return 0n
      return (yield* jettons.holding(master, yield* jettons.walletOf(master, account))).balance
    }),
    sign: (order) => lock.withPermit(sign(context, order)),
    observe: Effect.fnUntraced(function* (push) {
      const payment = yield* readBack(context, push)
      const state = yield* TonPayoutEvidence.observe(context, payment)
      const { seqno, validUntil } = payment.payload.request
      if (state._tag === "Open" && (context.last?.seqno ?? -1) < seqno) context.last = { seqno, validUntil }
      return state
    })
  }
}

const wrong = (reason: string) => new Misconfigured({ message: `exactTon.payouts: ${reason}` })

const contextOf = ({
  apiKey,
  assets,
  attachedTon,
  network: text,
  relayer: relayerText,
  rpcUrl,
  signer,
  subwallet
}: Options): Context => {
  const network = TonNetwork.fromText(text ?? TonNetwork.mainnet)
  if (network === undefined) throw wrong(`network "${text}" is not a TON network such as ton:mainnet`)
  const key = TonSigner.fromKey(signer)
  if (key === undefined) throw wrong("the signer's keys are not 32 bytes of Ed25519 that belong together")
  const relayer = TonAddress.fromText(relayerText)
  if (relayer === undefined) throw wrong(`relayer "${relayerText}" is not a TON address`)
  const account = TonWallet.w5Address(key.publicKey, TonNetwork.walletId(network, subwallet))
  if (account === relayer) throw wrong("the relayer is the wallet that pays; give it a key of its own")
  const node = { network, ...(apiKey !== undefined && { apiKey }) }
  const rpc = Effect.runSync(TonRpc.make({ url: rpcUrl, ...node }))
  const needOf = needing(CurrentTariff.make(network, CurrentTariff.refreshed(rpc.config), attachedTon))
  const own = { signer, rpcUrl, ...(assets && { assets }), ...(subwallet !== undefined && { subwallet }) }
  return {
    rpc,
    network,
    jettons: TonJettons.make(rpc),
    searches: TonSearches.make(rpc),
    ends: TonPayoutEvidence.makeEnds(),
    ed25519: Effect.runSync(Ed25519.Ed25519),
    // Anybody has the request once it is sent, and may carry it to the wallet with too little TON: that must not use its number up.
    payer: keepingClient({ ...node, ...own }, (asset) =>
      Effect.mapError(needOf(asset), ({ message }) => new SigningFailed({ message }))
    ),
    needOf,
    account,
    relayer,
    last: undefined
  }
}

/** The need by the tariff, and no more than at first: a facilitator reads no request that hands on more than its start has named. */
const needing = (tariff: Effect.Effect<TonTariff.TonTariff, ChainUnavailable>): Context["needOf"] => {
  const first = new Map<string, bigint>()
  return (asset) =>
    Effect.map(tariff, ({ transfer }) => {
      const now = transfer(asset)
      const most = first.get(asset.address) ?? now
      first.set(asset.address, most)
      return now < most ? now : most
    })
}

const sign = Effect.fnUntraced(function* (
  context: Context,
  { amount, asset, recipient }: PayoutOrder
): Effect.fn.Return<PayoutSigning, ChainUnavailable> {
  const { account, network, payer, relayer, rpc } = context
  const state = yield* rpc.account(account)
  if (context.last !== undefined && TonPayoutEvidence.isOpen(context.last, state)) return waiting(context)
  const requirements = {
    scheme: ExactTon.scheme.name,
    network,
    maxAmountRequired: `${amount}`,
    resource: "urn:pontage:delivery",
    payTo: recipient,
    asset: asset.address,
    maxTimeoutSeconds: validSeconds,
    extra: { ...asset.extra, responseDestination: relayer }
  }
  const validBefore = state.head.time + validSeconds
  yield* context.needOf(asset)
  const signed = yield* Effect.result(
    payer.sign({ requirements, asset, validAfter: 0, validBefore, binding: undefined })
  )
  if (Result.isFailure(signed)) return refused(signed.failure.message)
  const push: Push = { requirements, payload: signed.success.payload, once: true }
  const obstacle = yield* obstacleTo(context, push)
  if (obstacle !== undefined) return refused(obstacle)
  const { request } = (yield* readBack(context, push)).payload
  context.last = request
  return { _tag: "Signed", push }
})

const refused = (reason: string): PayoutSigning => ({ _tag: "Refused", reason })

const waiting = ({ account, network }: Context): PayoutSigning => ({
  _tag: "Waiting",
  reason: `${account} on ${network} makes another payment first`
})

/** The reason why the chain would not make a signed payment now. */
const obstacleTo = Effect.fnUntraced(function* (
  context: Context,
  push: Push
): Effect.fn.Return<string | undefined, ChainUnavailable> {
  const { ed25519, jettons, network, rpc } = context
  const { payload } = yield* readBack(context, push)
  const state = yield* rpc.account(payload.payer)
  const recipient = yield* jettons.walletOf(payload.master, payload.transfer.to)
  const checked = yield* Effect.result(
    Effect.gen(function* () {
      const { ahead } = yield* Effect.fromResult(
        TonPayer.check({ ed25519, network, extendedPayers: false }, payload, state)
      )
      yield* ExactTonVerification.movable({ jettons }, payload, recipient, () => undefined)
      return ahead
    })
  )
  if (Result.isSuccess(checked))
    return checked.success === 0 ? undefined : "its wallet has another number now; it is signed anew"
  return checked.failure._tag === "ChainUnavailable" ? yield* checked.failure : checked.failure.message
})

/** A push as `exact` reads it, by its own terms: the token of one on record may have left the table since. */
const readBack = ({ network }: Context, { payload, requirements }: Push) =>
  Effect.mapError(
    recall({ network }, requirements, payload),
    ({ message }) => new ChainUnavailable({ network, message: `a payment of the inventory cannot be read: ${message}` })
  )
