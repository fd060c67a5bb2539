/**
 * Factories of contract accounts that do nothing but deploy an account. A factory is called with the payer's own calldata and at
 * the facilitator's expense, so no other one is called.
 */
import { Misconfigured } from "@pontage/core"
import * as Result from "effect/Result"

import * as EvmAddress from "../primitives/EvmAddress.ts"
import * as EvmHex from "../primitives/EvmHex.ts"

/** The factories that may be called. */
export type KnownFactories = ReadonlySet<EvmAddress.Address>

/** Deployed by CREATE2 at the same address on every chain, as their makers publish it. */
const factories = {
  "SafeProxyFactory 1.3.0": "0xa6B71E26C5e0845f74c812102Ca7114b6a896AB2",
  "SafeProxyFactory 1.3.0 (EIP-155)": "0xC22834581EbC8527d974F8a1c97E1bEA4EF910BC",
  "SafeProxyFactory 1.4.1": "0x4e1DCf7AD4e460CfD30791CCC4F9c8a4f820ec67",
  "Coinbase Smart Wallet's factory 1": "0x0BA5ED0c6AA8c49038F819E587E2633c4A9F428a",
  "Coinbase Smart Wallet's factory 1.1": "0xBA5ED110eFDBa3D005bfC882d75358ACBbB85842",
  "KernelFactory 3.3": "0x2577507b78c2008Ff367261CB6285d44ba5eF2E9",
  "Kernel's FactoryStaker": "0xd703aaE79538628d27099B8c4f621bE4CCd142d5",
  "SimpleAccountFactory 0.7": "0x91E60e0613810449d098b0b5Ec8b51A0FE8c8985",
  "SimpleAccountFactory 0.8": "0x13E9ed32155810FDbd067D4522C492D6f68E5944",
  "Solady's ERC4337Factory": "0x5d82735936c6Cd5DE57cC3c1A799f6B2E6F933Df"
} as const

/** The known factories: this table, and the operator's additions. */
export const make = (more: ReadonlyArray<string>): Result.Result<KnownFactories, Misconfigured> => {
  const wrong = more.find((text) => EvmAddress.fromText(text) === undefined)
  if (wrong !== undefined) {
    return Result.fail(new Misconfigured({ message: `knownFactories: "${wrong}" is not the address of a factory` }))
  }
  const all = [...Object.values(factories), ...more]
  return Result.succeed(new Set(all.map((text) => EvmAddress.fromTail(EvmHex.fromTrusted(text)))))
}
