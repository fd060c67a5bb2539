import { assert, describe, layer } from "@effect/vitest"
import { Address, internal, toNano, type Transaction } from "@ton/core"
import * as Effect from "effect/Effect"

import { TonTestChain } from "../../src/testing/index.ts"
import * as TonTestTransfer from "./TonTestTransfer.ts"

const chain = TonTestChain.TonTestChain

describe("TonTestChain", () => {
  layer(TonTestChain.layer({ payers: 4 }), { excludeTestServices: true })((it) => {
    it.effect("carries a gasless payment over five hops: the payee is credited, the payer's TON does not change", () =>
      Effect.gen(function* () {
        const { accounts, balanceOf, client, coins, credits, jetton, send } = yield* chain
        const [relayer] = accounts.relayers
        const transfer = yield* TonTestTransfer.usual
        assert.strictEqual(yield* coins(transfer.payer.address), 0n)
        const before = yield* coins(relayer.address)
        yield* send(relayer, TonTestTransfer.carried(transfer, toNano("0.05")))
        assert.strictEqual(yield* coins(transfer.payer.address), 0n)
        assert.strictEqual(yield* balanceOf(transfer.payer.address), 1_000_000_000n - 10_000n)
        assert.strictEqual(yield* balanceOf(accounts.payee.address), 10_000n)
        assert.isAbove(Number((yield* coins(relayer.address)) - before), Number(toNano("-0.05")))
      })
    )
  })
})
