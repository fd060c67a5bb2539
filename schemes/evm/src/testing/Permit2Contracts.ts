/**
 * Permit2 and the proxy of x402 on a test chain: the published bytes at the addresses that they have on every chain.
 */
import * as Effect from "effect/Effect"
import {
  type Address,
  concatHex,
  encodeFunctionData,
  getContractAddress,
  type Hex,
  isAddressEqual,
  parseAbi
} from "viem"

import type * as EvmTestChain from "./EvmTestChain.ts"
import { exactPermit2ProxyInitCode } from "./published/ExactPermit2ProxyInitCode.ts"
import { permit2InitCode } from "./published/Permit2InitCode.ts"

/** A contract that makes contracts at the same address everywhere. */
const deployer = "0x4e59b44847b379578588920cA78FbF26c0B4956C"

/** The contracts' published addresses. */
export const published = {
  permit2: "0x000000000022D473030F116dDEE9F6B43aC78BA3",
  exactProxy: "0x402085c248EeA27D92E8b30b2C58ed07f9E20001"
} as const satisfies Record<string, Address>

const contracts: ReadonlyArray<{ readonly expected: Address; readonly salt: Hex; readonly bytecode: Hex }> = [
  {
    expected: published.permit2,
    salt: "0x0000000000000000000000000000000000000000d3af2663da51c10215000000",
    bytecode: permit2InitCode
  },
  {
    expected: published.exactProxy,
    salt: "0x0000000000000000000000000000000000000000000000003000000007263b0e",
    bytecode: exactPermit2ProxyInitCode
  }
]

/** Deploys what the chain does not have yet. A published address that the bytes do not give is a mistake of this file. */
export const deploy = Effect.fnUntraced(function* (chain: EvmTestChain.Shape) {
  for (const { bytecode, expected, salt } of contracts) {
    const address = getContractAddress({ opcode: "CREATE2", from: deployer, salt, bytecode })
    if (!isAddressEqual(address, expected)) return yield* Effect.die(`${expected} would be at ${address}`)
    const code = yield* Effect.promise(() => chain.client.getCode({ address: expected }))
    if (code === undefined) yield* chain.send({ to: deployer, data: concatHex([salt, bytecode]), gas: 5_000_000n })
  }
})

const abi = parseAbi(["function approve(address spender, uint256 value)"])

/** A call by any account, with code or without: the node needs no key of it, and lends it the coin for the gas. */
export const callAs = Effect.fnUntraced(function* (
  chain: EvmTestChain.Shape,
  from: Address,
  call: { readonly to: Address; readonly data: Hex }
) {
  yield* chain.request("anvil_impersonateAccount", [from])
  yield* chain.setBalance(from, 10n ** 18n)
  const receipt = yield* chain.send({ from, ...call, gas: 500_000n })
  yield* chain.setBalance(from, 0n)
  yield* chain.request("anvil_stopImpersonatingAccount", [from])
  return receipt
})

/** The account lets Permit2 move this much of a token; by default any amount of the chain's own. */
export const approve = (
  chain: EvmTestChain.Shape,
  owner: Address,
  token: Address = chain.token.address,
  value: bigint = 2n ** 256n - 1n
) =>
  callAs(chain, owner, {
    to: token,
    data: encodeFunctionData({ abi, functionName: "approve", args: [published.permit2, value] })
  })
