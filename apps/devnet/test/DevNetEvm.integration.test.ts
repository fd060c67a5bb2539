import { assert, describe, it } from "@effect/vitest"
import { ChannelContract, exactEvm } from "@pontage/evm"
import * as Effect from "effect/Effect"

import { DevNet } from "../src/index.ts"

describe("the local EVM chain", () => {
  it.live("has what a facilitator needs, payments that travel together included, and says where", () =>
    Effect.gen(function* () {
      const chains = yield* DevNet.make()
      const { evm, evmBatchSettler, evmSmartAccounts } = chains
      const [signer] = evm.accounts.signers
      const batches = { settler: evmBatchSettler }
      const { counterfactualSettler, paymentGuard, plainToken, safe } = evmSmartAccounts
      const options = { counterfactualSettler, userOperations: {}, permit2: true }
      const scheme = yield* exactEvm.facilitator({ signer, rpcUrl: evm.rpcUrl, batches, ...options })
      assert.hasAllKeys(scheme.extra, ["userOperations", "permit2"])
      for (const token of [evm.token.address, plainToken])
        assert.strictEqual(yield* evm.balanceOf(safe, token), 1_000_000_000n)
      assert.isUndefined(yield* Effect.promise(() => evm.client.getCode({ address: safe })))
      assert.strictEqual(scheme.batches?.maximum, 50)
      for (const address of [
        ChannelContract.address,
        ChannelContract.erc3009Collector,
        ChannelContract.permit2Collector
      ])
        assert.isDefined(yield* Effect.promise(() => evm.client.getCode({ address })))
      const [funds] = yield* scheme.signers
      assert.isAbove(Number(funds?.balance), 0)
      const said = DevNet.describe(chains).join("\n")
      for (const word of [
        evm.network,
        evm.rpcUrl,
        evm.token.address,
        evmBatchSettler,
        counterfactualSettler,
        paymentGuard,
        plainToken,
        safe,
        ChannelContract.address,
        signer.privateKey
      ])
        assert.include(said, word)
    })
  )
})
