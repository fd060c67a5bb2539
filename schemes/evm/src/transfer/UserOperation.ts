/**
 * User operations (ERC-4337) whose gas costs their sender nothing: the facilitator submits them to the EntryPoint itself, at a
 * gas price of zero, without a bundler and without a paymaster. This module has their wire form, their hash, and the call that
 * submits them, for EntryPoint 0.7, 0.8 and 0.9.
 */
import { keccak_256 } from "@noble/hashes/sha3.js"
import * as Amount from "@pontage/core/Amount"
import * as Schema from "effect/Schema"

import * as AbiEncoding from "../primitives/AbiEncoding.ts"
import * as EvmAddress from "../primitives/EvmAddress.ts"
import * as EvmHex from "../primitives/EvmHex.ts"

/**
 * A signed operation. `factory` and `factoryData` deploy the sender's account first. The prices and the paymaster are on the wire
 * of many libraries: where they are there, they have to be nothing.
 */
export const UserOperation = /* @__PURE__ */ Schema.Struct({
  sender: EvmAddress.FromText,
  nonce: Amount.FromText,
  factory: /* @__PURE__ */ Schema.optionalKey(EvmAddress.FromText),
  factoryData: /* @__PURE__ */ Schema.optionalKey(EvmHex.Hex),
  callData: EvmHex.Hex,
  verificationGasLimit: Amount.FromText,
  callGasLimit: Amount.FromText,
  preVerificationGas: /* @__PURE__ */ Schema.optionalKey(Amount.FromText),
  maxFeePerGas: /* @__PURE__ */ Schema.optionalKey(Amount.FromText),
  maxPriorityFeePerGas: /* @__PURE__ */ Schema.optionalKey(Amount.FromText),
  paymaster: /* @__PURE__ */ Schema.optionalKey(EvmAddress.FromText),
  paymasterData: /* @__PURE__ */ Schema.optionalKey(EvmHex.Hex),
  signature: EvmHex.Hex
})

export type UserOperation = typeof UserOperation.Type

/** An EntryPoint: its version and its address, the same on every chain. */
export interface EntryPoint {
  readonly version: "0.7" | "0.8" | "0.9"
  readonly address: EvmAddress.Address
  /** The contract by which it calls factories: the first one that it has made. */
  readonly senderCreator: EvmAddress.Address
  /** Whether a contract may call it, such as `OpSettler`: several operations of it go into one transaction. */
  readonly isBatched: boolean
}

const fromText = (text: string): EvmAddress.Address => EvmAddress.fromTail(EvmHex.fromTrusted(text))

/** The EntryPoints that operations are submitted to. */
export const entryPoints: ReadonlyArray<EntryPoint> = /* @__PURE__ */ (
  [
    ["0.7", "0x0000000071727De22E5E9d8BAf0edAc6f37da032", "0xEFC2c1444eBCC4Db75e7613d20C6a62fF67A167C"],
    ["0.8", "0x4337084D9E255Ff0702461CF8895CE9E3b5Ff108", "0x449ED7C3e6Fee6a97311d4b55475DF59C44AdD33"],
    ["0.9", "0x433709009B8330FDa32311DF1C2AFA402eD8D009", "0x0A630a99Df908A81115A3022927Be82f9299987e"]
  ] as const
).map(([version, address, senderCreator]) => ({
  version,
  address: fromText(address),
  senderCreator: fromText(senderCreator),
  isBatched: version !== "0.9"
}))

/** The EntryPoint at an address; `undefined` for another contract. */
export const entryPointAt = (address: EvmAddress.Address): EntryPoint | undefined =>
  entryPoints.find((one) => one.address === address)

/** The most gas of an operation's validation, with and without its account's deployment, and of its calls. */
const limits = { verification: 150_000n, deployment: 650_000n, calls: 160_000n }
/** The most bytes of the signature, and of the factory's calldata. */
const longest = 1024

/** The rule that an operation breaks, apart from its signature: its name, and a message; `undefined` without one. */
export const objection = (operation: UserOperation): readonly [rule: string, message: string] | undefined => {
  const { callGasLimit, factory, factoryData = "0x", paymaster, paymasterData = "0x" } = operation
  const { maxFeePerGas = 0n, maxPriorityFeePerGas = 0n, preVerificationGas = 0n } = operation
  if (paymaster !== undefined || paymasterData !== "0x") return ["paymaster", "has a paymaster; it needs none"]
  if (maxFeePerGas !== 0n || maxPriorityFeePerGas !== 0n || preVerificationGas !== 0n) {
    return ["gas_price", "has a gas price or a preVerificationGas above zero; the facilitator pays for its gas"]
  }
  if (factory === undefined && factoryData !== "0x")
    return ["factory_missing", "has a factory's calldata without a factory"]
  const most = factory === undefined ? limits.verification : limits.deployment
  if (operation.verificationGasLimit > most) return ["verification_gas", `has a verificationGasLimit above ${most}`]
  if (callGasLimit > limits.calls) return ["call_gas", `has a callGasLimit above ${limits.calls}`]
  if (bytesOf(operation.signature) > longest)
    return ["signature_length", `has a signature longer than ${longest} bytes`]
  if (bytesOf(factoryData) > longest) return ["factory_length", `has a factory's calldata longer than ${longest} bytes`]
  return operation.nonce >> 256n === 0n ? undefined : ["nonce", "has a nonce of more than 32 bytes"]
}

const bytesOf = (hex: EvmHex.Hex): number => (hex.length - 2) / 2

/** The factory and its calldata as the EntryPoint takes them; `0x` without a deployment. */
export const initCodeOf = ({ factory, factoryData = "0x" }: UserOperation): EvmHex.Hex =>
  factory === undefined ? "0x" : `0x${factory.slice(2)}${factoryData.slice(2)}`

const gasLimitsOf = ({ callGasLimit, verificationGasLimit }: UserOperation): string =>
  `${EvmHex.toWord(verificationGasLimit).slice(32)}${EvmHex.toWord(callGasLimit).slice(32)}`

const zero = /* @__PURE__ */ EvmHex.toWord(0)

const hashOf = (hex: EvmHex.Hex): string => EvmHex.fromBytes(keccak_256(EvmHex.toBytes(hex))).slice(2)
const hashOfText = (text: string): string => EvmHex.fromBytes(keccak_256(new TextEncoder().encode(text))).slice(2)

const operationType =
  "PackedUserOperation(address sender,uint256 nonce,bytes initCode,bytes callData,bytes32 accountGasLimits,uint256 preVerificationGas,bytes32 gasFees,bytes paymasterAndData)"
const domainType = "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"

/** The hash by which the EntryPoint names an operation, and which its account's owner signs. */
export const hash = (operation: UserOperation, { address, version }: EntryPoint, chainId: number): EvmHex.Hex => {
  const nothing = hashOf("0x")
  const fields = [
    AbiEncoding.address(operation.sender),
    EvmHex.toWord(operation.nonce),
    hashOf(initCodeOf(operation)),
    hashOf(operation.callData),
    gasLimitsOf(operation),
    zero,
    zero,
    nothing
  ].join("")
  const chain = EvmHex.toWord(chainId)
  if (version === "0.7") {
    return `0x${hashOf(`0x${hashOf(`0x${fields}`)}${AbiEncoding.address(address)}${chain}`)}`
  }
  const domain = `${hashOfText(domainType)}${hashOfText("ERC4337")}${hashOfText("1")}${chain}${AbiEncoding.address(address)}`
  return `0x${hashOf(`0x1901${hashOf(`0x${domain}`)}${hashOf(`0x${hashOfText(operationType)}${fields}`)}`)}`
}

/** An operation as the EntryPoint takes it. */
const packed = (operation: UserOperation): { readonly tail: string } => ({
  tail: AbiEncoding.parameters([
    AbiEncoding.address(operation.sender),
    EvmHex.toWord(operation.nonce),
    AbiEncoding.bytes(initCodeOf(operation)),
    AbiEncoding.bytes(operation.callData),
    gasLimitsOf(operation),
    zero,
    zero,
    AbiEncoding.bytes("0x"),
    AbiEncoding.bytes(operation.signature)
  ])
})

/** handleOps((address,uint256,bytes,bytes,bytes32,uint256,bytes32,bytes,bytes)[],address) */
const handleOpsSelector = "0x765e827f"

/** Calldata of the call that submits operations; `beneficiary` would get their fees, of which there are none. */
export const handleOps = (operations: ReadonlyArray<UserOperation>, beneficiary: EvmAddress.Address): EvmHex.Hex => {
  const list = { tail: `${EvmHex.toWord(operations.length)}${AbiEncoding.parameters(operations.map(packed))}` }
  return `${handleOpsSelector}${AbiEncoding.parameters([list, AbiEncoding.address(beneficiary)])}`
}

/** Gas for the transaction, and for the EntryPoint's own work on an operation. */
const gasBase = 60_000n
const gasPerOperation = 75_000n
const gasPerByte = 20n

/** The most gas that a transaction of these operations uses: their own limits, the EntryPoint's work, and the calldata. */
export const gasOf = (operations: ReadonlyArray<UserOperation>): bigint => {
  let gas = gasBase
  for (const operation of operations) {
    const bytes = bytesOf(operation.signature) + bytesOf(operation.callData) + bytesOf(initCodeOf(operation)) + 500
    gas += operation.verificationGasLimit + operation.callGasLimit + gasPerOperation + gasPerByte * BigInt(bytes)
  }
  return (gas * 64n) / 63n
}

/** Calldata of `getNonce(address, uint192)`: the next nonce under the key of this one. */
export const encodeGetNonce = ({ nonce, sender }: Pick<UserOperation, "nonce" | "sender">): EvmHex.Hex =>
  `0x35567e1a${AbiEncoding.address(sender)}${EvmHex.toWord(nonce >> 64n)}`

/** First topic of `UserOperationEvent(bytes32 indexed userOpHash, address indexed sender, address indexed paymaster, uint256 nonce, bool success, uint256, uint256)`. */
export const operationTopic = "0x49628fd1471006c1482da88028e9ce4dbb080b815c9b0344d39e5a8e6ec1419f"
/** First topic of `BeforeExecution()`: the operations' own events begin behind it. */
export const executionTopic = "0xbb47ee3e183a558b1a2ff0874b079f3fc5478b7454eacf2bfc5af2ff5878f972"
/** First topic of `UserOperationRevertReason(bytes32 indexed userOpHash, address indexed sender, uint256 nonce, bytes revertReason)`. */
export const revertTopic = "0x1c4fada7374c0a9ee8841fc38afe82932dc0f8e69012e927f061a8bae611a201"

/**
 * The seconds in a signature of Safe's module: the first in which the operation is valid, and the last one, 0 for ever. They are
 * signed; whether the account is a Safe at all, only its code shows.
 */
export const safeValidity = (
  signature: EvmHex.Hex
): { readonly validAfter: number; readonly validUntil: number } | undefined => {
  if (signature.length < 2 + 24) return undefined
  const validAfter = Number.parseInt(signature.slice(2, 14), 16)
  const validUntil = Number.parseInt(signature.slice(14, 26), 16)
  return { validAfter, validUntil }
}
