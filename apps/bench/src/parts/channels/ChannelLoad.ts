/**
 * Funded payment channels on a test chain, and signed requests that draw on them. A key of its own signs the vouchers of all channels, by
 * the fastest cryptography, so that thousands are signed in a second.
 */
import { Network, PaymentPayload, type PaymentRequest, type PaymentRequirements } from "@pontage/core"
import {
  ChannelCall,
  ChannelConfig,
  ChannelContract,
  ChannelDeposit,
  EvmAddress,
  type EvmCrypto,
  EvmHex,
  Voucher
} from "@pontage/evm"
import { ChannelContracts, type EvmTestChain } from "@pontage/evm/testing"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { privateKeyToAccount } from "viem/accounts"

import { sign } from "./VoucherSigning.ts"

/** The price of a draw, in the token's smallest unit. */
export const price = 100n

/** Each channel's deposit: enough for ten thousand draws. */
const deposit = 1_000_000n

/** Deposits in one transaction. */
const together = 40

const voucherKey = new Uint8Array(32).fill(7)

/** Funded channels, and the requests that draw on them. */
export interface ChannelLoad {
  /** The request for the draw number `turn`, counted from 0, of a channel. */
  readonly request: (channel: number, turn: number) => PaymentRequest
  /** The message of a payer with a voucher of a channel for a sum. */
  readonly payload: (channel: number, maximum: bigint) => VoucherMessage
}

/** A voucher as it travels. */
export interface VoucherMessage {
  readonly type: "voucher"
  readonly channelConfig: ReturnType<typeof ChannelConfig.onWire>
  readonly voucher: ReturnType<typeof Voucher.onWire>
}

/** Opens channels whose claims the chain's third signer authorizes. Channels of other loads on the chain have other salts. */
export const make = Effect.fnUntraced(function* (
  chain: EvmTestChain.Shape,
  count: number,
  crypto: EvmCrypto.Shape,
  firstSalt = 0
) {
  yield* ChannelContracts.deploy(chain)
  const configs = Array.from({ length: count }, (_, index) => configOf(chain, firstSalt + index))
  for (let from = 0; from < count; from += together) {
    const calls = yield* Effect.forEach(configs.slice(from, from + together), (config) => depositOf(chain, config))
    const data = ChannelCall.multicall(calls)
    const { status } = yield* chain.send({ to: ChannelContract.address, data, gas: 8_000_000n })
    if (status !== "success") return yield* Effect.die("the channels' deposits failed")
  }
  const requirements = configs.map((config) => requirementsOf(chain, config))
  const write = vouchersOf(templateOf(chain), crypto)
  const payload: ChannelLoad["payload"] = (channel, maximum) => write(firstSalt + channel, maximum)
  return {
    payload,
    request: (channel, turn) => {
      const paymentRequirements = requirements[channel] ?? missing(channel)
      const { network, scheme } = paymentRequirements
      const signed = payload(channel, price * BigInt(turn + 1))
      return { paymentPayload: PaymentPayload.sealPayload(scheme, network, signed), paymentRequirements }
    }
  } satisfies ChannelLoad
})

/** The terms that a load's channels share, as JSON carries them. */
export const Template = Schema.Struct({ chainId: Schema.Number, config: ChannelConfig.ChannelConfig })
type Template = typeof Template.Type

/** The terms of the channels on a chain. */
export const templateOf = (chain: EvmTestChain.Shape): Template => ({
  chainId: chain.chainId,
  config: configOf(chain, 0)
})

/** Writes the vouchers of channels by their salts. */
export const vouchersOf =
  ({ chainId, config: template }: Template, crypto: EvmCrypto.Shape) =>
  (salt: number, maximum: bigint): VoucherMessage => {
    const config = { ...template, salt: saltOf(salt) }
    const ceiling = { channelId: ChannelConfig.id(chainId, config), maxClaimableAmount: maximum }
    const voucher = Voucher.onWire(sign(chainId, ceiling, voucherKey, crypto))
    return { type: "voucher", channelConfig: ChannelConfig.onWire(config), voucher }
  }

const saltOf = (salt: number): EvmHex.Hex => `0x${EvmHex.toWord(salt)}`

const missing = (channel: number): never => {
  throw new Error(`there is no channel ${channel}`)
}

const addressOf = (text: string): EvmAddress.Address => EvmAddress.fromText(text) ?? EvmAddress.zero

const configOf = ({ accounts, token }: EvmTestChain.Shape, salt: number): ChannelConfig.ChannelConfig => ({
  payer: addressOf(accounts.payers[0].address),
  payerAuthorizer: addressOf(privateKeyToAccount(EvmHex.fromBytes(voucherKey)).address),
  receiver: addressOf(accounts.payee.address),
  receiverAuthorizer: addressOf(accounts.signers[2].address),
  token: addressOf(token.address),
  withdrawDelay: 86_400,
  salt: saltOf(salt)
})

const depositOf = (
  { accounts, chainId, token: { address, name, version } }: EvmTestChain.Shape,
  config: ChannelConfig.ChannelConfig
) =>
  Effect.promise(async () => {
    const terms = { salt: config.salt, validAfter: 0n, validBefore: 2n ** 40n }
    const id = ChannelConfig.id(chainId, config)
    const authorization = ChannelDeposit.authorization(id, config.payer, deposit, terms)
    const domain = { name, version, chainId, verifyingContract: addressOf(address) }
    const signature = await accounts.payers[0].signTypedData(ChannelDeposit.receiveTypedData(domain, authorization))
    const data = ChannelCall.erc3009Data({ ...terms, signature })
    return ChannelCall.deposit(config, deposit, ChannelContract.erc3009Collector, data)
  })

const requirementsOf = (
  { chainId, token: { address, name, version } }: EvmTestChain.Shape,
  config: ChannelConfig.ChannelConfig
): PaymentRequirements.PaymentRequirements => {
  const { receiver, receiverAuthorizer, withdrawDelay } = ChannelConfig.onWire(config)
  return {
    scheme: "batch-settlement",
    network: Network.make(`eip155:${chainId}`),
    maxAmountRequired: `${price}`,
    resource: "https://shop.example/report",
    payTo: receiver,
    maxTimeoutSeconds: 3_600,
    asset: address,
    extra: { name, version, receiverAuthorizer, withdrawDelay }
  }
}
