import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"

import * as DevNet from "../src/DevNet.ts"

describe("the local chains", () => {
  it.live("run side by side, and are described with what it takes to use them", () =>
    Effect.gen(function* () {
      const chains = yield* DevNet.make()
      const { evm, tron } = chains
      const lines = DevNet.describe(chains)
      assert.strictEqual(lines.length, 25)
      for (const chain of [evm, tron]) {
        const { payee, payers, signers } = chain.accounts
        const text = lines.filter((line) => line.includes(chain.rpcUrl) || line.startsWith("  ")).join("\n")
        assert.include(text, `${chain.network} at ${chain.rpcUrl}`)
        assert.include(text, chain.token.address)
        assert.include(text, payee.address)
        for (const { address, privateKey } of [signers[0], payers[0]]) {
          assert.include(text, `${address} key ${privateKey}`)
        }
      }
      assert.strictEqual(yield* evm.balanceOf(evm.accounts.payers[0].address), 1_000_000_000n)
      assert.strictEqual(yield* tron.balanceOf(tron.accounts.payers[0].address), 1_000_000_000n)
      assert.strictEqual(yield* tron.balance(tron.accounts.payers[0].address), 1_000_000_000n)
    }).pipe(Effect.scoped)
  )
})
