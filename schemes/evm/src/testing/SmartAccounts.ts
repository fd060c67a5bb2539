/**
 * Smart accounts of several makers as viem's smart accounts, on a test chain with their contracts (`SmartAccountContracts`). None
 * of them is deployed by being made.
 */
import {
  type Address,
  concatHex,
  encodeFunctionData,
  encodePacked,
  getContractAddress,
  hashTypedData,
  type Hex,
  keccak256,
  type LocalAccount,
  pad,
  parseAbi,
  zeroAddress
} from "viem"
import {
  entryPoint07Abi,
  entryPoint08Abi,
  entryPoint09Abi,
  getUserOperationHash,
  type SmartAccount,
  toSmartAccount,
  toSoladySmartAccount
} from "viem/account-abstraction"

import type * as EvmTestAccounts from "./EvmTestAccounts.ts"
import type * as EvmTestChain from "./EvmTestChain.ts"
import { bytecodeOf, published, type SmartAccountContracts } from "./SmartAccountContracts.ts"

/** A call of an account. */
interface AccountCall {
  readonly to: Address
  readonly data?: Hex | undefined
  readonly value?: bigint | undefined
}

const accountAbi = parseAbi([
  "struct Call { address target; uint256 value; bytes data; }",
  "function execute(address target, uint256 value, bytes data)",
  "function executeBatch(Call[] calls)"
])
const batch07Abi = parseAbi(["function executeBatch(address[] targets, uint256[] values, bytes[] datas)"])

/** The versions of SimpleAccount. */
export type SimpleVersion = "0.7" | "0.8" | "0.9"

const encodeSimple =
  (version: SimpleVersion) =>
  async (calls: ReadonlyArray<AccountCall>): Promise<Hex> => {
    const [first] = calls
    if (first !== undefined && calls.length === 1) {
      return encodeFunctionData({
        abi: accountAbi,
        functionName: "execute",
        args: [first.to, first.value ?? 0n, first.data ?? "0x"]
      })
    }
    if (version !== "0.7") {
      const list = calls.map(({ data = "0x", to, value = 0n }) => ({ target: to, value, data }))
      return encodeFunctionData({ abi: accountAbi, functionName: "executeBatch", args: [list] })
    }
    return encodeFunctionData({
      abi: batch07Abi,
      functionName: "executeBatch",
      args: [calls.map(({ to }) => to), calls.map(({ value = 0n }) => value), calls.map(({ data = "0x" }) => data)]
    })
  }

const stub: Hex = `0x${"ff".repeat(64)}1c`

const factoryAbi = parseAbi([
  "function createAccount(address owner, uint256 salt) returns (address)",
  "function getAddress(address owner, uint256 salt) view returns (address)"
])

const unsupported = async (): Promise<never> => {
  throw new Error("this account does not sign that")
}

const simpleEntryPoints = {
  "0.7": { abi: entryPoint07Abi, address: published.entryPoint07, version: "0.7" },
  "0.8": { abi: entryPoint08Abi, address: published.entryPoint08, version: "0.8" },
  "0.9": { abi: entryPoint09Abi, address: published.entryPoint09, version: "0.9" }
} as const
const simpleFactories = {
  "0.7": published.simpleFactory07,
  "0.8": published.simpleFactory08,
  "0.9": undefined
} as const

/**
 * SimpleAccount: it has no ERC-1271, so it pays by user operations alone. Its factory of 0.9 has no published address: give it. One
 * request reads the account's address, because a node refuses calls while it replaces blocks.
 */
export const simple = async (
  { chainId, client }: EvmTestChain.Shape,
  owner: EvmTestAccounts.TestAccount,
  version: SimpleVersion,
  salt = 0n,
  factory: Address = simpleFactories[version] ?? zeroAddress
): Promise<SmartAccount> => {
  const entryPoint = simpleEntryPoints[version]
  const args = [owner.address, salt] as const
  const address = await client.readContract({ address: factory, abi: factoryAbi, functionName: "getAddress", args })
  return toSmartAccount({
    client,
    entryPoint,
    encodeCalls: encodeSimple(version),
    getAddress: () => Promise.resolve(address),
    getFactoryArgs: async () => ({
      factory,
      factoryData: encodeFunctionData({ abi: factoryAbi, functionName: "createAccount", args })
    }),
    getStubSignature: async () => stub,
    signMessage: unsupported,
    signTypedData: unsupported,
    async signUserOperation(userOperation) {
      const hash = getUserOperationHash({
        chainId,
        entryPointAddress: entryPoint.address,
        entryPointVersion: entryPoint.version,
        userOperation: { ...userOperation, sender: address }
      })
      return version === "0.7" ? owner.signMessage({ message: { raw: hash } }) : owner.sign({ hash })
    }
  })
}

const safeAbi = parseAbi([
  "function setup(address[] owners, uint256 threshold, address to, bytes data, address fallbackHandler, address paymentToken, uint256 payment, address paymentReceiver)",
  "function enableModules(address[] modules)",
  "function createProxyWithNonce(address singleton, bytes initializer, uint256 saltNonce) returns (address)",
  "function executeUserOp(address to, uint256 value, bytes data, uint8 operation)",
  "function multiSend(bytes transactions)"
])

const encodeSafe = async (calls: ReadonlyArray<AccountCall>): Promise<Hex> => {
  const [first] = calls
  if (first !== undefined && calls.length === 1) {
    return encodeFunctionData({
      abi: safeAbi,
      functionName: "executeUserOp",
      args: [first.to, first.value ?? 0n, first.data ?? "0x", 0]
    })
  }
  const transactions = concatHex(
    calls.map(({ data = "0x", to, value = 0n }) =>
      encodePacked(
        ["uint8", "address", "uint256", "uint256", "bytes"],
        [0, to, value, BigInt((data.length - 2) / 2), data]
      )
    )
  )
  const data = encodeFunctionData({ abi: safeAbi, functionName: "multiSend", args: [transactions] })
  return encodeFunctionData({
    abi: safeAbi,
    functionName: "executeUserOp",
    args: [published.safeMultiSend, 0n, data, 1]
  })
}

const fields = (list: ReadonlyArray<readonly [string, string]>) => list.map(([type, name]) => ({ type, name }))

const safeOperation = fields([
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
])

/** The deviation of a Safe from the usual one. */
export interface SafeOptions {
  readonly salt?: bigint
  /** Another implementation than Safe's. */
  readonly singleton?: Address
  /** The last second in which its user operations are valid; 0 for ever. */
  readonly validUntil?: number
}

/** Safe 1.4.1 of one owner, with its module for ERC-4337 (EntryPoint 0.7). The signature of an operation has its validity. */
export const safe = (
  { chainId, client }: EvmTestChain.Shape,
  owner: EvmTestAccounts.TestAccount,
  { salt = 0n, singleton = published.safe, validUntil = 0 }: SafeOptions = {}
): Promise<SmartAccount> => {
  const enable = encodeFunctionData({ abi: safeAbi, functionName: "enableModules", args: [[published.safeModule]] })
  const initializer = encodeFunctionData({
    abi: safeAbi,
    functionName: "setup",
    args: [[owner.address], 1n, published.safeModuleSetup, enable, published.safeModule, zeroAddress, 0n, zeroAddress]
  })
  const proxy = bytecodeOf("@safe-global/safe-contracts/build/artifacts/contracts/proxies/SafeProxy.sol/SafeProxy.json")
  const address = getContractAddress({
    opcode: "CREATE2",
    from: published.safeFactory,
    salt: keccak256(encodePacked(["bytes32", "uint256"], [keccak256(initializer), salt])),
    bytecode: concatHex([proxy, pad(singleton)])
  })
  const factoryArgs = {
    factory: published.safeFactory,
    factoryData: encodeFunctionData({
      abi: safeAbi,
      functionName: "createProxyWithNonce",
      args: [singleton, initializer, salt]
    })
  }
  return toSmartAccount({
    client,
    entryPoint: { abi: entryPoint07Abi, address: published.entryPoint07, version: "0.7" },
    encodeCalls: encodeSafe,
    getAddress: async () => address,
    getFactoryArgs: async () => factoryArgs,
    getStubSignature: async () => `0x${"00".repeat(12)}${"ff".repeat(64)}1c`,
    signMessage: unsupported,
    signTypedData: (data) =>
      owner.signTypedData({
        domain: { chainId, verifyingContract: address },
        types: { SafeMessage: [{ type: "bytes", name: "message" }] },
        primaryType: "SafeMessage",
        message: { message: hashTypedData(data) }
      }),
    async signUserOperation({ factory, factoryData, ...operation }) {
      const message = {
        ...operation,
        safe: address,
        initCode: factory && factoryData ? concatHex([factory, factoryData]) : "0x",
        paymasterAndData: "0x",
        validAfter: 0,
        validUntil,
        entryPoint: published.entryPoint07
      }
      const signature = await owner.signTypedData({
        domain: { chainId, verifyingContract: published.safeModule },
        types: { SafeOp: safeOperation },
        primaryType: "SafeOp",
        message
      })
      return encodePacked(["uint48", "uint48", "bytes"], [0, validUntil, signature])
    }
  })
}

/** Solady's account (EntryPoint 0.7): its signatures of typed data are nested (ERC-7739). */
export const solady = async (
  { client }: EvmTestChain.Shape,
  { solady: factoryAddress }: SmartAccountContracts,
  owner: LocalAccount,
  salt: Hex = "0x00"
): Promise<SmartAccount> => {
  const address = await client.readContract({
    address: factoryAddress,
    abi: parseAbi(["function getAddress(address owner, bytes32 salt) view returns (address)"]),
    functionName: "getAddress",
    args: [owner.address, pad(salt)]
  })
  return toSoladySmartAccount({ client, owner, factoryAddress, address, salt })
}
