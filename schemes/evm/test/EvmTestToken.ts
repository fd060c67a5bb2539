/** Actions on the test chain's token and its authorizations outside our facilitator. */
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { encodeFunctionData, type Hex, maxUint256, parseSignature } from "viem"

import { DollarToken, type EvmTestAccounts, EvmTestChain } from "../src/testing/index.ts"
import * as Eip3009 from "../src/transfer/Eip3009.ts"

type Ruling = "pause" | "unpause" | "blacklist" | "unBlacklist"

/** Calldata of the token owner's controls. */
export const ruling = Effect.fnUntraced(function* (functionName: Ruling, account?: Hex) {
  const { token } = yield* EvmTestChain.EvmTestChain
  const args = account === undefined ? ([] as const) : ([account] as const)
  return { to: token.address, data: encodeFunctionData({ abi: DollarToken.abi, functionName, args }) }
})

/** Sends one of the token owner's controls. */
export const rule = Effect.fnUntraced(function* (functionName: Ruling, account?: Hex) {
  const { send } = yield* EvmTestChain.EvmTestChain
  assert.strictEqual((yield* send(yield* ruling(functionName, account))).status, "success")
})

/** Calldata by which a payer cancels an authorization. */
export const cancellation = Effect.fnUntraced(function* (
  { from, nonce }: Pick<Eip3009.TransferWithAuthorization, "from" | "nonce">,
  payer: EvmTestAccounts.TestAccount
) {
  const { chainId, token } = yield* EvmTestChain.EvmTestChain
  const message = { authorizer: from, nonce }
  const signature = yield* Effect.promise(() =>
    payer.signTypedData({
      domain: { name: token.name, version: token.version, chainId, verifyingContract: token.address },
      types: {
        CancelAuthorization: [
          { name: "authorizer", type: "address" },
          { name: "nonce", type: "bytes32" }
        ]
      },
      primaryType: "CancelAuthorization",
      message
    })
  )
  const { r, s, v } = parseSignature(signature)
  const data = encodeFunctionData({
    abi: DollarToken.abi,
    functionName: "cancelAuthorization",
    args: [from, nonce, Number(v), r, s]
  })
  return { to: token.address, data }
})

/** Calldata by which the chain's deployer, once approved, takes a payer's whole balance. */
export const emptying = Effect.fnUntraced(function* (payer: Hex) {
  const { accounts, balanceOf, token } = yield* EvmTestChain.EvmTestChain
  const balance = yield* balanceOf(payer)
  const data = encodeFunctionData({
    abi: DollarToken.abi,
    functionName: "transferFrom",
    args: [payer, accounts.deployer.address, balance]
  })
  return { to: token.address, data }
})

/** Approves the deployer to take the payer's balance, by the payer's own transaction. */
export const allow = Effect.fnUntraced(function* (payer: EvmTestAccounts.TestAccount) {
  const { accounts, client, receipt, setBalance, token } = yield* EvmTestChain.EvmTestChain
  yield* setBalance(payer.address, 10n ** 18n)
  const hash = yield* Effect.promise(() =>
    client.writeContract({
      account: payer,
      address: token.address,
      abi: DollarToken.abi,
      functionName: "approve",
      args: [accounts.deployer.address, maxUint256],
      gas: 100_000n
    })
  )
  assert.strictEqual((yield* receipt(hash)).status, "success")
})

/** Calldata by which anybody submits an authorization. */
export const transfer = (to: Hex, authorization: Eip3009.TransferWithAuthorization, signature: Hex) => ({
  to,
  data: Eip3009.encodeTransferByParts(authorization, signature)
})
