import { assert, layer } from "@effect/vitest"
import { EvmTestChain } from "@pontage/evm/testing"
import * as Effect from "effect/Effect"

import * as ViemSettler from "../../src/facilitators/ViemSettler.ts"

layer(EvmTestChain.layer({ chainId: 84_532, payers: 1 }), { excludeTestServices: true })("the peers' signer", (it) => {
  it.effect("gives each transaction of a new account a number of its own, before the first is sent", () =>
    Effect.gen(function* () {
      const { accounts, rpcUrl } = yield* EvmTestChain.EvmTestChain
      const viem = ViemSettler.client({ rpcUrl, key: accounts.stranger.privateKey })
      const { address, nonceManager } = viem.account
      const next = Effect.promise(async () => nonceManager?.consume({ address, chainId: viem.chain.id, client: viem }))
      const numbers = [yield* next, yield* next, ...(yield* Effect.all([next, next], { concurrency: "unbounded" }))]
      assert.sameMembers(numbers, [0, 1, 2, 3])
    })
  )
})
