import { assert, describe, layer } from "@effect/vitest"
import { EvmTestChain } from "@pontage/evm/testing"
import * as Effect from "effect/Effect"

import * as ChainFacts from "../../src/audit/ChainFacts.ts"
import * as EmptyingPayer from "../../src/trials/EmptyingPayer.ts"
import * as ChainRpc from "../../src/world/ChainRpc.ts"
import * as TrialPayment from "../../src/world/TrialPayment.ts"
import * as TrialRandom from "../../src/world/TrialRandom.ts"

const random = TrialRandom.make("facts")

const read = Effect.fnUntraced(function* (fromBlock = 0n) {
  const { accounts, rpcUrl, token } = yield* EvmTestChain.EvmTestChain
  const signers = [accounts.stranger.address]
  return yield* ChainFacts.read(ChainRpc.make(rpcUrl), {
    token: token.address,
    payees: [accounts.payee.address],
    signers,
    fromBlock
  })
})

const signed = Effect.fnUntraced(function* (name: string, changed: Partial<TrialPayment.Terms> = {}) {
  const { accounts, chainId, network, token } = yield* EvmTestChain.EvmTestChain
  const terms = { payer: accounts.payers[0], payTo: accounts.payee.address, amount: 7n, bound: false }
  const market = { network, chainId, token }
  return yield* Effect.promise(() =>
    TrialPayment.sign(market, { ...terms, validBefore: 4_000_000_000, ...changed }, random.branch(name))
  )
})

/** The transaction that settles a payment, sent by the stranger. */
const settle = Effect.fnUntraced(function* (payment: TrialPayment.TrialPayment) {
  const { accounts, send, token } = yield* EvmTestChain.EvmTestChain
  return yield* send({ from: accounts.stranger.address, to: token.address, data: EmptyingPayer.callOf(payment) })
})

describe("the facts of the chain", () => {
  layer(EvmTestChain.layer(), { excludeTestServices: true })((it) => {
    it.effect("is of each transfer which authorization moved it, and by whom it was sent", () =>
      Effect.gen(function* () {
        const { accounts } = yield* EvmTestChain.EvmTestChain
        for (const bound of [false, true]) {
          const payment = yield* signed(`paid ${bound}`, { bound })
          const { blockNumber, status, transactionHash } = yield* settle(payment)
          assert.strictEqual(status, "success")
          const { transfers } = yield* read(blockNumber)
          assert.strictEqual(transfers.length, 1)
          assert.deepInclude(transfers[0], {
            transaction: transactionHash,
            from: payment.journal.payer,
            to: payment.journal.payTo,
            value: 7n,
            nonce: payment.journal.nonce,
            sender: accounts.stranger.address.toLowerCase()
          })
        }
      })
    )

    it.effect("tells transfers by their owner from those by authorization, and leaves out what goes to others", () =>
      Effect.gen(function* () {
        const { accounts, mint, send, token } = yield* EvmTestChain.EvmTestChain
        yield* mint(accounts.stranger.address, 9n)
        const data = `0xa9059cbb${accounts.payee.address.slice(2).padStart(64, "0")}${"9".padStart(64, "0")}` as const
        const { blockNumber } = yield* send({ from: accounts.stranger.address, to: token.address, data })
        yield* settle(yield* signed("elsewhere", { payTo: accounts.deployer.address }))
        const { transfers } = yield* read(blockNumber)
        assert.deepStrictEqual(
          transfers.map(({ nonce, value }) => [nonce, value]),
          [[undefined, 9n]]
        )
      })
    )

    it.effect("is of a signer what it paid for, what reverted, and what waits in the pool", () =>
      Effect.gen(function* () {
        const { accounts, mine, setAutomine, submit } = yield* EvmTestChain.EvmTestChain
        const payment = yield* signed("twice")
        const first = yield* settle(payment)
        const second = yield* settle(payment)
        assert.strictEqual(second.status, "reverted")
        const found = yield* read(first.blockNumber)
        assert.deepStrictEqual(
          found.transactions.map(({ reverted }) => reverted),
          [false, true]
        )
        for (const [index, receipt] of [first, second].entries()) {
          assert.strictEqual(found.transactions[index]?.cost, receipt.gasUsed * receipt.effectiveGasPrice)
          assert.include(found.transactions[index]?.input, payment.journal.nonce.slice(2))
        }
        assert.deepStrictEqual(found.standings[0]?.pooled, [])

        yield* setAutomine(false)
        yield* submit({ from: accounts.stranger.address, to: accounts.payee.address, gas: 21_000n })
        const waiting = yield* read(first.blockNumber)
        const [standing] = waiting.standings
        assert.deepStrictEqual(standing?.pooled, [standing?.included ?? -1n])
        yield* mine()
        yield* setAutomine(true)
      })
    )
  })
})
