/**
 * Contracts of ours on a chain: each has the same address everywhere, because a well-known deployer
 * (0x4e59b44847b379578588920cA78FbF26c0B4956C, CREATE2) makes it from the same bytes. This module computes that address, deploys
 * a contract, and checks that an address has our contract's code.
 */
import { type ChainUnavailable, Misconfigured } from "@pontage/core"
import * as OptionCheck from "@pontage/core/OptionCheck"
import * as Effect from "effect/Effect"

import * as EvmRpc from "../node/EvmRpc.ts"
import * as Create2 from "../primitives/Create2.ts"
import * as EvmAddress from "../primitives/EvmAddress.ts"
import * as EvmNetwork from "../primitives/EvmNetwork.ts"
import * as OwnCode from "../primitives/OwnCode.ts"
import type { OwnContract } from "../primitives/OwnCode.ts"
import type { EvmTransactionSigner } from "../wallet/EvmTransactionSigner.ts"
import * as SingleTransaction from "./SingleTransaction.ts"

/** Checks by its code that the contract at an address is ours. */
export const prove = Effect.fnUntraced(function* (
  rpc: EvmRpc.Shape,
  contract: OwnContract,
  address: EvmAddress.Address
): Effect.fn.Return<void, ChainUnavailable | Misconfigured> {
  const message = OwnCode.objection(yield* rpc.getCode(address), contract, address, rpc.network)
  if (message !== undefined) return yield* new Misconfigured({ message })
})

/** The address that {@link deploy} gives a contract, the same on every chain. */
export const addressOf = ({ artifact }: OwnContract): EvmAddress.Address => Create2.addressOf(artifact.bytecode)

/** Options of {@link deploy}. */
export interface Options {
  /** Pays for the deployment: at most 1 million gas. It gets no rights over the contract, which has no owner. */
  readonly signer: EvmTransactionSigner
  readonly rpcUrl: string
  /** The maximum price of a unit of gas, in wei; default 500 gwei. */
  readonly maxFeePerGas?: bigint
}

const check = OptionCheck.options<Options>({
  signer: OptionCheck.having("a signer, such as a viem local account", "address", "signTransaction"),
  rpcUrl: OptionCheck.text,
  maxFeePerGas: OptionCheck.optional(OptionCheck.amount(1n))
})

/** Gas for a deployment: its transaction, and for each byte its calldata and its storage. */
const gasBase = 100_000n
const gasPerByte = 300n

/**
 * Deploys a contract at its address ({@link addressOf}), unless it is there, and returns the address with its checksum. Fails
 * with `Misconfigured` where the chain lacks the well-known deployer or gas costs more than `maxFeePerGas`, and with
 * `ChainUnavailable` when no node shows a receipt within two minutes; a repeated call is harmless.
 */
export const deploy =
  (contract: OwnContract) =>
  (options: Options): Effect.Effect<string, ChainUnavailable | Misconfigured> =>
    deployNow(contract, options)

const deployNow = Effect.fnUntraced(function* (
  contract: OwnContract,
  options: Options
): Effect.fn.Return<string, ChainUnavailable | Misconfigured> {
  const { rpcUrl: url } = yield* Effect.fromResult(OptionCheck.read(check, options, contract.deployedBy))
  const chainId = yield* (yield* EvmRpc.make({ url, network: "eip155" })).chainId
  const rpc = yield* EvmRpc.make({ url, network: EvmNetwork.fromChainId(chainId) })
  const address = addressOf(contract)
  if ((yield* rpc.getCode(address)) === contract.artifact.runtime) return EvmAddress.checksum(address)
  if ((yield* rpc.getCode(Create2.deployer)) === "0x") {
    const message = `${rpc.network} has no contract at ${EvmAddress.checksum(Create2.deployer)}, which makes contracts at the same address everywhere; deploy the ${contract.name} by other means`
    return yield* new Misconfigured({ message })
  }
  const { bytecode } = contract.artifact
  const gas = gasBase + gasPerByte * BigInt(bytecode.length / 2)
  const call = { to: Create2.deployer, data: `0x${Create2.salt}${bytecode.slice(2)}`, gas } as const
  const { maxFeePerGas, signer } = options
  yield* SingleTransaction.send(rpc, chainId, { signer, call, maxFeePerGas, purpose: "the deployment" })
  yield* prove(rpc, contract, address)
  return EvmAddress.checksum(address)
})
