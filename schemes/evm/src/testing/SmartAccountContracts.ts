/**
 * The published contracts of smart accounts on a test chain, at the addresses that they have on every chain: EntryPoint 0.7, 0.8
 * and 0.9, SimpleAccount's factories, Simple7702Account, and Safe 1.4.1 with its module for ERC-4337; and Solady's account. Their
 * bytecode is that of the packages `@account-abstraction/contracts` 0.8.0 (and 0.7.0 as `@account-abstraction/contracts-0.7`; for
 * {@link deploy09} 0.9.0-rc.1 as `@account-abstraction/contracts-0.9`), `@safe-global/safe-contracts` 1.4.1 and `@safe-global/safe-4337` 0.3.0, which have to be installed beside this one.
 */
import { createRequire } from "node:module"

import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { type Address, concatHex, getContractAddress, type Hex, isAddressEqual, isHex, pad, parseAbi } from "viem"

import { SoladyFactory } from "./artifacts/SoladyFactory.ts"
import type * as EvmTestChain from "./EvmTestChain.ts"

/** The addresses of the contracts. */
export interface SmartAccountContracts {
  readonly solady: Address
}

/** The contracts' published addresses. */
export const published = {
  entryPoint07: "0x0000000071727De22E5E9d8BAf0edAc6f37da032",
  entryPoint08: "0x4337084D9E255Ff0702461CF8895CE9E3b5Ff108",
  entryPoint09: "0x433709009B8330FDa32311DF1C2AFA402eD8D009",
  simpleFactory07: "0x91E60e0613810449d098b0b5Ec8b51A0FE8c8985",
  simpleFactory08: "0x13E9ed32155810FDbd067D4522C492D6f68E5944",
  simple7702: "0xe6Cae83BdE06E4c305530e199D7217f42808555B",
  simple7702For09: "0xa46cc63eBF4Bd77888AA327837d20b23A63a56B5",
  safe: "0x29fcB43b46531BcA003ddC8FCB67FFE91900C762",
  safeFactory: "0x4e1DCf7AD4e460CfD30791CCC4F9c8a4f820ec67",
  safeMultiSend: "0x38869bf66a61cF6bDB996A6aE40D5853Fd43B526",
  safeModule: "0x75cf11467937ce3F2f357CE24ffc3DBF8fD5c226",
  safeModuleSetup: "0x2dd68b007B46fBe91B9A7c3EDa5A7a1063cB5b47"
} as const satisfies Record<string, Address>

const require = createRequire(import.meta.url)

const PublishedArtifact = Schema.decodeUnknownSync(Schema.Struct({ bytecode: Schema.String }))

/** The bytecode of a published contract. */
export const bytecodeOf = (path: string): Hex => {
  const { bytecode } = PublishedArtifact(require(path))
  if (!isHex(bytecode)) throw new Error(`${path} has no bytecode`)
  return bytecode
}

const aa07 = (name: string) => bytecodeOf(`@account-abstraction/contracts-0.7/artifacts/${name}.json`)
const aa08 = (name: string) => bytecodeOf(`@account-abstraction/contracts/artifacts/${name}.json`)
const aa09 = (name: string) => bytecodeOf(`@account-abstraction/contracts-0.9/artifacts/${name}.json`)
const safe = (path: string) => bytecodeOf(`@safe-global/safe-contracts/build/artifacts/contracts/${path}.json`)
const safe4337 = (name: string) =>
  bytecodeOf(`@safe-global/safe-4337/build/artifacts/contracts/${name}.sol/${name}.json`)

const withAddress = (bytecode: Hex, argument: Address): Hex => concatHex([bytecode, pad(argument)])

/** A contract that makes contracts at the same address everywhere; its code is the same at both of its addresses. */
const deployer = "0x4e59b44847b379578588920cA78FbF26c0B4956C"
const safesDeployer = "0x914d7Fec6aaC8cd542e72Bca78B30650d45643d7"

const noSalt = pad("0x")

interface Create2 {
  readonly expected: Address
  readonly bytecode: Hex
  readonly from?: Address
  readonly salt?: Hex
}

const deterministic = (): ReadonlyArray<Create2> => [
  {
    expected: published.entryPoint07,
    bytecode: aa07("EntryPoint"),
    salt: "0x90d8084deab30c2a37c45e8d47f49f2f7965183cb6990a98943ef94940681de3"
  },
  {
    expected: published.entryPoint08,
    bytecode: aa08("EntryPoint"),
    salt: "0x0a59dbff790c23c976a548690c27297883cc66b4c67024f9117b0238995e35e9"
  },
  {
    expected: published.simpleFactory07,
    bytecode: withAddress(aa07("SimpleAccountFactory"), published.entryPoint07)
  },
  {
    expected: published.simpleFactory08,
    bytecode: withAddress(aa08("SimpleAccountFactory"), published.entryPoint08)
  },
  { expected: published.simple7702, bytecode: aa08("Simple7702Account") },
  { expected: published.safe, bytecode: safe("SafeL2.sol/SafeL2"), from: safesDeployer },
  {
    expected: published.safeFactory,
    bytecode: safe("proxies/SafeProxyFactory.sol/SafeProxyFactory"),
    from: safesDeployer
  },
  { expected: published.safeMultiSend, bytecode: safe("libraries/MultiSend.sol/MultiSend"), from: safesDeployer }
]

/** Deploys what the chain does not have yet. A published address that the bytecode does not give is a mistake of this file. */
export const deploy = Effect.fnUntraced(function* (chain: EvmTestChain.Shape) {
  const codeAt = (address: Address) => Effect.promise(async () => (await chain.client.getCode({ address })) ?? "0x")
  yield* chain.setCode(safesDeployer, yield* codeAt(deployer))
  for (const { bytecode, expected, from = deployer, salt = noSalt } of deterministic()) {
    const address = getContractAddress({ opcode: "CREATE2", from, salt, bytecode })
    if (!isAddressEqual(address, expected)) return yield* Effect.die(`${expected} would be at ${address}`)
    if ((yield* codeAt(expected)) === "0x")
      yield* chain.send({ to: from, data: concatHex([salt, bytecode]), gas: 12_000_000n })
  }
  // The package's build of these two is not the published one: their code is put where the published one is.
  for (const [address, bytecode] of [
    [published.safeModule, withAddress(safe4337("Safe4337Module"), published.entryPoint07)],
    [published.safeModuleSetup, safe4337("SafeModuleSetup")]
  ] as const)
    yield* chain.setCode(address, yield* codeAt(yield* chain.deploy({ abi: [], bytecode })))
  const contracts: SmartAccountContracts = { solady: yield* chain.deploy(SoladyFactory) }
  return contracts
})

/** The contracts of EntryPoint 0.9 that have no published address: SimpleAccount's factory and its implementation. */
export interface SmartAccountContracts09 {
  readonly simpleFactory: Address
  readonly simpleImplementation: Address
}

/**
 * Deploys EntryPoint 0.9 at its published address, Simple7702Account for it, and SimpleAccount's factory. The package has a release
 * candidate, whose bytes another address would follow from: its constructor runs at the published one.
 */
export const deploy09 = Effect.fnUntraced(function* (chain: EvmTestChain.Shape) {
  const { entryPoint09, simple7702For09 } = published
  const runsAt = Effect.fnUntraced(function* (address: Address, constructor: Hex) {
    yield* chain.setCode(address, constructor)
    yield* chain.request("anvil_setNonce", [address, "0x1"])
    const { data: code = "0x" } = yield* Effect.promise(() => chain.client.call({ to: address, gas: 15_000_000n }))
    yield* chain.send({ to: address, data: "0x", gas: 15_000_000n })
    yield* chain.setCode(address, code)
  })
  yield* runsAt(entryPoint09, aa09("EntryPoint"))
  yield* runsAt(simple7702For09, withAddress(aa09("Simple7702Account"), entryPoint09))
  const simpleFactory = yield* chain.deploy({
    abi: [],
    bytecode: withAddress(aa09("SimpleAccountFactory"), entryPoint09)
  })
  const simpleImplementation = yield* Effect.promise(() =>
    chain.client.readContract({
      address: simpleFactory,
      abi: parseAbi(["function accountImplementation() view returns (address)"]),
      functionName: "accountImplementation"
    })
  )
  const contracts: SmartAccountContracts09 = { simpleFactory, simpleImplementation }
  return contracts
})
