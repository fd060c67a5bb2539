/**
 * Coinbase Smart Wallet 1 and Kernel 3.0 on a test chain: their published bytecode at its published addresses, and accounts of both as
 * viem's smart accounts. None of these is deployed by being made.
 */
import * as Effect from "effect/Effect"
import {
  type Address,
  concatHex,
  encodeAbiParameters,
  encodeFunctionData,
  getContractAddress,
  hashTypedData,
  type Hex,
  isAddressEqual,
  pad,
  parseAbi,
  encodePacked,
  zeroAddress
} from "viem"
import { entryPoint07Abi, getUserOperationHash, type SmartAccount, toSmartAccount } from "viem/account-abstraction"

import { type EvmTestAccounts, type EvmTestChain, SmartAccountContracts } from "../src/testing/index.ts"
import * as Coinbase from "./published/CoinbaseInitCode.ts"
import * as Kernel from "./published/KernelInitCode.ts"

/** The published addresses. */
export const published = {
  coinbase: "0x000100abaad02f1cfC8Bbe32bD5a564817339E72",
  coinbaseFactory: "0x0BA5ED0c6AA8c49038F819E587E2633c4A9F428a",
  kernel: "0x94F097E1ebEB4ecA3AAE54cabb08905B239A7D27",
  kernelFactory: "0x6723b44Abeec4E71eBE3232BD5B455805baDD22f",
  kernelValidator: "0x845ADb2C711129d4f3966735eD98a9F09fC4cE57",
  kernelStaker: "0xd703aaE79538628d27099B8c4f621bE4CCd142d5"
} as const

const deployer = "0x4e59b44847b379578588920cA78FbF26c0B4956C"
const safesDeployer = "0x914d7Fec6aaC8cd542e72Bca78B30650d45643d7"
const stakersOwner = "0x9775137314fE595c943712B0b336327dfa80aE8A"

const contracts: ReadonlyArray<readonly [address: Address, bytecode: Hex, from: Address, salt: Hex]> = [
  [published.coinbase, Coinbase.implementationInitCode, safesDeployer, Coinbase.implementationSalt],
  [published.coinbaseFactory, Coinbase.factoryInitCode, safesDeployer, Coinbase.factorySalt],
  [published.kernel, Kernel.implementationInitCode, deployer, pad("0x")],
  [published.kernelFactory, Kernel.factoryInitCode, deployer, pad("0x")],
  [published.kernelValidator, Kernel.validatorInitCode, deployer, pad("0x")],
  [published.kernelStaker, Kernel.stakerInitCode, deployer, pad("0x")]
]

const kernelAbi = parseAbi([
  "function initialize(bytes21 rootValidator, address hook, bytes validatorData, bytes hookData)",
  "function getAddress(bytes data, bytes32 salt) view returns (address)",
  "function deployWithFactory(address factory, bytes createData, bytes32 salt) returns (address)",
  "function approveFactory(address factory, bool approval)",
  "function execute(bytes32 mode, bytes executionCalldata)"
])

/** Deploys what the chain does not have yet, beside the contracts of `SmartAccountContracts`. */
export const deploy = Effect.fnUntraced(function* (chain: EvmTestChain.Shape) {
  yield* SmartAccountContracts.deploy(chain)
  for (const [expected, bytecode, from, salt] of contracts) {
    const address = getContractAddress({ opcode: "CREATE2", from, salt, bytecode })
    if (!isAddressEqual(address, expected)) return yield* Effect.die(`${expected} would be at ${address}`)
    const code = yield* Effect.promise(() => chain.client.getCode({ address }))
    if (code === undefined) yield* chain.send({ to: from, data: concatHex([salt, bytecode]), gas: 12_000_000n })
  }
  yield* chain.setBalance(stakersOwner, 10n ** 18n)
  yield* chain.request("anvil_impersonateAccount", [stakersOwner])
  const approval = { functionName: "approveFactory", args: [published.kernelFactory, true] } as const
  yield* chain.send({
    from: stakersOwner,
    to: published.kernelStaker,
    data: encodeFunctionData({ abi: kernelAbi, ...approval })
  })
})

/** The modes of ERC-7579's `execute`. */
export const modes = {
  single: pad("0x00", { dir: "right" }),
  batch: pad("0x01", { dir: "right" }),
  batchThatTries: pad("0x0101", { dir: "right" }),
  delegatecall: pad("0xff", { dir: "right" })
} as const

interface AccountCall {
  readonly to: Address
  readonly data?: Hex | undefined
  readonly value?: bigint | undefined
}

const callTuple = [
  {
    type: "tuple[]",
    components: [
      { name: "target", type: "address" },
      { name: "value", type: "uint256" },
      { name: "data", type: "bytes" }
    ]
  }
] as const

/** Kernel's call data in a mode of several calls. */
export const kernelBatch = (mode: Hex, calls: ReadonlyArray<AccountCall>): Hex => {
  const list = calls.map(({ data = "0x", to, value = 0n }) => ({ target: to, value, data }) as const)
  return encodeFunctionData({
    abi: kernelAbi,
    functionName: "execute",
    args: [mode, encodeAbiParameters(callTuple, [list])]
  })
}

/** Kernel's call data of one call. */
export const kernelCall = (mode: Hex, { data = "0x", to, value = 0n }: AccountCall): Hex =>
  encodeFunctionData({
    abi: kernelAbi,
    functionName: "execute",
    args: [mode, encodePacked(["address", "uint256", "bytes"], [to, value, data])]
  })

/** The deviation of a Kernel from the usual one. */
export interface KernelOptions {
  readonly salt?: Hex
  /** Another root validator than that of the owner's key. */
  readonly validator?: Address
}

/** Kernel 3.0 of one owner (EntryPoint 0.7), made by the factory of factories. */
export const kernel = async (
  { chainId, client }: EvmTestChain.Shape,
  owner: EvmTestAccounts.TestAccount,
  { salt = "0x00", validator = published.kernelValidator }: KernelOptions = {}
): Promise<SmartAccount> => {
  const initialize = encodeFunctionData({
    abi: kernelAbi,
    functionName: "initialize",
    args: [concatHex(["0x01", validator]), zeroAddress, owner.address, "0x"]
  })
  const address = await client.readContract({
    address: published.kernelFactory,
    abi: kernelAbi,
    functionName: "getAddress",
    args: [initialize, pad(salt)]
  })
  const factoryArgs = {
    factory: published.kernelStaker,
    factoryData: encodeFunctionData({
      abi: kernelAbi,
      functionName: "deployWithFactory",
      args: [published.kernelFactory, initialize, pad(salt)]
    })
  }
  const entryPoint = {
    abi: entryPoint07Abi,
    address: SmartAccountContracts.published.entryPoint07,
    version: "0.7"
  } as const
  return toSmartAccount({
    client,
    entryPoint,
    encodeCalls: async (calls) => {
      const [first] = calls
      return first !== undefined && calls.length === 1
        ? kernelCall(modes.single, first)
        : kernelBatch(modes.batch, calls)
    },
    getAddress: async () => address,
    getFactoryArgs: async () => factoryArgs,
    getStubSignature: async () => `0x${"ff".repeat(64)}1c`,
    signMessage: () => Promise.reject(new Error("no message is signed here")),
    // Kernel wraps the hash in typed data of its own. The byte in front chooses the root validator.
    signTypedData: async (data) =>
      concatHex([
        "0x00",
        await owner.signTypedData({
          domain: { name: "Kernel", version: "0.3.0-beta", chainId, verifyingContract: address },
          types: { Kernel: [{ name: "hash", type: "bytes32" }] },
          primaryType: "Kernel",
          message: { hash: hashTypedData(data) }
        })
      ]),
    signUserOperation: async (userOperation) => {
      const hash = getUserOperationHash({
        chainId,
        entryPointAddress: entryPoint.address,
        entryPointVersion: "0.7",
        userOperation: { ...userOperation, sender: address }
      })
      return owner.signMessage({ message: { raw: hash } })
    }
  })
}
