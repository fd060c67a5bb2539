/**
 * A lane of a signer on an EVM chain: its slots, its balance, and the bytes that are sent in it. Every scheme of this family works so.
 */
import {
  type Block,
  ChainUnavailable,
  type PreparedTransaction,
  type SchemeFacilitator,
  type SlotCount
} from "@pontage/core"
import * as Effect from "effect/Effect"

import * as EvmRpc from "../node/EvmRpc.ts"
import * as EvmHex from "../primitives/EvmHex.ts"
import * as EvmNetwork from "../primitives/EvmNetwork.ts"
import { addressOf } from "./EvmSender.ts"
import type { ExactEvmChain } from "./ExactEvmChain.ts"

/**
 * The account's count of transactions on the configured network: the same key may be used on others, and a node that now serves
 * one of them counts those.
 */
export const nextSlot = Effect.fnUntraced(function* (
  { chainHead, network, rpc }: Pick<ExactEvmChain, "chainHead" | "network" | "rpc">,
  lane: string,
  counting: SlotCount
) {
  const served = EvmNetwork.fromChainId(yield* rpc.chainId)
  if (served !== network) {
    const message = `the node configured for ${network} now serves ${served}`
    return yield* new ChainUnavailable({ network, message })
  }
  const block = counting === "final" ? (yield* chainHead).final : counting === "included" ? "latest" : "pending"
  return BigInt(yield* rpc.getTransactionCount(addressOf(lane), block))
})

/** The signers' balances, in wei. */
export const balances = ({ rpc, signers }: Pick<ExactEvmChain, "rpc" | "signers">): SchemeFacilitator["signers"] =>
  Effect.forEach(
    [...signers.keys()],
    (address) => Effect.map(rpc.getBalance(addressOf(address)), (wei) => ({ address, balance: wei })),
    { concurrency: "unbounded" }
  )

/** Whether a block is part of the chain. A node that lacks a block of that number lags and proves nothing. */
export const isCanonical = Effect.fnUntraced(function* (rpc: EvmRpc.Shape, { hash, number }: Block) {
  const found = yield* rpc.getBlock(number)
  return found === undefined ? yield* EvmRpc.unknownBlock(rpc, number) : found.hash === hash
})

export const submit = (rpc: EvmRpc.Shape, prepared: PreparedTransaction): ReturnType<SchemeFacilitator["submit"]> =>
  Effect.map(rpc.sendRawTransaction(EvmHex.fromTrusted(prepared.bytes)), (outcome) => {
    switch (outcome._tag) {
      case "Accepted":
      case "AlreadyKnown":
        return { _tag: "Accepted" }
      case "NonceTooLow":
        return { _tag: "SlotUsed" }
      case "Underpriced":
        return { _tag: "Outdated", message: outcome.message }
      case "InsufficientFunds":
      case "Rejected":
        return { _tag: "Refused", message: outcome.message }
    }
  })
