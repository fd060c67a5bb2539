/**
 * Requests to a facilitator of channels in this process: the messages of a payer and of a shop, by the chain's own accounts. The shop is
 * the chain's first signer and holds its own authorizer's key; the facilitator sends from the second and lends the key of the third.
 */
import {
  Facilitator,
  LocalFacilitator,
  PaymentPayload,
  type PaymentRequest,
  type PaymentRequirements
} from "@pontage/core"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

import { channelEvm, EvmNetwork } from "../../src/index.ts"
import { ChannelContracts, type EvmTestAccounts, EvmTestChain } from "../../src/testing/index.ts"
import * as ChannelConfig from "../../src/voucher/ChannelConfig.ts"
import * as ChannelDeposit from "../../src/voucher/ChannelDeposit.ts"
import * as ChannelRefund from "../../src/voucher/ChannelRefund.ts"
import * as ClaimBatch from "../../src/voucher/ClaimBatch.ts"
import * as Voucher from "../../src/voucher/Voucher.ts"
import * as TestChannel from "../voucher/TestChannel.ts"
import * as TestEscrow from "../voucher/TestEscrow.ts"

type Chain = EvmTestChain.Shape
type Account = EvmTestAccounts.TestAccount
type Config = ChannelConfig.ChannelConfig

/** The options of the facilitator on a chain. */
export const optionsOf = (chain: Chain): Parameters<typeof channelEvm.facilitator>[0] => ({
  signer: chain.accounts.signers[1],
  rpcUrl: chain.rpcUrl,
  authorizer: { signer: chain.accounts.signers[2] }
})

/** The facilitator, with its records in memory, on a chain with the contracts. */
export const layer = (
  change: { readonly authorizer?: undefined; readonly finalityDepth?: number; readonly minimumPrice?: string } = {},
  local: { readonly settleTimeoutMillis?: number; readonly drainMillis?: number } = {}
) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const chain = yield* EvmTestChain.EvmTestChain
      yield* ChannelContracts.deploy(chain)
      const { authorizer, ...rest } = optionsOf(chain)
      const { authorizer: _, ...given } = change
      const bare = { ...rest, ...given }
      const options = "authorizer" in change || authorizer === undefined ? bare : { ...bare, authorizer }
      return LocalFacilitator.layerMemory({ schemes: [channelEvm.facilitator(options)], ...local })
    })
  )

/** A channel of a payer to the shop whose claims the facilitator's key authorizes. */
export const lentConfig = (chain: Chain, payer: Account, salt = 0): Config =>
  TestEscrow.configOf(chain, payer, {
    receiverAuthorizer: TestChannel.address(chain.accounts.signers[2].address),
    salt: TestChannel.word(salt)
  })

/** The offer that a channel's requests are for. */
export const offerOf = (chain: Chain, config: Config, amount = 1_000n): PaymentRequirements.PaymentRequirements => ({
  scheme: "batch-settlement",
  network: EvmNetwork.fromChainId(chain.chainId),
  maxAmountRequired: `${amount}`,
  resource: "https://shop.example/report",
  payTo: ChannelConfig.onWire(config).receiver,
  maxTimeoutSeconds: 3_600,
  asset: chain.token.address,
  extra: {
    name: chain.token.name,
    version: chain.token.version,
    receiverAuthorizer: ChannelConfig.onWire(config).receiverAuthorizer,
    withdrawDelay: config.withdrawDelay
  }
})

/** A request with any payload. */
export const requestOf = (chain: Chain, config: Config, payload: unknown): PaymentRequest => ({
  paymentPayload: PaymentPayload.sealPayload("batch-settlement", chain.network, payload),
  paymentRequirements: offerOf(chain, config)
})

/** A payer's voucher, as it travels. */
export const voucherOf = (chain: Chain, payer: Account, config: Config, maximum: bigint, chainId = chain.chainId) =>
  Effect.promise(async () => {
    const channelId = ChannelConfig.id(chain.chainId, config)
    const terms = { channelId, maxClaimableAmount: maximum }
    const signature = await payer.signTypedData(Voucher.typedData(chainId, terms))
    const texts: Readonly<Record<"channelId" | "maxClaimableAmount" | "signature", string>> = {
      channelId,
      maxClaimableAmount: `${maximum}`,
      signature
    }
    return texts
  })

/** A payer's deposit with its first voucher, as it travels. */
export const depositOf = Effect.fnUntraced(function* (
  chain: Chain,
  payer: Account,
  config: Config,
  amount: bigint,
  maximum: bigint,
  salt = 1
) {
  const now = Math.floor((yield* Clock.currentTimeMillis) / 1000)
  const terms = { salt: TestChannel.word(salt), validAfter: 0n, validBefore: BigInt(now + 3_000) }
  const { name, version } = chain.token
  const domain = { name, version, chainId: chain.chainId, verifyingContract: config.token }
  const id = ChannelConfig.id(chain.chainId, config)
  const authorization = ChannelDeposit.authorization(id, config.payer, amount, terms)
  const signature: string = yield* Effect.promise(() =>
    payer.signTypedData(ChannelDeposit.receiveTypedData(domain, authorization))
  )
  return {
    type: "deposit",
    channelConfig: ChannelConfig.onWire(config),
    voucher: yield* voucherOf(chain, payer, config, maximum),
    deposit: {
      amount: `${amount}`,
      authorization: {
        erc3009Authorization: {
          validAfter: "0",
          validBefore: `${terms.validBefore}`,
          salt: terms.salt,
          signature
        }
      }
    }
  }
})

/** Opens a channel through the facilitator. */
export const opened = Effect.fnUntraced(function* (chain: Chain, payer: Account, config: Config, amount: bigint) {
  const facilitator = yield* Facilitator
  const payload = yield* depositOf(chain, payer, config, amount, 1_000n)
  // A slow machine may need longer than one call waits.
  return yield* Effect.retry(facilitator.settle(requestOf(chain, config, payload)), {
    while: ({ _tag }) => _tag === "SettlementPending"
  })
})

/** A shop's claim; signed by the shop's own key where `by` is given. */
export const claimOf = Effect.fnUntraced(function* (
  chain: Chain,
  rows: ReadonlyArray<ClaimBatch.ClaimRow>,
  by?: Account
) {
  const entries = rows.map((row) => ClaimBatch.entry(chain.chainId, row))
  const signature = by && (yield* Effect.promise(() => by.signTypedData(ClaimBatch.typedData(chain.chainId, entries))))
  return {
    type: "claim",
    claims: rows.map((row) => ClaimBatch.onWire(row)),
    ...(signature !== undefined && { claimAuthorizerSignature: signature })
  }
})

/** A shop's request to be paid out. */
export const payoutOf = (chain: Chain, config: Config) => ({
  type: "settle",
  receiver: ChannelConfig.onWire(config).receiver,
  token: chain.token.address
})

/** A shop's refund, behind the claim of a row; signed by the shop's own key where `by` is given. */
export const refundOf = Effect.fnUntraced(function* (
  chain: Chain,
  payer: Account,
  config: Config,
  terms: { readonly amount: bigint; readonly nonce: bigint },
  rows: ReadonlyArray<ClaimBatch.ClaimRow> = [],
  by?: Account
) {
  const channelId = ChannelConfig.id(chain.chainId, config)
  const data = ChannelRefund.typedData(chain.chainId, { channelId, ...terms })
  const signature = by && (yield* Effect.promise(() => by.signTypedData(data)))
  return {
    type: "refund",
    channelConfig: ChannelConfig.onWire(config),
    voucher: yield* voucherOf(chain, payer, config, 1_000n),
    amount: `${terms.amount}`,
    refundNonce: `${terms.nonce}`,
    claims: rows.map((row) => ClaimBatch.onWire(row)),
    ...(signature !== undefined && { refundAuthorizerSignature: signature })
  }
})
