import { assert, describe, it } from "@effect/vitest"
import { EvmTestChain } from "@pontage/evm/testing"
import * as Effect from "effect/Effect"

import { sellOne } from "../src/EffectShop.ts"

describe("the Effect program of core's README", () => {
  it.live("sells one report on a chain: one response is one transfer", () =>
    Effect.gen(function* () {
      const chain = yield* EvmTestChain.make({ payers: 1 })
      const { payee, payers, signers } = chain.accounts
      const text = yield* sellOne({
        origin: "https://shop.example",
        secret: "a secret of at least thirty-two characters",
        network: chain.network,
        rpcUrl: chain.rpcUrl,
        payTo: payee.address,
        relayer: signers[0],
        payer: payers[0]
      })
      assert.strictEqual(text, "It will rain, and then it will not.")
      const paid = (yield* chain.transfers()).filter(({ to }) => to === payee.address)
      assert.deepStrictEqual(
        paid.map(({ from, value }) => [from, value]),
        [[payers[0].address, 10_000n]]
      )
    })
  )
})
