/**
 * Channels on a test chain: terms of its accounts, signed deposits, vouchers and claims, and the contract's answer to a call.
 */
import * as Effect from "effect/Effect"
import { type Abi, type Address, decodeErrorResult, type Hex, parseAbi, RpcRequestError } from "viem"

import * as EvmHex from "../../src/primitives/EvmHex.ts"
import { Erc3009Collector } from "../../src/testing/artifacts/Erc3009Collector.ts"
import { Permit2Collector } from "../../src/testing/artifacts/Permit2Collector.ts"
import { ChannelSettlement, type EvmTestAccounts, type EvmTestChain } from "../../src/testing/index.ts"
import * as ChannelCall from "../../src/voucher/ChannelCall.ts"
import * as ChannelConfig from "../../src/voucher/ChannelConfig.ts"
import * as ChannelContract from "../../src/voucher/ChannelContract.ts"
import * as ChannelDeposit from "../../src/voucher/ChannelDeposit.ts"
import type * as ClaimBatch from "../../src/voucher/ClaimBatch.ts"
import * as Voucher from "../../src/voucher/Voucher.ts"
import * as TestChannel from "./TestChannel.ts"

type Chain = EvmTestChain.Shape
type Account = EvmTestAccounts.TestAccount
type Config = ChannelConfig.ChannelConfig

/** One of the chain's payers, so that each test has its own. */
export const payerOf = ({ accounts: { payers } }: Chain, index: number): Account => {
  const payer = payers[index]
  if (payer === undefined) throw new Error(`The chain has no payer ${index}`)
  return payer
}

/** A channel of a payer to the chain's first signer, which also authorizes claims; 900 seconds to a withdrawal. */
export const configOf = (chain: Chain, payer: Account, change: Partial<Config> = {}): Config => {
  const receiver = TestChannel.address(chain.accounts.signers[0].address)
  return {
    payer: TestChannel.address(payer.address),
    payerAuthorizer: TestChannel.address(payer.address),
    receiver,
    receiverAuthorizer: receiver,
    token: TestChannel.address(chain.token.address),
    withdrawDelay: 900,
    salt: TestChannel.word(0),
    ...change
  }
}

/** The call that deposits, signed by the payer for the channel; valid for the chain's whole test. */
export const depositCall = (chain: Chain, payer: Account, config: Config, amount: bigint, salt = 1) =>
  Effect.promise(async () => {
    const { name, version } = chain.token
    const terms = { salt: TestChannel.word(salt), validAfter: 0n, validBefore: 2n ** 40n }
    const id = ChannelConfig.id(chain.chainId, config)
    const domain = { name, version, chainId: chain.chainId, verifyingContract: config.token }
    const authorization = ChannelDeposit.authorization(id, config.payer, amount, terms)
    const signature = await payer.signTypedData(ChannelDeposit.receiveTypedData(domain, authorization))
    const data = ChannelCall.erc3009Data({ ...terms, signature })
    return ChannelCall.deposit(config, amount, ChannelContract.erc3009Collector, data)
  })

/** A row of a claim, with the payer's voucher. */
export const rowOf = (chain: Chain, payer: Account, config: Config, ceiling: bigint, totalClaimed: bigint) =>
  Effect.promise(async (): Promise<ClaimBatch.ClaimRow> => {
    const terms = { channelId: ChannelConfig.id(chain.chainId, config), maxClaimableAmount: ceiling }
    const signature = await payer.signTypedData(Voucher.typedData(chain.chainId, terms))
    return { voucher: { channel: config, maxClaimableAmount: ceiling }, signature, totalClaimed }
  })

const errors: Abi = [
  ...ChannelSettlement.abi,
  ...Erc3009Collector.abi,
  ...Permit2Collector.abi,
  // Permit2's.
  ...parseAbi(["error InvalidSigner()"])
]

const revertOf = (cause: unknown): string => {
  let error = cause
  while (error instanceof Error && !(error instanceof RpcRequestError)) error = error.cause
  const data: unknown = error instanceof RpcRequestError ? error.data : undefined
  if (!EvmHex.isHex(data)) throw new Error("the node refused a call without a reason", { cause })
  const decoded = decodeErrorResult({ abi: errors, data })
  return decoded.errorName === "Error" ? String(decoded.args?.[0]) : decoded.errorName
}

/** The contract's answer to a call, which changes nothing: `accepted`, or the error's name or text. */
export const answer = (chain: Chain, from: Address, data: Hex, to: Address = ChannelContract.address) =>
  Effect.promise(() => chain.client.call({ account: from, to, data, gas: 2_000_000n }).then(() => "accepted", revertOf))

/** Sends a call of the channel contract by an account whose key the node may lack; dies where it reverts. */
export const send = Effect.fnUntraced(function* (chain: Chain, from: Address, data: Hex) {
  yield* chain.request("anvil_impersonateAccount", [from])
  yield* chain.setBalance(from, 10n ** 18n)
  const receipt = yield* chain.send({ from, to: ChannelContract.address, data, gas: 2_000_000n })
  return receipt.status === "success" ? receipt : yield* Effect.die(`reverted: ${yield* answer(chain, from, data)}`)
})

/** Opens a channel with a deposit. */
export const open = Effect.fnUntraced(function* (
  chain: Chain,
  payer: Account,
  config: Config,
  amount: bigint,
  salt = 1
) {
  return yield* send(chain, chain.accounts.deployer.address, yield* depositCall(chain, payer, config, amount, salt))
})

/** Balance and sum of claims of a channel. */
export const standing = (chain: Chain, config: Config) =>
  Effect.promise(async () => {
    const data = ChannelCall.channels(ChannelConfig.id(chain.chainId, config))
    const { data: returned = "0x" } = await chain.client.call({ to: ChannelContract.address, data })
    return ChannelCall.readPair(returned)
  })
