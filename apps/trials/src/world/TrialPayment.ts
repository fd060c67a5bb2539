/**
 * Payments as a trial needs them: by the thousand, each a signed authorization (EIP-3009), user operation (ERC-4337) or transfer by Permit2, and the body of the request that
 * presents it. They are put together here by hand, so that the facilitator is judged by something else than our client.
 */
import { createHash } from "node:crypto"

import { paymentGuardAddress } from "@pontage/evm"
import { type EvmTestAccounts, Permit2Contracts } from "@pontage/evm/testing"
import { type Address, encodeFunctionData, type Hex, isAddress, parseAbi } from "viem"
import type { SmartAccount } from "viem/account-abstraction"

import type { JournalPayment } from "../audit/TrialJournal.ts"
import type { TrialRandom } from "./TrialRandom.ts"

/** Where payments are made: the network, the token and its EIP-712 domain. */
export interface Market {
  readonly network: string
  readonly chainId: number
  readonly token: { readonly address: Address; readonly name: string; readonly version: string }
}

/** The terms that are signed. */
export interface Terms {
  readonly payer: EvmTestAccounts.TestAccount
  readonly payTo: Address
  /** In the token's smallest unit. */
  readonly amount: bigint
  /** Unix seconds. */
  readonly validBefore: number
  /** Whether it is bound to a request (a challenge and a salt give its nonce). */
  readonly bound: boolean
}

/** A payment that was signed. */
export interface TrialPayment {
  readonly journal: JournalPayment
  readonly signature: Hex
  readonly validBefore: number
  /** The body of `POST /settle`, without a claim. */
  readonly body: Readonly<Record<string, unknown>>
}

/** Signs a payment; its nonce is drawn. */
export const sign = async (market: Market, terms: Terms, random: TrialRandom): Promise<TrialPayment> => {
  const { nonce, payload } = drawnNonce(terms, random)
  return authorized(market, terms, nonce, "TransferWithAuthorization", { payload })
}

/** A drawn nonce, and the part of a payload that binds it to a request, if it is bound. */
export const drawnNonce = ({ bound }: Pick<Terms, "bound">, random: TrialRandom) => {
  if (!bound) return { nonce: nonceOf(bytesOf(random, 24)), payload: {} }
  const binding = { challenge: "the-challenge-of-a-trial", salt: saltOf(random) }
  return { nonce: boundNonce(binding), payload: { binding } }
}

/** The parts of a payment beside its authorization: of its payload, and of its offer. */
export interface Beside {
  readonly payload: Readonly<Record<string, unknown>>
  readonly extra?: Readonly<Record<string, unknown>>
}

/** Signs the token's authorization (EIP-3009) of a payment under this nonce. */
export const authorized = async (
  market: Market,
  terms: Terms,
  nonce: Hex,
  primaryType: keyof typeof types,
  { extra, payload: beside }: Beside
): Promise<TrialPayment> => {
  const { amount, payTo, payer, validBefore } = terms
  const message = {
    from: payer.address,
    to: payTo,
    value: amount,
    validAfter: 0n,
    validBefore: BigInt(validBefore),
    nonce
  }
  const { address, name, version } = market.token
  const domain = { name, version, chainId: market.chainId, verifyingContract: address }
  const signature = await payer.signTypedData({ domain, types, primaryType, message })
  const authorization = { ...message, value: `${amount}`, validAfter: "0", validBefore: `${validBefore}` }
  return {
    journal: { payer: payer.address.toLowerCase(), nonce, payTo: payTo.toLowerCase(), amount },
    signature,
    validBefore,
    body: bodyOf(market, terms, { signature, authorization, ...beside }, extra)
  }
}

/** The terms that a smart account signs. */
export interface OperationTerms extends Omit<Terms, "payer"> {
  readonly account: SmartAccount
}

const guardAbi = parseAbi(["function check(uint256 validBefore, bytes32 tag) view"])
const tokenAbi = parseAbi(["function transfer(address to, uint256 value)"])

/** Signs a payment by a user operation of a deployed account; its nonce is drawn. */
export const signOperation = async (
  market: Market,
  terms: OperationTerms,
  random: TrialRandom
): Promise<TrialPayment> => {
  const { account, amount, payTo, validBefore } = terms
  const binding = terms.bound ? { challenge: "the-challenge-of-a-trial", salt: saltOf(random) } : undefined
  const tag = binding === undefined ? nonceOf(bytesOf(random, 24)) : boundNonce(binding)
  const check = encodeFunctionData({ abi: guardAbi, args: [BigInt(validBefore), tag] })
  const transfer = encodeFunctionData({ abi: tokenAbi, args: [payTo, amount] })
  if (!isAddress(paymentGuardAddress)) throw new Error("the payment guard has no address")
  const operation = {
    sender: account.address,
    nonce: BigInt(tag),
    callData: await account.encodeCalls([
      { to: paymentGuardAddress, data: check, value: 0n },
      { to: market.token.address, data: transfer, value: 0n }
    ]),
    verificationGasLimit: 100_000n,
    callGasLimit: 120_000n
  }
  const prices = { preVerificationGas: 0n, maxFeePerGas: 0n, maxPriorityFeePerGas: 0n }
  const { chainId } = market
  const signature = await account.signUserOperation({ ...operation, ...prices, chainId, signature: "0x" })
  const { callGasLimit, nonce, verificationGasLimit } = operation
  const userOperation = {
    ...operation,
    nonce: `${nonce}`,
    verificationGasLimit: `${verificationGasLimit}`,
    callGasLimit: `${callGasLimit}`,
    signature
  }
  const { address: entryPoint } = account.entryPoint
  const claim = `userop:${entryPoint}:${account.address}:${nonce}`.toLowerCase()
  return {
    journal: { payer: account.address.toLowerCase(), nonce: claim, payTo: payTo.toLowerCase(), amount },
    signature,
    validBefore,
    body: bodyOf(market, terms, { entryPoint, userOperation, ...(binding !== undefined && { binding }) })
  }
}

/** Signs a payment by Permit2, as x402 has it, of an account that has approved it; its nonce is drawn. */
export const signPermit = async (market: Market, terms: Terms, random: TrialRandom): Promise<TrialPayment> => {
  const { amount, payTo, payer, validBefore } = terms
  const binding = terms.bound ? { challenge: "the-challenge-of-a-trial", salt: saltOf(random) } : undefined
  const nonce = BigInt(binding === undefined ? nonceOf(bytesOf(random, 24)) : boundNonce(binding))
  const { exactProxy: spender, permit2 } = Permit2Contracts.published
  // The end of a transfer by Permit2 is inclusive.
  const deadline = BigInt(validBefore) - 1n
  const message = {
    permitted: { token: market.token.address, amount },
    spender,
    nonce,
    deadline,
    witness: { to: payTo, validAfter: 0n }
  }
  const domain = { name: "Permit2", chainId: market.chainId, verifyingContract: permit2 }
  const data = { domain, types: permitTypes, primaryType: "PermitWitnessTransferFrom", message } as const
  const signature = await payer.signTypedData(data)
  const permit2Authorization = {
    from: payer.address,
    permitted: { token: market.token.address, amount: `${amount}` },
    spender,
    nonce: `${nonce}`,
    deadline: `${deadline}`,
    witness: { to: payTo, validAfter: "0" }
  }
  const payload = { signature, permit2Authorization, ...(binding !== undefined && { binding }) }
  const claim = `permit2:${payer.address}:${nonce}`.toLowerCase()
  return {
    journal: { payer: payer.address.toLowerCase(), nonce: claim, payTo: payTo.toLowerCase(), amount },
    signature,
    validBefore,
    body: bodyOf(market, terms, payload)
  }
}

const permitTypes = {
  PermitWitnessTransferFrom: [
    { name: "permitted", type: "TokenPermissions" },
    { name: "spender", type: "address" },
    { name: "nonce", type: "uint256" },
    { name: "deadline", type: "uint256" },
    { name: "witness", type: "Witness" }
  ],
  TokenPermissions: [
    { name: "token", type: "address" },
    { name: "amount", type: "uint256" }
  ],
  Witness: [
    { name: "to", type: "address" },
    { name: "validAfter", type: "uint256" }
  ]
} as const

const authorizationType = [
  { name: "from", type: "address" },
  { name: "to", type: "address" },
  { name: "value", type: "uint256" },
  { name: "validAfter", type: "uint256" },
  { name: "validBefore", type: "uint256" },
  { name: "nonce", type: "bytes32" }
] as const

const types = {
  TransferWithAuthorization: authorizationType,
  ReceiveWithAuthorization: authorizationType
} as const

const protocolVersion = 2

const bodyOf = (
  { network, token }: Market,
  { amount, payTo }: Pick<Terms, "amount" | "payTo">,
  payload: unknown,
  extra?: Beside["extra"]
) => {
  const encoded = Buffer.from(JSON.stringify(payload)).toString("base64")
  return {
    protocolVersion,
    paymentPayload: { protocolVersion, scheme: "exact", network, payload: encoded },
    paymentRequirements: {
      scheme: "exact",
      network,
      maxAmountRequired: `${amount}`,
      resource: "https://shop.example/report",
      payTo,
      asset: token.address,
      maxTimeoutSeconds: 600,
      ...(extra && { extra })
    }
  }
}

/** `count` drawn bytes. */
export const bytesOf = (random: TrialRandom, count: number): Buffer =>
  Buffer.from(Array.from({ length: count }, () => random.below(256)))

const saltOf = (random: TrialRandom): string => bytesOf(random, 16).toString("base64url")

const nonceOf = (bytes: Buffer): Hex => `0x${bytes.subarray(0, 24).toString("hex")}0000000000000000`

const boundNonce = ({ challenge, salt }: { readonly challenge: string; readonly salt: string }): Hex =>
  nonceOf(createHash("sha256").update(challenge, "ascii").update(Buffer.from(salt, "base64url")).digest())
