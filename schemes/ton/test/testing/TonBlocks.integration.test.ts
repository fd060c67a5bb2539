import { assert, describe, it, layer } from "@effect/vitest"
import { internal, toNano } from "@ton/core"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"

import { TonTestChain } from "../../src/testing/index.ts"
import * as TonTestTransfer from "./TonTestTransfer.ts"

const chain = TonTestChain.TonTestChain

const parcel = 1_000_000n

/** Number of messages with TON that have reached the payee, which pays for its storage from them. */
const parcels = Effect.gen(function* () {
  const { accounts, coins } = yield* chain
  return ((yield* coins(accounts.payee.address)) + parcel - 1n) / parcel
})

/** State of a payment: the payer's seqno and the payee's balance. */
const progress = Effect.gen(function* () {
  const { accounts, balanceOf, client } = yield* chain
  const { stack } = yield* Effect.promise(() => client.runMethod(accounts.payers[0].address, "seqno"))
  return [stack.readNumber(), yield* balanceOf(accounts.payee.address)] as const
})

describe("blocks", () => {
  layer(TonTestChain.layer({ payers: 1, newcomers: 1, veterans: 1, blocks: "manual" }), {
    excludeTestServices: true
  })((it) => {
    it.effect("take one hop each: the payer's seqno advances before the payee is credited", () =>
      Effect.gen(function* () {
        const { accounts, block, credits, head, send } = yield* chain
        const transfer = yield* TonTestTransfer.usual
        const before = yield* head
        yield* send(accounts.relayers[0], TonTestTransfer.carried(transfer, toNano("0.05")))
        assert.strictEqual((yield* head).seqno, before.seqno)
        const seen: Array<readonly [number, bigint]> = []
        for (let hop = 0; hop < 5; hop++) {
          const made = yield* block
          assert.strictEqual(made.transactions.length, 1)
          assert.strictEqual(made.seqno, before.seqno + hop + 1)
          seen.push(yield* progress)
        }
        assert.deepStrictEqual(seen, [
          [0, 0n],
          [1, 0n],
          [1, 0n],
          [1, 10_000n],
          [1, 10_000n]
        ])
        assert.strictEqual((yield* credits(accounts.payee.address))[0]?.block, before.seqno + 4)
        assert.deepStrictEqual((yield* block).transactions, [])
      })
    )

    it.effect("drop a message from outside that has expired in the meantime", () =>
      Effect.gen(function* () {
        const { accounts, block, client, time } = yield* chain
        const { address, secretKey, wallet } = accounts.relayers[1]
        const timeout = (yield* time) + 60
        const envelope = (value: bigint) => {
          const messages = [internal({ to: accounts.stranger.address, value })]
          const body = wallet.createTransfer({
            seqno: 0,
            secretKey,
            timeout,
            sendMode: TonTestTransfer.sendMode,
            messages
          })
          return TonTestTransfer.envelope(address, body)
        }
        yield* Effect.promise(() => client.sendFile(envelope(1n)))
        yield* Effect.promise(() => client.sendFile(envelope(2n)))
        yield* Effect.promise(() => client.sendFile(envelope(1n)))
        const { transactions } = yield* block
        assert.deepStrictEqual(
          transactions.map(({ account }) => account),
          [accounts.relayers[1].raw]
        )
        yield* block
        assert.deepStrictEqual((yield* block).transactions, [])
      })
    )

    it.effect("have a time that can be moved forward, and that contracts obey", () =>
      Effect.gen(function* () {
        const { accounts, block, client, setTime, time } = yield* chain
        const { address, secretKey, wallet } = accounts.relayers[2]
        const start = yield* time
        const messages = [internal({ to: accounts.stranger.address, value: 1n })]
        const body = wallet.createTransfer({
          seqno: 0,
          secretKey,
          timeout: start + 60,
          sendMode: TonTestTransfer.sendMode,
          messages
        })
        yield* setTime(start + 3600)
        yield* setTime(start)
        const made = yield* block
        assert.isAtLeast(made.utime, start + 3600)
        const late = yield* Effect.promise(() =>
          client.sendFile(TonTestTransfer.envelope(address, body)).then(
            () => "taken",
            () => "refused"
          )
        )
        assert.strictEqual(late, "refused")
      })
    )

    it.effect("follow an interval or come at once, by the schedule", () =>
      Effect.gen(function* () {
        const { accounts, block, head, send, setBlocks } = yield* chain
        const [relayer] = accounts.relayers
        const pay = send(relayer, internal({ to: accounts.payee.address, value: parcel, bounce: false }))
        const before = yield* head
        yield* pay
        yield* setBlocks({ everyMillis: 5 })
        while ((yield* parcels) < 1n) yield* Effect.promise(() => new Promise(setImmediate))
        assert.isAtLeast((yield* head).seqno, before.seqno + 2)
        yield* setBlocks("manual")
        yield* pay
        yield* block
        assert.strictEqual(yield* parcels, 1n)
        yield* setBlocks("instant")
        assert.strictEqual(yield* parcels, 2n)
        yield* pay
        assert.strictEqual(yield* parcels, 3n)
      })
    )
  })

  it.effect("are never behind the clock on a chain that makes them at once", () =>
    Effect.gen(function* () {
      const { client, head } = yield* TonTestChain.make({ payers: 1, newcomers: 1, veterans: 1, timestamp: 5000 })
      const first = yield* head
      assert.strictEqual(first.utime, 5000)
      yield* Effect.promise(() => client.getMasterchainInfo())
      assert.strictEqual((yield* head).seqno, first.seqno)
      yield* TestClock.adjust("7 seconds")
      const { latestSeqno } = yield* Effect.promise(() => client.getMasterchainInfo())
      assert.strictEqual(latestSeqno, first.seqno + 1)
      assert.strictEqual((yield* head).utime, 5007)
    })
  )

  it.effect(
    "are forgotten after a while, with their transactions and states, except the newest state of an account",
    () =>
      Effect.gen(function* () {
        const options = { payers: 1, newcomers: 1, veterans: 1, keepBlocks: 3 }
        const { accounts, block, client, coins, send, size, transactions } = yield* TonTestChain.make(options)
        const [relayer] = accounts.relayers
        const pay = send(relayer, internal({ to: accounts.payee.address, value: 5n, bounce: false }))
        yield* Effect.replicateEffect(pay, 4)
        const small = yield* size
        yield* Effect.replicateEffect(pay, 20)
        assert.deepStrictEqual(yield* size, small)
        assert.strictEqual(small.blocks, 3)
        assert.strictEqual((yield* transactions(relayer.address)).length, 3)
        yield* Effect.replicateEffect(block, 5)
        assert.deepStrictEqual(yield* transactions(relayer.address), [])
        assert.strictEqual(yield* coins(accounts.payee.address), 24n * 5n)
        const state = yield* Effect.promise(() => client.getContractState(relayer.address))
        assert.strictEqual(state.state, "active")
        assert.isNotNull(state.lastTransaction)
      })
  )
})
