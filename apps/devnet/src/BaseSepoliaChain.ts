/**
 * The local chain that all roles share: base-sepolia by its id, with a dollar token at the address that every package's
 * table has for it. The token is our test token: deployed as usual, then its code and the words of its EIP-712 domain are
 * copied over.
 */
import { type Anvil, DollarToken, EvmTestChain } from "@pontage/evm/testing"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { encodeFunctionData, type Hex, numberToHex } from "viem"
import { generatePrivateKey, privateKeyToAddress } from "viem/accounts"

import * as BaseSepolia from "./BaseSepolia.ts"

/** A payer with a dollar and no native coin. */
export interface Payer {
  readonly key: Hex
  readonly address: Hex
}

/** A transfer as the token's own event shows it. */
export type Transfer = EvmTestChain.TestTransfer

/** The chain. */
export interface BaseSepoliaChain {
  readonly node: EvmTestChain.Shape
  /** A new payer, who owns a dollar. */
  readonly payer: Effect.Effect<Payer>
  /** Balance of an account, in the token's smallest units. */
  readonly balanceOf: (account: Hex) => Effect.Effect<bigint>
  /** Transfers from an account, oldest first. */
  readonly spent: (account: Hex) => Effect.Effect<ReadonlyArray<Transfer>>
}

/** Balance of a new payer: a dollar. */
export const initialBalance = 1_000_000n

/** The places of the token's name, symbol and version in its storage. */
const domainSlots = [0n, 1n, 2n]

/** Runs it as long as the scope. */
export const make: Effect.Effect<BaseSepoliaChain, Anvil.AnvilFailed, Scope.Scope> = Effect.gen(function* () {
  const node = yield* EvmTestChain.make({ chainId: 84_532, payers: 1 })
  yield* placeToken(node)
  const mint = (to: Hex) =>
    node.send({
      to: BaseSepolia.token,
      data: encodeFunctionData({ abi: DollarToken.abi, functionName: "mint", args: [to, initialBalance] })
    })
  return {
    node,
    payer: Effect.gen(function* () {
      const key = generatePrivateKey()
      const address = privateKeyToAddress(key)
      yield* mint(address)
      return { key, address }
    }),
    balanceOf: (account) => node.balanceOf(account, BaseSepolia.token),
    spent: (account) =>
      Effect.map(node.transfers({ token: BaseSepolia.token }), (transfers) =>
        transfers.filter(({ from }) => from === account)
      )
  }
})

const placeToken = Effect.fnUntraced(function* (node: EvmTestChain.Shape) {
  const { name, symbol, version } = BaseSepolia.tokenDomain
  const template = yield* node.deploy(DollarToken, [name, symbol, version])
  yield* Effect.promise(async () => {
    const bytecode = await node.client.getCode({ address: template })
    await node.client.setCode({ address: BaseSepolia.token, bytecode: bytecode ?? "0x" })
    const copies = domainSlots.map(async (slot) => {
      const index = numberToHex(slot, { size: 32 })
      const value = await node.client.getStorageAt({ address: template, slot: index })
      await node.client.setStorageAt({ address: BaseSepolia.token, index, value: value ?? "0x" })
    })
    await Promise.all(copies)
  })
})
