/**
 * Code of contract accounts that is known to validate a signature by the chain's state alone (and, for keys that expire, its
 * time). Unknown code may depend on the gas price, the block or the sender: it may accept a signature in a simulation and
 * refuse it in the transaction. A proxy is known by its own code; its implementation has to be known too.
 */
import { keccak_256 } from "@noble/hashes/sha3.js"
import { Misconfigured } from "@pontage/core"
import * as Result from "effect/Result"

import * as EvmAddress from "../primitives/EvmAddress.ts"
import * as EvmHex from "../primitives/EvmHex.ts"

/** The known code: addresses of implementations, which have the same code on every chain, and hashes of code. */
export interface EvmKnownCode {
  readonly addresses: ReadonlySet<EvmAddress.Address>
  readonly hashes: ReadonlySet<string>
}

/** Deployed by CREATE2 at the same address on every chain, as their makers publish it. */
const implementations = {
  "Safe 1.3.0": "0xd9Db270c1B5E3Bd161E8c8503c55cEABeE709552",
  "Safe 1.3.0 (EIP-155)": "0x69f4D1788e39c87893C980c06EdF4b7f686e2938",
  "Safe L2 1.3.0": "0x3E5c63644E683549055b9Be8653de26E0B4CD36E",
  "Safe L2 1.3.0 (EIP-155)": "0xfb1bffC9d739B8D520DaF37dF666da4C687191EA",
  "Safe 1.4.1": "0x41675C099F32341bf84BFc5382aF534df5C7461a",
  "Safe L2 1.4.1": "0x29fcB43b46531BcA003ddC8FCB67FFE91900C762",
  "Safe's CompatibilityFallbackHandler 1.3.0": "0xf48f2B2d2a534e402487b3ee7C18c33Aec0Fe5e4",
  "Safe's CompatibilityFallbackHandler 1.3.0 (EIP-155)": "0x017062a1dE2FE6b99BE3d9d37841FeD19F573804",
  "Safe's CompatibilityFallbackHandler 1.4.1": "0xfd0732Dc9E303f09fCEf3a7388Ad10A83459Ec99",
  "Safe4337Module 0.3.0": "0x75cf11467937ce3F2f357CE24ffc3DBF8fD5c226",
  "SafeModuleSetup 0.3.0": "0x2dd68b007B46fBe91B9A7c3EDa5A7a1063cB5b47",
  "Coinbase Smart Wallet 1": "0x000100abaad02f1cfC8Bbe32bD5a564817339E72",
  "Coinbase Smart Wallet 1.1": "0x00000110dCdEdC9581cb5eCB8467282f2926534d",
  "Coinbase EIP7702Proxy": "0x7702cb554e6bFb442cb743A7dF23154544a7176C",
  "Kernel 3.3": "0xd6CEDDe84be40893d153Be9d467CD6aD37875b28",
  "Kernel's ECDSAValidator 3.3": "0x845ADb2C711129d4f3966735eD98a9F09fC4cE57",
  "MetaMask EIP7702StatelessDeleGator": "0x63c0c19a282a1B52b07dD5a65b58948A07DAE32B",
  "SimpleAccount 0.7": "0x68641DE71cfEa5a5d0D29712449Ee254bb1400C2",
  "SimpleAccount 0.8": "0x28426d752372D68d34340bd94390950DcE3C9ec3",
  "Simple7702Account 0.8": "0xe6Cae83BdE06E4c305530e199D7217f42808555B",
  "Simple7702Account 0.9": "0xa46cc63eBF4Bd77888AA327837d20b23A63a56B5",
  AmbireAccount7702: "0x5A7FC11397E9a8AD41BF10bf13F22B0a63f96f6d",
  "Uniswap Calibur": "0x000000009B1D0aF20D8C6d0A44e162d11F9b8f00",
  "Alchemy SemiModularAccount7702": "0x69007702764179f14F51cdce752f4f775d74E139"
} as const

/** Proxies that hold their implementation's address in storage and only delegate to it. */
const proxyHashes = {
  "SafeProxy 1.3.0": "0xb89c1b3bdf2cf8827818646bce9a8f6e372885f8c55e5c07acbd307cb133b000",
  "SafeProxy 1.4.1": "0xd7d408ebcd99b2b70be43e20253d6d92a8ea8fab29bd3be7f55b10032331fb4c",
  "SimpleAccount 0.7's ERC1967Proxy": "0x0cf33e42b59cd30ce43a3d95a9c4de2589047c5e0968708337764f9776097210",
  "SimpleAccount 0.8's ERC1967Proxy": "0x41ee894da413cc99e8dec0a1784470eceb736845ad1591e06ff0ecdf0aca26c9"
} as const

/** Solady's ERC-1967 proxy: Coinbase's and Kernel's accounts. */
const soladyProxy =
  "0x363d3d373d3d363d7f360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc545af43d6000803e6038573d6000fd5b3d6000f3"

const text = /^0x(?:[0-9a-fA-F]{40}|[0-9a-fA-F]{64})$/

/**
 * The known code: this table, and the operator's additions, each the address of an implementation (20 bytes) or the Keccak-256
 * hash of code (32 bytes).
 */
export const make = (more: ReadonlyArray<string>): Result.Result<EvmKnownCode, Misconfigured> => {
  const wrong = more.find((one) => !text.test(one) || (one.length === 42 && EvmAddress.fromText(one) === undefined))
  if (wrong !== undefined) {
    const message = `knownImplementations: "${wrong}" is neither the address of an implementation nor the hash of code`
    return Result.fail(new Misconfigured({ message }))
  }
  const all = [...Object.values(implementations), ...Object.values(proxyHashes), ...more]
  return Result.succeed({
    addresses: new Set(
      all.filter((one) => one.length === 42).map((one) => EvmAddress.fromTail(EvmHex.fromTrusted(one)))
    ),
    hashes: new Set(all.filter((one) => one.length === 66).map((one) => one.toLowerCase()))
  })
}

/** The Keccak-256 hash of code. */
export const hashOf = (code: EvmHex.Hex): string => EvmHex.fromBytes(keccak_256(EvmHex.toBytes(code)))

const delegation = /^0xef0100([0-9a-f]{40})$/
const minimalProxies = [
  /^0x363d3d373d3d3d363d73([0-9a-f]{40})5af43d82803e903d91602b57fd5bf3$/,
  /^0x3d3d3d3d363d3d37363d73([0-9a-f]{40})5af43d3d93803e602a57fd5bf3$/,
  /^0x5f5f365f5f37365f73([0-9a-f]{40})5af43d5f5f3e6029573d5ffd5b3d5ff3$/
]

/**
 * The account whose code runs instead of this one: a delegation (EIP-7702) or a minimal proxy (EIP-1167, and its two shorter
 * forms).
 */
export const target = (code: EvmHex.Hex): EvmAddress.Address | undefined => {
  for (const form of [delegation, ...minimalProxies]) {
    const found = form.exec(code)?.[1]
    if (found !== undefined) return EvmAddress.fromTail(`0x${found}`)
  }
  return undefined
}

/** Whether an account's code is known, apart from the code that it delegates to ({@link target}). */
export const isKnown = ({ addresses, hashes }: EvmKnownCode, account: EvmAddress.Address, code: EvmHex.Hex): boolean =>
  code === "0x" || code === soladyProxy || addresses.has(account) || hashes.has(hashOf(code))

/** The hash of an account's unknown code; `undefined` for known code, which other people's accounts have too. */
export const fingerprint = (known: EvmKnownCode, account: EvmAddress.Address, code: EvmHex.Hex): string | undefined => {
  const runs = target(code)
  return isKnown(known, account, code) || (runs !== undefined && known.addresses.has(runs)) ? undefined : hashOf(code)
}
