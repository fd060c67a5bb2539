import { assert, describe, it } from "@effect/vitest"
import { internal } from "@ton/core"
import { JettonWallet, TonClient } from "@ton/ton"
import * as Effect from "effect/Effect"

import { DevNet } from "../src/index.ts"

describe("the local TON chain", () => {
  it.live("has what a facilitator and a buyer need, and says where", () =>
    Effect.gen(function* () {
      const chains = yield* DevNet.make()
      const { accounts, governed, jetton, network, rpcUrl } = chains.ton
      const [relayer] = accounts.relayers
      const [payer] = accounts.payers
      const client = new TonClient({ endpoint: rpcUrl })
      assert.isAbove(Number(yield* Effect.promise(() => client.getBalance(relayer.address))), 0)
      const wallet = client.open(JettonWallet.create(jetton.walletOf(payer.address)))
      assert.strictEqual(yield* Effect.promise(() => wallet.getBalance()), 1_000_000_000n)
      const said = DevNet.describe(chains).join("\n")
      const [relayerKey, payerKey] = [relayer, payer].map(({ seed }) => seed.toString("hex"))
      for (const word of [network, rpcUrl, jetton.raw, governed.raw, payer.raw, relayerKey ?? "?", payerKey ?? "?"])
        assert.include(said, word)
    })
  )

  it.live("makes its blocks at the pace that is asked for, and not at once", () =>
    Effect.gen(function* () {
      const { ton } = yield* DevNet.make({ blockTime: 1 })
      const { payee, relayers } = ton.accounts
      yield* ton.send(relayers[0], internal({ to: payee.address, value: 1_000_000n, bounce: false }))
      assert.strictEqual(yield* ton.coins(payee.address), 0n)
      yield* ton.block
      yield* ton.block
      assert.strictEqual(yield* ton.coins(payee.address), 1_000_000n)
    })
  )
})
