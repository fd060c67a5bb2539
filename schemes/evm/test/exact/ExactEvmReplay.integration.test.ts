/** One authorization presented many times at once: one caller may serve, one transfer is made, no gas is wasted. */
import { assert, describe, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"

import { EvmTestChain } from "../../src/testing/index.ts"
import * as Payment from "../EvmTestPayment.ts"

const copies = Array.from({ length: 200 }, (_, index) => index)

/** The count of each word. */
const tally = (words: ReadonlyArray<string>) =>
  Object.fromEntries([...Map.groupBy(words, (word) => word)].map(([word, all]) => [word, all.length]))

describe("one authorization, 200 times at once", () => {
  layer(EvmTestChain.layer({ payers: 1 }), { excludeTestServices: true })((it) => {
    it.effect("grants one of 200 claims, makes one transfer and sends one transaction", () =>
      Effect.gen(function* () {
        const { accounts, balanceOf, client } = yield* EvmTestChain.EvmTestChain
        const before = yield* balanceOf(accounts.payee.address)
        const fromBlock = yield* Effect.promise(() => client.getBlockNumber())
        const facilitator = yield* Payment.facilitator()
        const { authorization, request } = yield* Payment.signedPayment(Payment.bound())
        const executions = yield* Effect.forEach(
          copies,
          (copy) =>
            Effect.map(facilitator.settle(request, Payment.claim(`copy${copy}`)), ({ execution }) => `${execution}`),
          { concurrency: "unbounded" }
        )
        assert.deepStrictEqual(tally(executions), { granted: 1, held: 199 })
        assert.strictEqual(yield* balanceOf(accounts.payee.address), before + 10_000n)
        assert.strictEqual(yield* Payment.timesUsed(authorization), 1)
        assert.deepStrictEqual(yield* Payment.statusesOf(accounts.signers[0].address, fromBlock), ["success"])
      })
    )

    it.effect("answers one of 200 callers without a claim", () =>
      Effect.gen(function* () {
        const { accounts, client } = yield* EvmTestChain.EvmTestChain
        const fromBlock = yield* Effect.promise(() => client.getBlockNumber())
        const facilitator = yield* Payment.facilitator()
        const { authorization, request } = yield* Payment.signedPayment()
        const ends = yield* Effect.forEach(copies, () => Payment.outcome(facilitator.settle(request)), {
          concurrency: "unbounded"
        })
        const words = ends.map((end) => end.split(" ")[0] ?? end)
        assert.deepStrictEqual(tally(words), { ok: 1, already_used: 199 })
        assert.strictEqual(yield* Payment.timesUsed(authorization), 1)
        assert.deepStrictEqual(yield* Payment.statusesOf(accounts.signers[0].address, fromBlock + 1n), ["success"])
      })
    )

    it.effect("is one authorization however its copies are written", () =>
      Effect.gen(function* () {
        const { accounts } = yield* EvmTestChain.EvmTestChain
        const facilitator = yield* Payment.facilitator()
        const message = yield* Payment.authorization()
        const { nonce } = message
        const spellings: ReadonlyArray<Payment.Deviation> = [
          {},
          { written: { nonce: `0x${nonce.slice(2).toUpperCase()}` } },
          { written: { from: accounts.payers[0].address.toLowerCase() } },
          { written: { to: accounts.payee.address.toLowerCase() } },
          { signature: (signature) => `0x${signature.slice(2).toUpperCase()}` },
          { requirements: { asset: accounts.payee.address } }
        ]
        const requests = yield* Effect.forEach(spellings, (spelling) =>
          Payment.payment({ ...spelling, signed: message })
        )
        const ends = yield* Effect.forEach(
          requests,
          (request, index) => Payment.settled(facilitator.settle(request, Payment.claim(`spelling${index}`))),
          { concurrency: "unbounded" }
        )
        assert.strictEqual(ends.filter((end) => typeof end === "object" && end.execution === "granted").length, 1)
        assert.strictEqual(yield* Payment.timesUsed(message), 1)
      })
    )
  })
})
