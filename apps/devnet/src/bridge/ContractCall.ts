/**
 * Deployments and calls of contracts by the text of their functions, from the chain's deployer. An effect dies where one reverts.
 */
import type { EvmTestChain } from "@pontage/evm/testing"
import * as Effect from "effect/Effect"
import {
  type Abi,
  type AbiParameter,
  type Address,
  concatHex,
  encodeAbiParameters,
  encodeFunctionData,
  type Hex,
  parseAbi,
  type TransactionReceipt
} from "viem"

/** A library of LayerZero's takes more gas than a test's usual call. */
const gas = 15_000_000n

/** A function's text as an ABI. */
export const abiOf = (text: string): Abi => parseAbi([text])

/** Calldata of a function, by its text: `function f(uint256 a)`. */
export const data = (text: string, args: ReadonlyArray<unknown>): Hex => encodeFunctionData({ abi: abiOf(text), args })

/** Deploys a contract whose constructor takes arguments of these types, written `constructor(uint256 a)`. */
export const deploy = Effect.fnUntraced(function* (
  chain: EvmTestChain.Shape,
  bytecode: Hex,
  text = "constructor()",
  args: ReadonlyArray<unknown> = []
): Effect.fn.Return<Address> {
  const [constructor] = abiOf(text)
  const inputs: ReadonlyArray<AbiParameter> = constructor?.type === "constructor" ? constructor.inputs : []
  const receipt = yield* chain.send({ data: concatHex([bytecode, encodeAbiParameters(inputs, args)]), gas })
  return receipt.status === "success" && receipt.contractAddress
    ? receipt.contractAddress
    : yield* Effect.die(new Error(`a contract of ${bytecode.length / 2} bytes was not deployed`))
})

/** Calls a function and waits for its receipt; dies where the call reverts. */
export const write = Effect.fnUntraced(function* (
  chain: EvmTestChain.Shape,
  to: Address,
  text: string,
  args: ReadonlyArray<unknown>
): Effect.fn.Return<TransactionReceipt> {
  const receipt = yield* chain.send({ to, data: data(text, args), gas })
  return receipt.status === "success" ? receipt : yield* Effect.die(new Error(`${text} at ${to} reverted`))
})
