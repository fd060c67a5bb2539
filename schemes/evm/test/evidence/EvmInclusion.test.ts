import { assert, describe, it } from "@effect/vitest"
import { ChainUnavailable } from "@pontage/core"
import * as Effect from "effect/Effect"

import * as EvmInclusion from "../../src/evidence/EvmInclusion.ts"
import type * as EvmRpc from "../../src/node/EvmRpc.ts"
import type * as EvmHex from "../../src/primitives/EvmHex.ts"

const hash = (digit: string): EvmHex.Hex => `0x${digit.repeat(64)}`
const transaction = hash("1")

const receipt: EvmRpc.Receipt = {
  transactionHash: transaction,
  status: "success",
  blockNumber: 7n,
  blockHash: hash("b"),
  gasUsed: 1n,
  logs: []
}
const silent = new ChainUnavailable({ network: "eip155:1", message: "silence" })

const ask = (
  found: EvmRpc.Receipt | undefined,
  block: Effect.Effect<Pick<EvmRpc.Block, "hash"> | undefined, ChainUnavailable>
) => {
  const rpc = {
    getTransactionReceipt: () => Effect.succeed(found),
    getBlock: (number: bigint) => (number === 7n ? block : Effect.die(new Error("another block")))
  } as unknown as EvmRpc.Shape
  return EvmInclusion.receipt(rpc, transaction)
}

describe("a receipt is believed", () => {
  it.effect("when its block is part of the chain", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* ask(receipt, Effect.succeed({ hash: hash("b") })), receipt)
    })
  )

  it.effect("not when another block is in that place, or none is known", () =>
    Effect.gen(function* () {
      assert.isUndefined(yield* ask(receipt, Effect.succeed({ hash: hash("c") })))
      assert.isUndefined(yield* ask(receipt, Effect.undefined))
    })
  )

  it.effect("not when there is none, and then no block is asked for", () =>
    Effect.gen(function* () {
      assert.isUndefined(yield* ask(undefined, Effect.die(new Error("asked"))))
    })
  )

  it.effect("by nobody while the block cannot be asked for", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* Effect.flip(ask(receipt, Effect.fail(silent))), silent)
    })
  )
})
