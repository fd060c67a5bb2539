/** User operations of smart accounts as payments, built by viem and so independent of our own encoders. */
import { PaymentPayload, type PaymentRequest } from "@pontage/core"
import * as Effect from "effect/Effect"
import { type Address, encodeFunctionData, type Hex, pad, parseAbi } from "viem"
import type { SmartAccount } from "viem/account-abstraction"

import {
  deployBatchSettler,
  deployCounterfactualSettler,
  deployOpSettler,
  deployPaymentGuard,
  EvmHex,
  paymentGuardAddress
} from "../src/index.ts"
import { EvmTestChain, PlainToken, SmartAccountContracts, SmartAccounts, SwayingAccount } from "../src/testing/index.ts"
import * as Payment from "./EvmTestPayment.ts"

const chain = EvmTestChain.EvmTestChain

/** The chain's contracts, a token of USDT's shape, and the options of a facilitator that serves user operations in it. */
export const ready = Effect.gen(function* () {
  const one = yield* chain
  const contracts = yield* SmartAccountContracts.deploy(one)
  const deployment = { signer: one.accounts.deployer, rpcUrl: one.rpcUrl }
  yield* deployPaymentGuard(deployment)
  const counterfactualSettler = yield* deployCounterfactualSettler(deployment)
  const plain = yield* one.deploy(PlainToken)
  const implementation = yield* Effect.promise(() =>
    one.client.readContract({
      address: contracts.solady,
      abi: parseAbi(["function implementation() view returns (address)"]),
      functionName: "implementation"
    })
  )
  const options = {
    counterfactualSettler,
    knownFactories: [contracts.solady],
    knownImplementations: [implementation],
    userOperations: {},
    plain
  }
  return { contracts, plain, options }
})

export const mintPlain = Effect.fnUntraced(function* (token: Address, to: Address, value = 1_000_000n) {
  const { send } = yield* chain
  yield* send({ to: token, data: encodeFunctionData({ abi: PlainToken.abi, functionName: "mint", args: [to, value] }) })
})

export const guardAbi = parseAbi(["function check(uint256 validBefore, bytes32 tag) view"])
export const erc20Abi = parseAbi(["function transfer(address to, uint256 value)"])

/** The deviation of an operation from the good one. */
export interface OperationDeviation {
  readonly to?: Address
  readonly value?: bigint
  readonly validBefore?: bigint
  readonly key?: bigint
  readonly sequence?: bigint
  readonly calls?: ReadonlyArray<{ to: Address; data: Hex; value?: bigint }>
  readonly callData?: Hex
  readonly fields?: Readonly<Record<string, unknown>>
  readonly signed?: Readonly<Record<string, unknown>>
  readonly isGuarded?: boolean
  readonly binding?: PaymentPayload.RequestBinding
  readonly tag?: Hex
}

let lastKey = 0n

/** The calls of a payment, built by viem, independent of our own encoders. */
export const operationOf = Effect.fnUntraced(function* (
  account: SmartAccount,
  token: Address,
  deviation: OperationDeviation = {}
) {
  const { accounts, chainId } = yield* chain
  const { isGuarded = true, to = accounts.payee.address, value = 10_000n } = deviation
  const validBefore = deviation.validBefore ?? (yield* Payment.latestTime) + 60n
  const key = deviation.key ?? ++lastKey
  const tag = deviation.tag ?? pad(`0x${key.toString(16)}`)
  const check = encodeFunctionData({ abi: guardAbi, functionName: "check", args: [validBefore, tag] })
  const transfer = encodeFunctionData({ abi: erc20Abi, functionName: "transfer", args: [to, value] })
  const calls = deviation.calls ?? [
    ...(isGuarded ? [{ to: paymentGuardAddress as Address, data: check, value: 0n }] : []),
    { to: token, data: transfer, value: 0n }
  ]
  const { factory, factoryData } = yield* Effect.promise(() => account.getFactoryArgs())
  const operation = {
    sender: account.address,
    nonce: (key << 64n) | (deviation.sequence ?? 0n),
    ...(factory && factoryData && { factory, factoryData }),
    callData: deviation.callData ?? (yield* Effect.promise(() => account.encodeCalls(calls))),
    verificationGasLimit: factory ? 600_000n : 150_000n,
    callGasLimit: 150_000n,
    preVerificationGas: 0n,
    maxFeePerGas: 0n,
    maxPriorityFeePerGas: 0n,
    ...deviation.signed
  }
  const signature = yield* Effect.promise(() =>
    account.signUserOperation({ ...operation, chainId, signature: "0x" } as never)
  )
  return { ...operation, signature, ...deviation.fields }
})

export const request = Effect.fnUntraced(function* (
  account: SmartAccount,
  token: Address,
  deviation: OperationDeviation = {}
) {
  const { network } = yield* chain
  const operation = yield* operationOf(account, token, deviation)
  const json = {
    entryPoint: account.entryPoint.address,
    userOperation: Object.fromEntries(
      Object.entries(operation).map(([name, value]) => [name, typeof value === "bigint" ? `${value}` : value])
    ),
    ...(deviation.binding && { binding: deviation.binding })
  }
  const requirements = yield* Payment.requirements
  const made: PaymentRequest = {
    paymentPayload: PaymentPayload.sealPayload("exact", network, json),
    paymentRequirements: { ...requirements, asset: token }
  }
  return made
})

/** The scheme facilitator on the test chain, with the token of USDT's shape. */
export const schemeWith = Effect.fnUntraced(function* ({ plain, ...options }: Options) {
  return yield* Payment.schemeOf(yield* chain, options, [
    { network: (yield* chain).network, address: plain, symbol: "PUSD", decimals: 6 }
  ])
})

/** The options of a facilitator, and the token of USDT's shape that it serves. */
export type Options = Payment.FacilitatorOptions & { readonly plain: Address }

export const read = Effect.fnUntraced(function* (
  options: Options,
  account: SmartAccount,
  token: Address,
  deviation: OperationDeviation = {}
) {
  const schemeFacilitator = yield* schemeWith(options)
  const payment = yield* Payment.read(schemeFacilitator, yield* request(account, token, deviation))
  return { schemeFacilitator, payment }
})

export const receiptOf = (hash: string) =>
  Effect.flatMap(chain, ({ client }) =>
    Effect.promise(() => client.getTransactionReceipt({ hash: EvmHex.fromTrusted(hash) }))
  )

/** The settlers of batches. */
export const settlers = Effect.gen(function* () {
  const { accounts, rpcUrl } = yield* chain
  const deployment = { signer: accounts.deployer, rpcUrl }
  return {
    settler: yield* deployBatchSettler(deployment),
    operationSettler: yield* deployOpSettler(deployment)
  }
})

/** Verifies, sends, and says how it ended, what the payee got and what it cost. */
export const paid = Effect.fnUntraced(function* (
  options: Options,
  account: SmartAccount,
  token: Address,
  deviation: OperationDeviation = {},
  meanwhile: Effect.Effect<void, never, EvmTestChain.EvmTestChain> = Effect.void
) {
  const { accounts, balanceOf } = yield* chain
  const { payment, schemeFacilitator } = yield* read(options, account, token, deviation)
  const before = yield* balanceOf(accounts.payee.address, token)
  yield* schemeFacilitator.verify(payment)
  const prepared = yield* Payment.prepareAlone(schemeFacilitator, payment)
  yield* meanwhile
  const end = yield* Payment.sendAlone(schemeFacilitator, payment, prepared)
  const { gasUsed } = yield* receiptOf(prepared.transaction)
  return { end: end._tag, received: (yield* balanceOf(accounts.payee.address, token)) - before, gasUsed }
})

/** The outcome of a verification. */
export const verdict = (options: Options, account: SmartAccount, token: Address, deviation: OperationDeviation = {}) =>
  Payment.outcome(
    Effect.flatMap(read(options, account, token, deviation), ({ payment, schemeFacilitator }) =>
      schemeFacilitator.verify(payment)
    )
  )

export const simpleOf = Effect.fnUntraced(function* (plain: Address, salt: bigint, version: "0.7" | "0.8" = "0.8") {
  const one = yield* chain
  const account = yield* Effect.promise(() => SmartAccounts.simple(one, one.accounts.payers[0], version, salt))
  yield* mintPlain(plain, account.address)
  return account
})

/** An account of this code, deployed, that any signature satisfies. */
export const swaying = Effect.fnUntraced(function* (plain: Address, mode: number, fact: bigint) {
  const one = yield* chain
  const address = yield* one.deploy(SwayingAccount, [BigInt(mode), fact])
  yield* mintPlain(plain, address)
  const simple = yield* simpleOf(plain, 99n)
  const account: SmartAccount = {
    ...simple,
    address,
    getFactoryArgs: async () => ({ factory: undefined, factoryData: undefined }),
    signUserOperation: async () => "0x1234"
  }
  return account
})

/** Sends a transaction of the account, by its owner, the payer at this place, through a call of its own; returns its gas. */
export const byOwner = (account: SmartAccount, to: Address, data: Hex, place = 0) =>
  Effect.gen(function* () {
    const { accounts, request: ask, send } = yield* chain
    const owner = accounts.payers[place] ?? (yield* Effect.die(`there is no payer ${place}`))
    yield* ask("anvil_setBalance", [owner.address, "0xde0b6b3a7640000"])
    yield* ask("anvil_impersonateAccount", [owner.address])
    const execute = parseAbi(["function execute(address target, uint256 value, bytes data)"])
    const call = encodeFunctionData({ abi: execute, args: [to, 0n, data] })
    const receipt = yield* send({ from: owner.address, to: account.address, data: call, gas: 300_000n })
    if (receipt.status !== "success") return yield* Effect.die("the owner's transaction reverted")
    return receipt.gasUsed
  })
