import { assert, describe, it, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { getContractAddress } from "viem"

import { Delegate7702, EvmTestChain } from "../../src/testing/index.ts"

const chain = EvmTestChain.EvmTestChain

describe("EvmTestChain", () => {
  layer(EvmTestChain.layer({ payers: 3 }))((it) => {
    it.effect("has its token at the same address in every run", () =>
      Effect.gen(function* () {
        const { accounts, token } = yield* chain
        const first = getContractAddress({ from: accounts.deployer.address, nonce: 0n })
        assert.strictEqual(token.address.toLowerCase(), first.toLowerCase())
        assert.strictEqual(accounts.deployer.address, "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266")
      })
    )

    it.effect("gives payers tokens and no coin, signers coin, the payee nothing", () =>
      Effect.gen(function* () {
        const { accounts, balanceOf, client } = yield* chain
        for (const payer of accounts.payers) {
          assert.strictEqual(yield* balanceOf(payer.address), 1_000_000_000n)
          assert.strictEqual(yield* Effect.promise(() => client.getBalance({ address: payer.address })), 0n)
        }
        const coin = yield* Effect.promise(() => client.getBalance({ address: accounts.signers[0].address }))
        assert.isAbove(Number(coin), 0)
        assert.strictEqual(yield* balanceOf(accounts.payee.address), 0n)
      })
    )

    it.effect("goes back to a snapshot", () =>
      Effect.gen(function* () {
        const { accounts, balanceOf, mint, revert, snapshot, transfers } = yield* chain
        const before = yield* snapshot
        yield* mint(accounts.payee.address, 5n)
        assert.strictEqual(yield* balanceOf(accounts.payee.address), 5n)
        assert.strictEqual((yield* transfers()).at(-1)?.value, 5n)
        yield* revert(before)
        assert.strictEqual(yield* balanceOf(accounts.payee.address), 0n)
      })
    )

    it.effect("mines by hand, drops and reorganises", () =>
      Effect.gen(function* () {
        const { accounts, client, drop, mine, receipt, reorg, setAutomine, submit } = yield* chain
        const count = (blockTag: "latest" | "pending") =>
          Effect.promise(() => client.getTransactionCount({ address: accounts.stranger.address, blockTag }))
        const transaction = { from: accounts.stranger.address, to: accounts.payee.address, value: 1n }
        yield* setAutomine(false)
        const dropped = yield* submit(transaction)
        yield* drop(dropped)
        const hash = yield* submit(transaction)
        assert.strictEqual(yield* count("latest"), 0)
        yield* mine()
        assert.strictEqual((yield* receipt(hash)).status, "success")
        assert.strictEqual(yield* count("latest"), 1)
        yield* reorg(1)
        assert.strictEqual(yield* count("latest"), 0)
        yield* setAutomine(true)
      })
    )

    it.effect("delegates an account", () =>
      Effect.gen(function* () {
        const { accounts, client, delegate, deploy } = yield* chain
        const code = yield* deploy(Delegate7702)
        const [, , payer] = accounts.payers
        assert.isDefined(payer)
        yield* delegate(payer, code)
        const installed = yield* Effect.promise(() => client.getCode({ address: payer.address }))
        assert.strictEqual(installed, `0xef0100${code.slice(2).toLowerCase()}`)
      })
    )
  })
  it.effect("starts with its options: its id, its time, its payers, and no mining", () =>
    Effect.gen(function* () {
      const timestamp = 2_000_000_000
      const made = yield* EvmTestChain.make({ chainId: 7, timestamp, payers: 2, payerBalance: 5n, noMining: true })
      const { accounts, balanceOf, client, mine, receipt, submit } = made
      assert.strictEqual(made.network, "eip155:7")
      assert.deepStrictEqual(yield* Effect.all(accounts.payers.map((payer) => balanceOf(payer.address))), [5n, 5n])
      const head = () => client.getBlock()
      const { number, timestamp: now } = yield* Effect.promise(head)
      assert.isAtLeast(Number(now), timestamp)
      const hash = yield* submit({ to: accounts.payee.address, value: 1n })
      assert.strictEqual((yield* Effect.promise(head)).number, number)
      yield* mine()
      assert.strictEqual((yield* receipt(hash)).blockNumber, number + 1n)
    })
  )

  it.effect("mines in intervals", () =>
    Effect.gen(function* () {
      const { accounts, send } = yield* EvmTestChain.make({ payers: 1, blockTime: 1 })
      assert.strictEqual((yield* send({ to: accounts.payee.address, value: 1n })).status, "success")
    })
  )
})
