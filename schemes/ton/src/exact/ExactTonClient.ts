/**
 * The scheme client of `exact` on TON: it reads the payer's number and Jetton wallet from the chain, and signs the request that
 * the core has decided on.
 */
import {
  type Asset,
  Misconfigured,
  type SchemeClient,
  type SignedPayment,
  SigningFailed,
  type SigningRequest
} from "@pontage/core"
import { Entropy } from "@pontage/core/Entropy"
import type { Network } from "@pontage/core/Network"
import * as OptionCheck from "@pontage/core/OptionCheck"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"

import type { StateInit } from "#cells"

import * as TonState from "../node/TonState.ts"
import * as ExactTon from "../payment/ExactTon.ts"
import * as SettlementPayload from "../payment/SettlementPayload.ts"
import * as TonAuthorization from "../payment/TonAuthorization.ts"
import * as TonAddress from "../primitives/TonAddress.ts"
import * as TonBoc from "../primitives/TonBoc.ts"
import * as TonMessage from "../primitives/TonMessage.ts"
import * as TonNetwork from "../primitives/TonNetwork.ts"
import * as JettonTransfer from "../transfer/JettonTransfer.ts"
import * as TonAsset from "../transfer/TonAsset.ts"
import * as TonJettons from "../transfer/TonJettons.ts"
import * as TonSigner from "../wallet/TonSigner.ts"
import * as TonWallet from "../wallet/TonWallet.ts"
import * as WalletRequest from "../wallet/WalletRequest.ts"

/** Options of `exactTon.client`. */
export interface Options {
  /** A key pair, anything that signs a hash, or a wallet's `signMessage` (TON Connect). */
  readonly signer: TonSigner.TonKeySigner | TonSigner.TonMessageSigner
  /** `ton:mainnet` or `ton:testnet`. */
  readonly network: string
  /** toncenter's API v2, its JSON-RPC address: it supplies the payer's number and Jetton wallet. */
  readonly rpcUrl: string
  readonly apiKey?: string
  /** Jettons to pay in beyond the known ones. */
  readonly assets?: ReadonlyArray<TonAsset.CustomAsset>
  /** Kind of the payment; default `w5-internal`: the facilitator pays the gas. With `external` the payer needs TON. */
  readonly kind?: ExactTon.Kind
  /** The number of the payer's W5 wallet among those of its key; default 0. */
  readonly subwallet?: number
}

const signing = "a signer: exactTon.localSigner(seed), a key pair, { publicKey, sign }, or { address, signMessage }"

const check = OptionCheck.options<Options>({
  signer: OptionCheck.given(signing, (value) => TonSigner.isKeySigner(value) || TonSigner.isMessageSigner(value)),
  network: OptionCheck.setting('a TON network such as "ton:mainnet"'),
  rpcUrl: OptionCheck.nodeUrl("https://toncenter.com/api/v2/jsonRPC"),
  apiKey: OptionCheck.optional(OptionCheck.text),
  assets: OptionCheck.optional(TonAsset.check),
  kind: OptionCheck.optional(OptionCheck.oneOf(...ExactTon.kinds)),
  subwallet: OptionCheck.optional(OptionCheck.whole())
})

/** TON handed on by an external payment, or by a wallet that chooses the mode itself; nanotons. */
const usualHandedOn = 50_000_000n

/** Signs one payment. */
interface Payer {
  readonly address: TonAddress.Address
  readonly sign: (order: Order) => Effect.Effect<string, SigningFailed>
}

interface Order {
  readonly kind: ExactTon.Kind
  readonly validUntil: number
  readonly jettonWallet: TonAddress.Address
  readonly transfer: JettonTransfer.JettonTransfer
  /** The TON that the wallet pays out of what it received, in nanotons; with mode 64 it hands on all that a relayer attaches. */
  readonly value: bigint
  readonly mode: Mode
}

/**
 * How the wallet hands TON on. x402's facilitators accept no other mode than 1 and 3. With 3 the number is used, and the request over,
 * where the action fails; with 1 the request stays good then.
 */
type Mode = 64 | 3 | 1

/** The nanotons that a wallet hands on with a transfer of a token, by mode 1. */
export type HandedOn = (asset: Asset) => Effect.Effect<bigint, SigningFailed>

/** The scheme client. Throws `Misconfigured` for an invalid network, signer, RPC URL or asset. */
export const client = (options: Options): SchemeClient => clientOf(options, undefined)

/**
 * The client of an account whose payments strangers cannot use up: one who carries a request to the wallet with too little TON leaves
 * it as it was. The wallet keeps what its relayer attaches beyond its need.
 */
export const keepingClient = (options: Options, handedOn: HandedOn): SchemeClient => clientOf(options, handedOn)

const clientOf = (options: Options, handedOn: HandedOn | undefined): SchemeClient => {
  Result.getOrThrow(OptionCheck.read(check, options, "exactTon.client"))
  const { apiKey, assets, kind = "w5-internal", network: text, rpcUrl, signer } = options
  const table = Result.getOrThrow(TonAsset.table(assets ?? []))
  const network = TonNetwork.fromText(text)
  if (network === undefined) throw wrong(`network "${text}" is not a TON network`)
  const rpc = Effect.runSync(TonState.make({ url: rpcUrl, network, ...(apiKey !== undefined && { apiKey }) }))
  if ("signMessage" in signer && kind === "external") throw wrong("signMessage signs for w5-internal alone")
  const payer = "signMessage" in signer ? walletOf(signer, network) : keyOf(signer, network, options.subwallet, rpc)
  const jettons = TonJettons.make(rpc)
  return {
    scheme: ExactTon.scheme,
    network,
    asset: (requirements) => (requirements.asset === undefined ? undefined : table.find(network, requirements.asset)),
    objection: (requirements) => {
      const obstacle = ExactTon.termsOf(requirements)?.obstacle
      return obstacle && `the offer ${obstacle}, which this client does not sign`
    },
    sign: (request) => sign({ payer, jettons, kind, handedOn }, request)
  }
}

const wrong = (what: string) => new Misconfigured({ message: `exactTon.client: ${what}` })

const failed = (message: string) => Effect.fail(new SigningFailed({ message }))

/** The parts that payments are signed with. */
interface Signing {
  readonly payer: Payer
  readonly jettons: TonJettons.TonJettons
  readonly kind: ExactTon.Kind
  readonly handedOn: HandedOn | undefined
}

const sign = Effect.fnUntraced(function* (
  { handedOn, jettons, kind, payer }: Signing,
  request: SigningRequest
): Effect.fn.Return<SignedPayment, SigningFailed> {
  const { asset, binding, requirements, validBefore } = request
  const to = TonAddress.fromText(requirements.payTo)
  const master = TonAddress.fromText(asset.address)
  if (to === undefined || master === undefined)
    return yield* failed(`the offer's recipient "${requirements.payTo}" is not a TON address`)
  const terms = ExactTon.termsOf(requirements)
  if (terms === undefined || !terms.kinds.includes(kind))
    return yield* failed(`the offer does not take payments of the kind ${kind}`)
  if (terms.obstacle !== undefined) return yield* failed(`the offer ${terms.obstacle}`)
  const responseTo = kind === "external" ? payer.address : terms.responseDestination
  if (responseTo === undefined && !terms.takesSettlement)
    return yield* failed("the offer has no responseDestination: no facilitator would relay the payment")
  const jettonWallet = yield* Effect.mapError(jettons.walletOf(master, payer.address), chainUnavailable)
  const entropy = yield* Entropy
  const queryId = yield* binding
    ? ExactTon.boundQueryId(binding)
    : Effect.succeed(ExactTon.queryIdFrom(entropy.bytes(8)))
  const transfer: JettonTransfer.JettonTransfer = {
    queryId,
    amount: BigInt(requirements.maxAmountRequired),
    to,
    responseTo,
    ...(terms.emptyPayload !== undefined && { emptyPayload: terms.emptyPayload })
  }
  const most = terms.takesSettlement ? SettlementPayload.handedOn : usualHandedOn
  const value = handedOn ? yield* handedOn(asset) : terms.maxInnerTon < most ? terms.maxInnerTon : most
  const mode = handedOn ? 1 : kind === "external" || terms.takesSettlement ? 3 : 64
  const boc = yield* payer.sign({ kind, validUntil: validBefore, jettonWallet, transfer, value, mode })
  const signed = TonAuthorization.read({ kind, boc, from: payer.address }, terms)
  if (Result.isFailure(signed)) return yield* failed(`the wallet signed something else: ${signed.failure.message}`)
  if (!fulfils(signed.success, { jettonWallet, transfer, validUntil: validBefore }))
    return yield* failed("the wallet signed another transfer than the requested one")
  const message = terms.takesSettlement ? { settlementBoc: boc, asset: master } : { kind, boc, from: payer.address }
  const payload = { ...message, ...(binding && { binding: { ...binding } }) }
  return { payer: payer.address, nonce: signed.success.nonce, payload }
})

const chainUnavailable = (cause: unknown) =>
  new SigningFailed({ message: "the payer's wallet could not be read from the chain", cause })

/** Whether the wallet signed the order: the account of the unused TON is compared with the terms; it may shorten the validity and choose the mode, nothing else. */
const fulfils = (
  { jettonWallet, request, transfer }: TonAuthorization.TonAuthorization,
  order: Pick<Order, "jettonWallet" | "transfer" | "validUntil">
): boolean =>
  jettonWallet === order.jettonWallet &&
  transfer.amount === order.transfer.amount &&
  transfer.to === order.transfer.to &&
  transfer.queryId === order.transfer.queryId &&
  request.validUntil <= order.validUntil

/** A payer whose wallet makes the message itself. */
const walletOf = (signer: TonSigner.TonMessageSigner, network: Network): Payer => {
  const address = TonAddress.fromText(signer.address)
  if (address === undefined) throw wrong(`the signer's address "${signer.address}" is not a TON address`)
  return {
    address,
    sign: ({ jettonWallet, transfer, validUntil, value }) => {
      const payload = TonBoc.toBase64(JettonTransfer.toCell(transfer))
      const order = {
        valid_until: validUntil,
        network: `${TonNetwork.globalId(network)}`,
        from: address,
        messages: [{ address: jettonWallet, amount: `${value}`, payload }]
      }
      return Effect.tryPromise({
        try: async () => (await signer.signMessage(order)).internalBoc,
        catch: (cause) => new SigningFailed({ message: `the wallet of ${address} did not sign`, cause })
      })
    }
  }
}

/** A payer with a key: its W5 wallet. */
const keyOf = (
  signer: TonSigner.TonKeySigner,
  network: Network,
  subwallet: number | undefined,
  rpc: TonState.TonState
): Payer => {
  const key = TonSigner.fromKey(signer)
  if (key === undefined) throw wrong("the signer's keys are not 32 bytes of Ed25519 that belong together")
  const walletId = TonNetwork.walletId(network, subwallet)
  const address = TonWallet.w5Address(key.publicKey, walletId)
  const numberOf = Effect.fnUntraced(function* () {
    const account = yield* Effect.mapError(rpc.account(address), chainUnavailable)
    if (account.state === "frozen") return yield* failed(`the wallet ${address} is frozen`)
    if (account.code === undefined || account.data === undefined)
      return { seqno: 0, init: TonWallet.w5Init(key.publicKey, walletId) }
    const wallet = TonWallet.read(account.code, account.data)
    return wallet === undefined ? yield* failed(`the account ${address} is not a W5 wallet`) : { seqno: wallet.seqno }
  })
  return {
    address,
    sign: Effect.fnUntraced(function* (order) {
      const { init, seqno }: { readonly seqno: number; readonly init?: StateInit } = yield* numberOf()
      const unsigned = requestFor(order, walletId, seqno)
      const signature = yield* Effect.mapError(
        key.sign(unsigned.hash()),
        (cause) => new SigningFailed({ message: `the key of ${address} did not sign`, cause })
      )
      if (signature.length !== 64) return yield* failed(`the key of ${address} did not return a signature of 64 bytes`)
      const body = WalletRequest.signedW5(unsigned, signature)
      const message =
        order.kind === "external"
          ? TonMessage.external(address, body, init)
          : TonMessage.internal(address, 0n, body, init)
      return TonBoc.toBase64(message)
    })
  }
}

/** The request to sign. */
const requestFor = (order: Order, walletId: number, seqno: number) => {
  const { jettonWallet, kind, mode, transfer, validUntil, value } = order
  const message = TonMessage.internal(jettonWallet, mode === 64 ? 0n : value, JettonTransfer.toCell(transfer))
  const actions = WalletRequest.actionsOf([{ mode, message }])
  return WalletRequest.unsignedW5({ walletId, validUntil, seqno }, actions, kind === "external")
}
