import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

import { EvmTestChain } from "../../src/testing/index.ts"

const accounts = 400
const rounds = 60
const depth = 3
/** Blocks behind the head in which a reorganisation shows. */
const newest = 8n

const Block = Schema.Struct({
  hash: Schema.String,
  parentHash: Schema.String,
  transactions: Schema.Array(Schema.Struct({ from: Schema.String }))
})
const decodeBlock = Schema.decodeUnknownSync(Schema.NullOr(Block))

/** The blocks from this one on, the oldest first; each is there, and follows the one before it. */
const wholeFrom = Effect.fnUntraced(function* ({ client, request }: EvmTestChain.Shape, first?: bigint) {
  const head = yield* Effect.promise(() => client.getBlockNumber({ cacheTime: 0 }))
  const blocks: Array<typeof Block.Type> = []
  for (let number = first ?? head - newest; number <= head; number++) {
    const block = decodeBlock(yield* request("eth_getBlockByNumber", [`0x${number.toString(16)}`, true]))
    assert.isNotNull(block, `the block ${number} of ${head}`)
    const before = blocks.at(-1)
    if (before !== undefined) assert.strictEqual(block.parentHash, before.hash, `the block ${number} of ${head}`)
    blocks.push(block)
  }
  return blocks
})

describe("AnvilControl", () => {
  // Without a pause of the node's mining, every tenth reorganisation here breaks the chain.
  it.effect("reorganises a chain that is being mined into a whole one", () =>
    Effect.gen(function* () {
      const chain = yield* EvmTestChain.make({ payers: 1 })
      const { mine, reorg, request, setBalance, submit } = chain
      const { payee, stranger } = chain.accounts
      // A larger state is restored more slowly.
      for (let index = 0; index < accounts; index++)
        yield* setBalance(`0x${(index + 4_096).toString(16).padStart(40, "0")}`, 1n)
      yield* mine(Number(newest))
      for (let round = 0; round < rounds; round++) {
        yield* submit({ from: stranger.address, to: payee.address, value: 1n })
        yield* reorg(depth)
        yield* wholeFrom(chain)
      }
      const sent = (yield* wholeFrom(chain, 1n)).flatMap(({ transactions }) =>
        transactions.filter(({ from }) => from === stranger.address.toLowerCase())
      )
      const counted = yield* Effect.promise(() => chain.client.getTransactionCount({ address: stranger.address }))
      assert.strictEqual(counted, sent.length)
      assert.isTrue(yield* request("anvil_getAutomine"))
    })
  )

  it.effect("mines in the same intervals after a reorganisation as before", () =>
    Effect.gen(function* () {
      const {
        accounts: { payee, stranger },
        receipt,
        reorg,
        request,
        submit
      } = yield* EvmTestChain.make({
        payers: 1,
        blockTime: 1
      })
      yield* reorg(1)
      assert.strictEqual(yield* request("anvil_getIntervalMining"), 1)
      const hash = yield* submit({ from: stranger.address, to: payee.address, value: 1n })
      assert.strictEqual((yield* receipt(hash)).status, "success")
    })
  )
})
