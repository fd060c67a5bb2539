/**
 * The messages about channels as payments of the engine: a deposit is the payer's payment, under the very nonce that its token uses up;
 * a claim, a settle and a refund move nothing of the payer's balance, and stand under the receiver and a name of their own.
 */
import { type Asset, type Authorization, type Network, type Payment, type PaymentRequirements } from "@pontage/core"
import * as Effect from "effect/Effect"

import type * as EvmTransferEvidence from "../evidence/EvmTransferEvidence.ts"
import * as EvmAddress from "../primitives/EvmAddress.ts"
import type * as EvmHex from "../primitives/EvmHex.ts"
import type * as Eip3009 from "../transfer/Eip3009.ts"
import * as ChannelConfig from "../voucher/ChannelConfig.ts"
import * as ChannelDeposit from "../voucher/ChannelDeposit.ts"
import type { ClaimRow } from "../voucher/ClaimBatch.ts"
import * as ChannelRefusal from "./ChannelRefusal.ts"
import * as JobPayload from "./JobPayload.ts"

/** A deposit by transfer authorization: its channel, and the authorization that the token uses up. */
export interface DepositJob {
  readonly kind: "deposit"
  readonly config: ChannelConfig.ChannelConfig
  readonly channelId: EvmHex.Hex
  readonly authorization: Eip3009.TransferWithAuthorization
  readonly salt: EvmHex.Hex
  readonly signature: EvmHex.Hex
}

/** A claim, signed by the receiver's authorizer. */
export interface ClaimJob {
  readonly kind: "claim"
  readonly rows: ReadonlyArray<ClaimRow>
  readonly signature: EvmHex.Hex
  readonly held: ReadonlyArray<JobPayload.Held>
}

/** A payout of all claims of a receiver in a token, of `upTo` at least. */
export interface SettleJob {
  readonly kind: "settle"
  readonly receiver: EvmAddress.Address
  readonly token: EvmAddress.Address
  readonly upTo: bigint
}

/** A refund, behind claims of the same channel. */
export interface RefundJob {
  readonly kind: "refund"
  readonly config: ChannelConfig.ChannelConfig
  readonly channelId: EvmHex.Hex
  readonly amount: bigint
  readonly nonce: bigint
  readonly signature: EvmHex.Hex
  readonly rows: ReadonlyArray<ClaimRow>
  readonly claimSignature: EvmHex.Hex | undefined
}

/** A message that is no job, or is not planned yet. */
export interface Unplanned {
  readonly kind: "message"
}

/** A job of a channel. */
export type ChannelJob = DepositJob | ClaimJob | SettleJob | RefundJob

/** A payment of this scheme: the job, and the message that it was read from. */
export interface ChannelWork {
  readonly message: JobPayload.JobPayload
  readonly job: ChannelJob | Unplanned
  readonly token: Asset
  /** The losses' memory of a payer's code: plain accounts alone deposit here, so it stays empty. */
  readonly cache: { readonly codeHash?: undefined }
}

/** A payment of this scheme. */
export type ChannelPayment = Payment<ChannelWork>

/** Seconds in a day: the longest validity of a job. */
const longest = 86_400

/** Reads a message or a job. The offer's token has to be configured, and all channels have to be the offer's. */
export const read = Effect.fnUntraced(function* (
  network: Network.Network,
  chainId: number,
  tokenOf: (network: string, text: string) => Asset | undefined,
  requirements: PaymentRequirements.PaymentRequirements,
  json: unknown
): Effect.fn.Return<ChannelPayment, ChannelRefusal.ChannelRefusal> {
  const message = yield* JobPayload.read(json)
  const token = requirements.asset === undefined ? undefined : tokenOf(network, requirements.asset)
  if (token === undefined) {
    const what = `channels in ${requirements.asset ?? "an unnamed asset"} on ${network} are not served here`
    return yield* ChannelRefusal.make("token_mismatch", what)
  }
  yield* sameParties(requirements, token, message)
  const { authorization, job } = yield* jobOf(chainId, token, message)
  return {
    requirements: {
      ...requirements,
      maxAmountRequired: `${authorization.amount}`,
      ...(job.kind !== "deposit" && { maxTimeoutSeconds: longest })
    },
    payload: { message, job, token, cache: {} },
    authorization
  }
})

/** Each channel pays the offer's payee in the offer's token: a caller's rights were judged by the offer alone. */
const sameParties = (
  { payTo }: PaymentRequirements.PaymentRequirements,
  token: Asset,
  message: JobPayload.JobPayload
): Effect.Effect<void, ChannelRefusal.ChannelRefusal> => {
  for (const [receiver, asset] of partiesOf(message)) {
    if (!EvmAddress.equals(payTo, receiver)) {
      const what = `a channel pays ${EvmAddress.checksum(receiver)}, the offer's payTo is ${payTo}`
      return Effect.fail(ChannelRefusal.make("receiver_mismatch", what))
    }
    if (!EvmAddress.equals(token.address, asset)) {
      const what = `a channel is in the token ${EvmAddress.checksum(asset)}, the offer in ${token.address}`
      return Effect.fail(ChannelRefusal.make("token_mismatch", what))
    }
  }
  return Effect.void
}

const partiesOf = (
  message: JobPayload.JobPayload
): ReadonlyArray<readonly [EvmAddress.Address, EvmAddress.Address]> => {
  if (message.type === "settle") return [[message.receiver, message.token]]
  const configs = [
    ...("channelConfig" in message ? [message.channelConfig] : []),
    ...("claims" in message && message.claims !== undefined ? message.claims.map(({ voucher }) => voucher.channel) : [])
  ]
  return configs.map(({ receiver, token }) => [receiver, token])
}

interface Read {
  readonly authorization: Authorization
  readonly job: ChannelJob | Unplanned
}

const jobOf = (
  chainId: number,
  token: Asset,
  message: JobPayload.JobPayload
): Effect.Effect<Read, ChannelRefusal.ChannelRefusal> => {
  switch (message.type) {
    case "deposit":
      return depositOf(chainId, token, message)
    case "voucher":
      return Effect.succeed(unplanned(message.channelConfig.payer, message.channelConfig.receiver, token))
    case "claim": {
      const { claimAuthorizerSignature: signature, claims: rows, job } = message
      const receiver = rows[0]?.voucher.channel.receiver ?? EvmAddress.zero
      return Effect.succeed(
        job === undefined || signature === undefined
          ? unplanned(receiver, receiver, token)
          : { authorization: ofReceiver(receiver, token, job), job: { kind: "claim", rows, signature, held: job.held } }
      )
    }
    case "settle": {
      const { job, receiver } = message
      return Effect.succeed(
        job === undefined
          ? unplanned(receiver, receiver, token)
          : {
              authorization: ofReceiver(receiver, token, job),
              job: { kind: "settle", receiver, token: message.token, upTo: job.upTo }
            }
      )
    }
    case "refund":
      return Effect.succeed(refundOf(chainId, token, message))
  }
}

const depositOf = (
  chainId: number,
  token: Asset,
  { channelConfig: config, deposit }: JobPayload.Deposit
): Effect.Effect<Read, ChannelRefusal.ChannelRefusal> => {
  const signed = deposit.authorization.erc3009Authorization
  if (signed === undefined) return Effect.fail(byErc3009Alone)
  const channelId = ChannelConfig.id(chainId, config)
  const authorization = ChannelDeposit.authorization(channelId, config.payer, deposit.amount, signed)
  return Effect.succeed({
    job: { kind: "deposit", config, channelId, authorization, salt: signed.salt, signature: signed.signature },
    authorization: {
      payer: EvmAddress.checksum(config.payer),
      payTo: EvmAddress.checksum(config.receiver),
      asset: token.address,
      amount: deposit.amount,
      nonce: authorization.nonce,
      validAfter: seconds(signed.validAfter),
      validBefore: seconds(signed.validBefore),
      binding: undefined
    }
  })
}

const byErc3009Alone = ChannelRefusal.make(
  "erc3009_authorization_required",
  "the deposit is signed for Permit2, and deposits by signature are transfer authorizations (ERC-3009) here; give deposit.authorization.erc3009Authorization, or send the deposit to the contract yourself and pay by vouchers"
)

const refundOf = (chainId: number, token: Asset, message: JobPayload.Refund): Read => {
  const { amount, channelConfig: config, claims: rows = [], job, refundNonce: nonce } = message
  const { claimAuthorizerSignature: claimSignature, refundAuthorizerSignature: signature } = message
  if (job === undefined || amount === undefined || nonce === undefined || signature === undefined) {
    // Its job changes the receiver's channels, as a claim does: both take the receiver's turn.
    return unplanned(config.receiver, config.receiver, token)
  }
  const channelId = ChannelConfig.id(chainId, config)
  return {
    authorization: ofReceiver(config.receiver, token, job),
    job: { kind: "refund", config, channelId, amount, nonce, signature, rows, claimSignature }
  }
}

/** The terms of a job that takes nothing of a payer's balance. */
const ofReceiver = (
  receiver: EvmAddress.Address,
  token: Asset,
  { id, until }: { readonly id: string; readonly until: number }
): Authorization => ({
  payer: EvmAddress.checksum(receiver),
  payTo: EvmAddress.checksum(receiver),
  asset: token.address,
  amount: 0n,
  nonce: id,
  validAfter: 0,
  validBefore: until,
  binding: undefined
})

/** The terms of a message that is no payment: its name is one that no job has. */
const unplanned = (payer: EvmAddress.Address, receiver: EvmAddress.Address, token: Asset): Read => ({
  job: { kind: "message" },
  authorization: {
    ...ofReceiver(receiver, token, { id: "", until: 0 }),
    payer: EvmAddress.checksum(payer)
  }
})

/** The transfer by which a token shows a deposit. */
export const transferOf = ({ authorization, config }: DepositJob): EvmTransferEvidence.ExpectedTransfer => ({
  token: config.token,
  authorization
})

/** A time beyond the safe integers becomes the largest safe integer: it never comes. */
const seconds = (time: bigint): number =>
  time > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(time)
