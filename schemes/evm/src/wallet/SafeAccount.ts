import { secp256k1 } from "@noble/curves/secp256k1.js"
/**
 * A Safe 1.4.1 of one owner with its module for ERC-4337 (0.3.0, EntryPoint 0.7), as a smart account that needs no library: its address
 * follows from the owner and the salt, and it need not be deployed. The owner signs typed data alone.
 */
import { keccak_256 } from "@noble/hashes/sha3.js"
import { Misconfigured } from "@pontage/core"
import * as OptionCheck from "@pontage/core/OptionCheck"
import * as Result from "effect/Result"

import * as Erc6492 from "../crypto/Erc6492.ts"
import * as AbiEncoding from "../primitives/AbiEncoding.ts"
import * as EvmAddress from "../primitives/EvmAddress.ts"
import * as EvmHex from "../primitives/EvmHex.ts"
import * as EvmNetwork from "../primitives/EvmNetwork.ts"
import * as AccountCalls from "../transfer/AccountCalls.ts"
import type { TypedData } from "./EvmSigner.ts"
import type { EvmSmartAccount, OperationToSign } from "./EvmSmartAccount.ts"
import * as NodeReading from "./NodeReading.ts"
import * as TypedHash from "./TypedHash.ts"

/** The typed data that an owner signs: its domain has no name. */
export interface OwnersData extends Omit<TypedData, "domain"> {
  readonly domain: Pick<TypedData["domain"], "chainId" | "verifyingContract">
}

/** The owner: a viem account fits. */
export interface SafeOwner {
  readonly address: string
  readonly signTypedData: (data: OwnersData) => Promise<string>
}

/** Options of {@link safeAccount}. */
export interface Options {
  readonly owner: SafeOwner
  /** A node of the network, which is asked whether the account is deployed, until it is. */
  readonly rpcUrl: string
  /** The number that tells the owner's Safes apart, 32 bytes at most; default zero. */
  readonly saltNonce?: bigint
}

const check = OptionCheck.options<Options>({
  owner: OptionCheck.having<SafeOwner>("an owner, such as a viem account", "address", "signTypedData"),
  rpcUrl: OptionCheck.nodeUrl(EvmNetwork.nodeExample),
  saltNonce: OptionCheck.optional(OptionCheck.amount(0n))
})

const fixed = (text: EvmHex.Hex) => EvmAddress.fromTail(text)

const contracts = {
  entryPoint: /* @__PURE__ */ fixed("0x0000000071727de22e5e9d8baf0edac6f37da032"),
  factory: /* @__PURE__ */ fixed("0x4e1dcf7ad4e460cfd30791ccc4f9c8a4f820ec67"),
  module: /* @__PURE__ */ fixed("0x75cf11467937ce3f2f357ce24ffc3dbf8fd5c226"),
  moduleSetup: /* @__PURE__ */ fixed("0x2dd68b007b46fbe91b9a7c3eda5a7a1063cb5b47"),
  singleton: /* @__PURE__ */ fixed("0x29fcb43b46531bca003ddc8fcb67ffe91900c762")
} as const

/** Keccak-256 of the proxy's init code with the singleton. */
const initCodeHash = "e298282cefe913ab5d282047161268a8222e4bd4ed106300c547894bbefd31ee"

const hash = (digits: string) => EvmHex.fromBytes(keccak_256(EvmHex.toBytes(`0x${digits}`))).slice(2)

/** A list of one address. */
const listOf = (address: EvmAddress.Address) => ({ tail: EvmHex.toWord(1) + AbiEncoding.address(address) })

/** setup(address[],uint256,address,bytes,address,address,uint256,address), with the module enabled. */
const initializerOf = (owner: EvmAddress.Address): EvmHex.Hex => {
  const enable: EvmHex.Hex = `0x8d0dc49f${AbiEncoding.parameters([listOf(contracts.module)])}`
  return `0xb63e800d${AbiEncoding.parameters([
    listOf(owner),
    EvmHex.toWord(1),
    AbiEncoding.address(contracts.moduleSetup),
    AbiEncoding.bytes(enable),
    AbiEncoding.address(contracts.module),
    EvmHex.toWord(0),
    EvmHex.toWord(0),
    EvmHex.toWord(0)
  ])}`
}

/** The address of an owner's Safe, the same on every chain. */
export const addressOf = (owner: EvmAddress.Address, saltNonce: bigint): EvmAddress.Address => {
  const salt = hash(hash(initializerOf(owner).slice(2)) + EvmHex.toWord(saltNonce))
  return EvmAddress.fromTail(`0x${hash(`ff${contracts.factory.slice(2)}${salt}${initCodeHash}`)}`)
}

/** The address of a public key of 33 or 65 bytes; `undefined` for other bytes. */
export const addressOfKey = (publicKey: Uint8Array): EvmAddress.Address | undefined => {
  try {
    return EvmAddress.fromPublicKey(secp256k1.Point.fromBytes(publicKey).toBytes(false), keccak_256)
  } catch {
    return undefined
  }
}

const operationFields = (
  [
    ["address", "safe"],
    ["uint256", "nonce"],
    ["bytes", "initCode"],
    ["bytes", "callData"],
    ["uint128", "verificationGasLimit"],
    ["uint128", "callGasLimit"],
    ["uint256", "preVerificationGas"],
    ["uint128", "maxPriorityFeePerGas"],
    ["uint128", "maxFeePerGas"],
    ["bytes", "paymasterAndData"],
    ["uint48", "validAfter"],
    ["uint48", "validUntil"],
    ["address", "entryPoint"]
  ] as const
).map(([type, name]) => ({ type, name }))

/** An operation with the last second of its validity. */
interface EndingOperation extends OperationToSign {
  readonly validUntil: number
}

/** An operation whose signature has an end: 0 would be for ever, also where no payment guard is on the chain. */
const ending = (operation: OperationToSign): EndingOperation => {
  const { validUntil = 0 } = operation
  if (Number.isSafeInteger(validUntil) && validUntil > 0 && validUntil < 2 ** 48) return { ...operation, validUntil }
  throw new Error(`a Safe signs operations with an end alone: expected validUntil in seconds, got ${validUntil}`)
}

/** The typed data of an operation. */
const operationData = (safe: EvmAddress.Address, operation: EndingOperation): OwnersData => {
  const { chainId, factory, factoryData = "0x", sender: _, signature: __, validUntil, ...fields } = operation
  return {
    domain: { chainId, verifyingContract: contracts.module },
    types: { SafeOp: operationFields },
    primaryType: "SafeOp",
    message: {
      ...fields,
      safe,
      initCode: factory === undefined ? "0x" : `${factory}${factoryData.slice(2)}`,
      paymasterAndData: "0x",
      validAfter: 0,
      validUntil,
      entryPoint: contracts.entryPoint
    }
  }
}

const signedBy = async ({ signTypedData }: SafeOwner, data: OwnersData): Promise<EvmHex.Hex> => {
  const signature = await signTypedData(data)
  if (!EvmHex.isHex(signature)) throw new Error("the owner of the Safe returned something that is not a signature")
  return signature
}

/** Makes the account. Throws `Misconfigured` for an owner without an address. */
export const safeAccount = (options: Options): EvmSmartAccount => {
  const { owner, rpcUrl, saltNonce = 0n } = Result.getOrThrow(OptionCheck.read(check, options, "exactEvm.safeAccount"))
  const ownerAddress = EvmAddress.fromText(owner.address)
  if (ownerAddress === undefined) {
    throw new Misconfigured({ message: `exactEvm.safeAccount: owner: "${owner.address}" is not an address` })
  }
  const address = addressOf(ownerAddress, saltNonce)
  const factoryData: EvmHex.Hex = `0x1688f0b9${AbiEncoding.parameters([
    AbiEncoding.address(contracts.singleton),
    AbiEncoding.bytes(initializerOf(ownerAddress)),
    EvmHex.toWord(saltNonce)
  ])}`
  let isDeployed = false
  const getFactoryArgs = async () => {
    isDeployed ||= (await NodeReading.code(NodeReading.at(rpcUrl), address)) !== "0x"
    return isDeployed ? {} : { factory: contracts.factory, factoryData }
  }
  return {
    address: EvmAddress.checksum(address),
    entryPoint: { address: contracts.entryPoint },
    getFactoryArgs,
    encodeCalls: async (calls) =>
      AccountCalls.bySafe(
        calls.map(({ data, to }) => ({ to: EvmAddress.fromTail(to), data: EvmHex.toLowerCase(data) }))
      ),
    signTypedData: async (data) => {
      const message = EvmHex.fromBytes(TypedHash.of(data))
      const signature = await signedBy(owner, {
        domain: { chainId: data.domain.chainId, verifyingContract: address },
        types: { SafeMessage: [{ name: "message", type: "bytes" }] },
        primaryType: "SafeMessage",
        message: { message }
      })
      const { factory } = await getFactoryArgs()
      return factory === undefined ? signature : Erc6492.wrap({ factory, factoryData, signature })
    },
    signsValidity: true,
    signUserOperation: async (given) => {
      const operation = ending(given)
      const signature = await signedBy(owner, operationData(address, operation))
      return `0x${"0".repeat(12)}${operation.validUntil.toString(16).padStart(12, "0")}${signature.slice(2)}`
    }
  }
}
