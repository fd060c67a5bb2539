/**
 * A payment channel of a test chain's first payer to its first signer, and the messages about it: the payer's deposit, and the shop's claim
 * and refund, as they travel.
 */
import { PaymentPayload, type PaymentRequest } from "@pontage/core"
import { ChannelConfig, ChannelDeposit, ClaimBatch, EvmAddress, EvmNetwork, Voucher } from "@pontage/evm"
import type { EvmTestChain } from "@pontage/evm/testing"
import * as Effect from "effect/Effect"

type Chain = EvmTestChain.Shape

const textOf = (address: EvmAddress.Address): string => EvmAddress.checksum(address)

const addressOf = (text: string): EvmAddress.Address => EvmAddress.fromText(text) ?? EvmAddress.zero

/** The deposit, and the ceiling of its voucher, in the smallest unit. */
export const amount = 50_000n

/** The offer of a channel's requests, in the words of this project. */
const offerOf = ({ chainId, token }: Chain, { receiver, receiverAuthorizer }: ChannelConfig.ChannelConfig) => ({
  scheme: "batch-settlement",
  network: EvmNetwork.fromChainId(chainId),
  maxAmountRequired: "1000",
  resource: "https://shop.example/report",
  payTo: textOf(receiver),
  maxTimeoutSeconds: 3_600,
  asset: token.address,
  extra: {
    name: token.name,
    version: token.version,
    receiverAuthorizer: textOf(receiverAuthorizer),
    withdrawDelay: 900
  }
})

/**
 * Signs the messages. `number` tells channels of one chain apart. `lent`: the authorizer of claims and refunds where it is not the shop,
 * whose signatures the facilitator adds. `payee`: the shop's address, by default the first signer's.
 */
export const make = (chain: Chain, lent?: string, number = 1, payee = chain.accounts.signers[0].address) =>
  Effect.promise(async () => {
    const { accounts, chainId, token } = chain
    const [payer] = accounts.payers
    const [shop] = accounts.signers
    const salt = `0x${number.toString(16).padStart(64, "0")}` as const
    const config: ChannelConfig.ChannelConfig = {
      payer: addressOf(payer.address),
      payerAuthorizer: addressOf(payer.address),
      receiver: addressOf(payee),
      receiverAuthorizer: addressOf(lent ?? shop.address),
      token: addressOf(token.address),
      withdrawDelay: 900,
      salt
    }
    const channelId = ChannelConfig.id(chainId, config)
    const ceiling = { channelId, maxClaimableAmount: amount }
    const voucher = { ...ceiling, signature: await payer.signTypedData(Voucher.typedData(chainId, ceiling)) }
    const { timestamp } = await chain.client.getBlock()
    const terms = { salt, validAfter: 0n, validBefore: timestamp + 3_000n }
    const domain = { name: token.name, version: token.version, chainId, verifyingContract: config.token }
    const authorization = ChannelDeposit.authorization(channelId, config.payer, amount, terms)
    const signature = await payer.signTypedData(ChannelDeposit.receiveTypedData(domain, authorization))
    const row = {
      voucher: { channel: config, maxClaimableAmount: amount },
      signature: voucher.signature,
      totalClaimed: amount - 10_000n
    }
    const batch = ClaimBatch.typedData(chainId, [ClaimBatch.entry(chainId, row)])
    const voucherOf = async (maxClaimableAmount: bigint) => {
      const signed = { channelId, maxClaimableAmount }
      const made = { ...signed, signature: await payer.signTypedData(Voucher.typedData(chainId, signed)) }
      return { type: "voucher", channelConfig: ChannelConfig.onWire(config), voucher: Voucher.onWire(made) }
    }
    const claimAuthorizerSignature = lent === undefined ? await shop.signTypedData(batch) : undefined
    return {
      chain,
      config,
      channelId,
      /** A voucher up to this maximum in all. */
      voucherOf,
      deposit: {
        type: "deposit",
        channelConfig: ChannelConfig.onWire(config),
        voucher: Voucher.onWire(voucher),
        deposit: {
          amount: `${amount}`,
          authorization: {
            erc3009Authorization: { validAfter: "0", validBefore: `${terms.validBefore}`, salt, signature }
          }
        }
      },
      claim: {
        type: "claim",
        claims: [ClaimBatch.onWire(row)],
        ...(claimAuthorizerSignature && { claimAuthorizerSignature })
      },
      refund: {
        type: "refund",
        channelConfig: ChannelConfig.onWire(config),
        voucher: Voucher.onWire(voucher),
        amount: "10000",
        refundNonce: "0",
        claims: [ClaimBatch.onWire(row)]
      }
    }
  })

type TestChannel = Effect.Success<ReturnType<typeof make>>

/** A message as a request to a facilitator in this process. */
export const request = ({ chain, config }: TestChannel, payload: unknown): PaymentRequest => ({
  paymentPayload: PaymentPayload.sealPayload("batch-settlement", chain.network, payload),
  paymentRequirements: offerOf(chain, config)
})

/** A message as the body of an x402 server's request; `payTo` is its payee if it names another than the channel's. */
export const body = ({ chain, config }: TestChannel, payload: unknown, payTo?: string) => {
  const { maxAmountRequired, resource, ...offer } = offerOf(chain, config)
  const accepted = { ...offer, amount: maxAmountRequired, ...(payTo !== undefined && { payTo }) }
  return {
    x402Version: 2,
    paymentPayload: { x402Version: 2, resource: { url: resource }, accepted, payload },
    paymentRequirements: accepted
  }
}
