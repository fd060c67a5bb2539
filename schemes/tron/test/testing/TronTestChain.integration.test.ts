import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"

import { TronTestChain } from "../../src/testing/TronTestChain.ts"
import * as TestChain from "../../src/testing/TronTestChain.ts"

layer(TestChain.layer())("the test chain", (it) => {
  it.effect("is the same in every run", () =>
    Effect.gen(function* () {
      const chain = yield* TronTestChain
      assert.strictEqual(chain.token.address, "TTMj1Ld6hEc5bw98ywUzsfhXAhhn4KLQvb")
      const { payers, payee } = chain.accounts
      const found = yield* chain.call({
        from: payers[0],
        signature: "transfer(address,uint256)",
        parameters: [payee.address, 1n]
      })
      console.log(found.receipt)
    })
  )
})
