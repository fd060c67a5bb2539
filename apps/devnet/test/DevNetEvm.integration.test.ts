import { assert, describe, it } from "@effect/vitest"
import { exactEvm } from "@pontage/evm"
import * as Effect from "effect/Effect"

import { DevNet } from "../src/index.ts"

describe("the local EVM chain", () => {
  it.live("has what a facilitator needs, payments that travel together included, and says where", () =>
    Effect.gen(function* () {
      const chains = yield* DevNet.make()
      const { evm, evmBatchSettler } = chains
      const [signer] = evm.accounts.signers
      const batches = { settler: evmBatchSettler }
      const scheme = yield* exactEvm.facilitator({ signer, rpcUrl: evm.rpcUrl, batches })
      assert.strictEqual(scheme.batches?.maximum, 50)
      const [funds] = yield* scheme.signers
      assert.isAbove(Number(funds?.balance), 0)
      const said = DevNet.describe(chains).join("\n")
      for (const word of [evm.network, evm.rpcUrl, evm.token.address, evmBatchSettler, signer.privateKey])
        assert.include(said, word)
    })
  )
})
