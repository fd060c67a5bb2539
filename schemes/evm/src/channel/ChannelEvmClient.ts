/**
 * The scheme client of `batch-settlement` on EVM: it opens channels by signed deposits, and signs a voucher for each request. The
 * core keeps the books and the limits; the node says where a channel stands.
 */
import {
  type Asset,
  ChannelPurchase,
  type ChannelSigner,
  Misconfigured,
  type OwnPurchase,
  type PaymentRequired,
  SigningFailed
} from "@pontage/core"
import { Entropy } from "@pontage/core/Entropy"
import * as OptionCheck from "@pontage/core/OptionCheck"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

import * as EvmTokenState from "../evidence/EvmTokenState.ts"
import * as EvmRpc from "../node/EvmRpc.ts"
import * as EvmAddress from "../primitives/EvmAddress.ts"
import * as EvmHex from "../primitives/EvmHex.ts"
import * as EvmNetwork from "../primitives/EvmNetwork.ts"
import * as EvmAsset from "../transfer/EvmAsset.ts"
import * as ChannelConfig from "../voucher/ChannelConfig.ts"
import * as ChannelContract from "../voucher/ChannelContract.ts"
import * as ChannelDeposit from "../voucher/ChannelDeposit.ts"
import * as ChannelPayload from "../voucher/ChannelPayload.ts"
import * as ChannelState from "../voucher/ChannelState.ts"
import * as Voucher from "../voucher/Voucher.ts"
import { type EvmSigner, signatureOf } from "../wallet/EvmSigner.ts"
import * as ChannelOffer from "./ChannelOffer.ts"
import * as ChannelReading from "./ChannelReading.ts"

/** Options of `channelEvm.client`. */
export interface ClientOptions {
  /** The payer's account without code: a viem account, `EvmSigner.fromEip1193(...)`, or `exactEvm.localSigner(...)`. It signs the deposits. */
  readonly signer: EvmSigner
  /** The key that signs the vouchers; `signer` signs only deposits then. Default `signer`. */
  readonly voucherSigner?: EvmSigner
  /** `eip155:<chain id>`, or a name such as `base`. */
  readonly network: string
  /** A node of the network, which says where a channel stands. */
  readonly rpcUrl: string
  /** Tokens to pay in beside the known ones; they need transfer authorizations (EIP-3009). */
  readonly assets?: ReadonlyArray<EvmAsset.CustomAsset>
  /** The requests that a deposit is made for, within the limits; default 10. A shop may want more. */
  readonly requestsPerDeposit?: number
  /** The longest delay of withdrawals without the shop that is accepted, in seconds; default 604 800, a week. */
  readonly maximumWithdrawDelay?: number
  /** Tells channels of the same terms apart, 32 bytes in hexadecimal; default zero, so that a lost journal loses no channel. */
  readonly salt?: string
}

const signerCheck = OptionCheck.having<EvmSigner>(
  "a signer, such as exactEvm.localSigner(privateKey) or a viem account",
  "address",
  "signTypedData"
)

const check = OptionCheck.options<ClientOptions>({
  signer: signerCheck,
  voucherSigner: OptionCheck.optional(signerCheck),
  network: OptionCheck.setting('a network such as "eip155:8453" or "base"'),
  rpcUrl: OptionCheck.nodeUrl(EvmNetwork.nodeExample),
  assets: OptionCheck.optional(EvmAsset.check),
  requestsPerDeposit: OptionCheck.optional(OptionCheck.whole(1, 1_000_000)),
  maximumWithdrawDelay: OptionCheck.optional(
    OptionCheck.whole(ChannelContract.minimumWithdrawDelay, ChannelContract.maximumWithdrawDelay)
  ),
  salt: OptionCheck.optional(OptionCheck.given("32 bytes in hexadecimal", (text) => EvmHex.isBytes32(text)))
})

const noSalt = `0x${"0".repeat(64)}` as const
const defaultRequests = 10
const defaultDelay = 604_800

/** Makes the scheme client. Throws `Misconfigured` for an invalid option. */
export const client = (options: ClientOptions): OwnPurchase.PurchasingClient => {
  const given = Result.getOrThrow(OptionCheck.read(check, options, "channelEvm.client"))
  const { requestsPerDeposit = defaultRequests, rpcUrl, signer, voucherSigner = signer } = given
  const table = Result.getOrThrow(EvmAsset.table(given.assets ?? []))
  const network = EvmNetwork.fromText(given.network)
  if (network === undefined) {
    throw new Misconfigured({ message: `channelEvm.client: network: "${given.network}" ${EvmNetwork.fault}` })
  }
  const payer: ChannelOffer.Payer = {
    payer: addressOf(signer, "signer"),
    payerAuthorizer: addressOf(voucherSigner, "voucherSigner"),
    salt: given.salt !== undefined && EvmHex.isBytes32(given.salt) ? given.salt : noSalt,
    maximumWithdrawDelay: given.maximumWithdrawDelay ?? defaultDelay
  }
  const chainId = EvmNetwork.chainId(network)
  const keys: Keys = { ...payer, chainId, signer, voucherSigner }
  const channels: ChannelSigner.ChannelSigner = {
    channelOf: (requirements, asset) => {
      const config = ChannelOffer.configOf(requirements, asset, payer)
      if (typeof config === "string") return undefined
      return {
        id: ChannelConfig.id(chainId, config),
        terms: ChannelConfig.onWire(config),
        withdrawDelay: config.withdrawDelay,
        leastDeposit: ChannelOffer.leastDeposit(requirements),
        wantedDeposit: BigInt(requirements.maxAmountRequired) * BigInt(requestsPerDeposit)
      }
    },
    read: (channelId, deposit) => read(keys, rpcUrl, network, channelId, deposit),
    sign: (draw) => sign(keys, draw),
    signRefund: (refund) => signRefund(keys, refund),
    chargeOf,
    correctionOf: (required, channelId) => correctionOf(keys, required, channelId)
  }
  return {
    scheme: ChannelOffer.scheme,
    network,
    asset: ({ asset, network: offered }) =>
      asset === undefined || EvmNetwork.fromText(offered) !== network ? undefined : table.find(network, asset),
    objection: (requirements, asset) => ChannelOffer.objection(requirements, asset, payer),
    sign: () => Effect.fail(new SigningFailed({ message: "a channel is paid through by its own steps alone" })),
    purchase: ChannelPurchase.make(channels)
  }
}

const addressOf = ({ address, operations }: EvmSigner, option: string): EvmAddress.Address => {
  const account = EvmAddress.fromText(address)
  if (account === undefined || account === EvmAddress.zero) {
    throw new Misconfigured({ message: `channelEvm.client: ${option}: "${address}" is not an account's address` })
  }
  if (operations === undefined) return account
  const message = `channelEvm.client: ${option}: a smart account signs no vouchers; give an account without code`
  throw new Misconfigured({ message })
}

const read = Effect.fnUntraced(function* (
  keys: Keys,
  url: string,
  network: string,
  id: string,
  deposit: ChannelSigner.SentDeposit | undefined
): Effect.fn.Return<ChannelSigner.ChannelStanding, SigningFailed> {
  const reading = Effect.gen(function* () {
    const rpc = yield* EvmRpc.make({ url, network })
    const chainId = yield* rpc.chainId
    if (EvmNetwork.fromChainId(chainId) !== network) {
      return yield* new SigningFailed({ message: `rpcUrl is a node of eip155:${chainId}; expected ${network}` })
    }
    const found = yield* ChannelReading.read(rpc, EvmHex.fromTrusted(id))
    const isDepositOver = deposit && (yield* isOver(keys, rpc, deposit, found.block.number))
    return { ...found, ...(isDepositOver !== undefined && { isDepositOver }) }
  })
  const { balance, block, claimed, isDepositOver, withdrawal } = yield* Effect.catchTags(reading, {
    ChainUnavailable: (cause) => unread(network, cause),
    Misconfigured: (cause) => unread(network, cause)
  })
  const standing = { balance, claimed, isClosing: withdrawal !== undefined, time: block.time }
  return { ...standing, ...(isDepositOver !== undefined && { isDepositOver }) }
})

/** Whether the token shows the authorization of a deposit as used as of a block; `undefined` for a deposit that cannot be read. */
const isOver = Effect.fnUntraced(function* (
  { chainId }: Keys,
  rpc: EvmRpc.Shape,
  { amount, signed, terms }: ChannelSigner.SentDeposit,
  block: bigint
) {
  const config = Option.getOrUndefined(decodeConfig(terms))
  const parts = Option.getOrUndefined(decodeDeposit(signed))
  if (config === undefined || parts === undefined) return undefined
  const { payer, token } = config
  const authorization = ChannelDeposit.authorization(ChannelConfig.id(chainId, config), payer, amount, parts)
  return yield* EvmTokenState.hasEnded(rpc, { authorization, token }, block)
})

const unread = (network: string, cause: { readonly message: string }) =>
  Effect.fail(
    new SigningFailed({
      message: `the payment channel cannot be read on ${network}, so nothing was signed: ${cause.message}`,
      cause
    })
  )

interface Keys extends ChannelOffer.Payer {
  readonly chainId: number
  readonly signer: EvmSigner
  readonly voucherSigner: EvmSigner
}

const decodeConfig = Schema.decodeUnknownOption(ChannelConfig.ChannelConfig)
const decodeDeposit = Schema.decodeUnknownOption(ChannelDeposit.Erc3009Deposit)

/** Signs a voucher for the terms of a channel, in the payload's common part. */
const signVoucher = Effect.fnUntraced(function* (
  { chainId, voucherSigner }: Keys,
  { terms }: ChannelSigner.Channel,
  maxClaimableAmount: bigint
) {
  const config = Option.getOrUndefined(decodeConfig(terms))
  if (config === undefined) return yield* new SigningFailed({ message: "the channel's terms cannot be read" })
  const ceiling = { channelId: ChannelConfig.id(chainId, config), maxClaimableAmount }
  const signature = yield* signatureOf(voucherSigner, Voucher.typedData(chainId, ceiling))
  const voucher = { ...ceiling, signature }
  // The contract accepts one form of signatures, and a shop that does not look would serve for a voucher that it cannot claim.
  if (Voucher.check(chainId, voucher, config.payerAuthorizer) !== "valid") {
    return yield* new SigningFailed({
      message: `the wallet of ${voucherSigner.address} signed the voucher in another form than the contract accepts (65 bytes, s in the lower half, v 27 or 28), or with another key`
    })
  }
  return { config, voucher, common: ChannelPayload.channelOnWire(config, voucher) }
})

const sign = Effect.fnUntraced(function* (
  keys: Keys,
  { asset, ceiling, channel, deposit, ends = false, follows }: ChannelSigner.DrawRequest
): Effect.fn.Return<ChannelSigner.SignedDraw, SigningFailed> {
  const { common: signed, config, voucher } = yield* signVoucher(keys, channel, ceiling)
  const payer = EvmAddress.checksum(keys.payer)
  const common = { ...signed, ...(follows && { follows }), ...(ends && { ends }) }
  if (deposit === undefined) return { payer, payload: { type: "voucher", ...common }, deposit: undefined }
  const erc3009Authorization =
    deposit._tag === "Signed"
      ? deposit.signed
      : yield* signDeposit(keys, asset, config, { ...deposit, channelId: voucher.channelId })
  if (Option.isNone(decodeDeposit(erc3009Authorization))) {
    return yield* new SigningFailed({ message: "the deposit that was signed before cannot be read" })
  }
  const payload = {
    type: "deposit",
    ...common,
    deposit: { amount: `${deposit.amount}`, authorization: { erc3009Authorization } }
  }
  return { payer, payload, deposit: erc3009Authorization }
})

const signDeposit = Effect.fnUntraced(function* (
  { signer }: Keys,
  asset: Asset,
  { payer }: ChannelConfig.ChannelConfig,
  {
    amount,
    channelId,
    validBefore
  }: { readonly amount: bigint; readonly channelId: EvmHex.Hex; readonly validBefore: number }
) {
  const salt = EvmHex.fromBytes((yield* Entropy).bytes(32))
  const terms = { salt, validAfter: 0n, validBefore: BigInt(validBefore) }
  const authorization = ChannelDeposit.authorization(channelId, payer, amount, terms)
  const typed = ChannelDeposit.receiveTypedData(EvmAsset.domain(asset), authorization)
  const signature = yield* signatureOf(signer, typed)
  return { validAfter: "0", validBefore: `${validBefore}`, salt, signature }
})

const signRefund = Effect.fnUntraced(function* (
  keys: Keys,
  { amount, channel, charged }: ChannelSigner.RefundRequest
): Effect.fn.Return<ChannelSigner.SignedDraw, SigningFailed> {
  const { common } = yield* signVoucher(keys, channel, charged)
  const payload = { type: "refund", ...common, ...(amount !== undefined && { amount: `${amount}` }) }
  return { payer: EvmAddress.checksum(keys.payer), payload, deposit: undefined }
})

const decodeReceipt = Schema.decodeUnknownOption(ChannelState.ReceiptTerms)
const decodeCorrection = Schema.decodeUnknownOption(ChannelState.Correction)

const chargeOf: ChannelSigner.ChannelSigner["chargeOf"] = (extra, channelId) => {
  const terms = Option.getOrUndefined(decodeReceipt(extra))
  return terms?.channelState.channelId === channelId ? terms.chargedAmount : undefined
}

/** A refusal that only says that claims have passed the voucher. */
const passed = /(?:^|_)cumulative_below_claimed$/

const correctionOf = (
  { chainId, payerAuthorizer }: Keys,
  { accepts, detail }: PaymentRequired.PaymentRequired,
  channelId: string
): ChannelSigner.Correction | undefined => {
  for (const { extra } of accepts) {
    const terms = Option.getOrUndefined(decodeCorrection(extra))
    if (terms?.channelState.channelId !== channelId) continue
    const { channelState, voucherState } = terms
    const voucher = voucherState && {
      channelId: channelState.channelId,
      maxClaimableAmount: voucherState.signedMaxClaimable,
      signature: voucherState.signature
    }
    const isOurs = voucher !== undefined && Voucher.check(chainId, voucher, payerAuthorizer) === "valid"
    return {
      charged: channelState.chargedCumulativeAmount ?? channelState.totalClaimed,
      proven: isOurs ? voucher.maxClaimableAmount : undefined
    }
  }
  return detail !== undefined && passed.test(detail) ? { charged: undefined, proven: undefined } : undefined
}
