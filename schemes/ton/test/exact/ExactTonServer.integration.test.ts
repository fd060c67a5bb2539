/** The scheme server: its assets, and its checks at start. */
import { assert, describe, layer } from "@effect/vitest"
import { type Asset, Misconfigured } from "@pontage/core"
import { Address, beginCell, Cell } from "@ton/core"
import * as Effect from "effect/Effect"

import { exactTon, TonNetwork } from "../../src/index.ts"
import { ToncenterFault, TonTestChain } from "../../src/testing/index.ts"

describe("the scheme server", () => {
  layer(TonTestChain.layer(), { excludeTestServices: true })((it) => {
    const setUp = Effect.gen(function* () {
      const chain = yield* TonTestChain.TonTestChain
      const { jetton, network, rpcUrl } = chain
      const custom = { network, address: jetton.address.toString(), symbol: "TUSD", decimals: 6 }
      const server = exactTon.server({ rpcUrl, network, assets: [custom] })
      const asset = server.asset(TonNetwork.local, undefined)
      return { chain, server, asset: asset ?? assert.fail("there is a default") }
    })

    it.effect("finds an asset by symbol and in every form of its address, and writes it raw", () =>
      Effect.gen(function* () {
        const { asset, chain, server } = yield* setUp
        assert.strictEqual(asset.address, chain.jetton.raw)
        for (const text of ["TUSD", chain.jetton.raw, chain.jetton.address.toString({ bounceable: false })])
          assert.strictEqual(server.asset(TonNetwork.local, text), asset)
        assert.isUndefined(server.asset(TonNetwork.local, "USDT"))
        assert.strictEqual(exactTon.server({ rpcUrl: chain.rpcUrl }).network, TonNetwork.mainnet)
        assert.strictEqual(
          exactTon.server({ rpcUrl: chain.rpcUrl }).asset(TonNetwork.mainnet, undefined)?.symbol,
          "USDT"
        )
      })
    )

    it.effect("proves the network and the master", () =>
      Effect.gen(function* () {
        const { asset, server } = yield* setUp
        yield* server.prove(TonNetwork.local, [asset])
        const wrong = yield* Effect.flip(server.prove(TonNetwork.mainnet, [asset]))
        assert.strictEqual(wrong._tag, "Misconfigured")
      })
    )

    it.effect("refuses an asset that is not a master", () =>
      Effect.gen(function* () {
        const { asset, chain, server } = yield* setUp
        const { payee, payers } = chain.accounts
        const swallowing = yield* chain.install({ code: beginCell().endCell(), data: Cell.EMPTY }, 1n)
        for (const address of [payee.raw, payers[0].raw, swallowing.toRawString()]) {
          const other: Asset = { ...asset, address }
          const error = yield* Effect.flip(server.prove(TonNetwork.local, [other]))
          assert.strictEqual(error._tag, "Misconfigured")
        }
      })
    )

    it.effect("proves nothing while the chain is unavailable", () =>
      Effect.gen(function* () {
        const { asset, chain, server } = yield* setUp
        yield* chain.spoil("*", ToncenterFault.Broken())
        const error = yield* Effect.flip(server.prove(TonNetwork.local, [asset]))
        assert.strictEqual(error._tag, "ChainUnavailable")
        yield* chain.mend
      })
    )

    it.effect("refuses an invalid configuration", () =>
      Effect.gen(function* () {
        const { rpcUrl } = yield* TonTestChain.TonTestChain
        const asset = { network: "ton:mainnet", symbol: "X", decimals: 6 }
        const testOnly = new Address(0, Buffer.alloc(32, 1)).toString({ testOnly: true })
        for (const wrong of [
          { network: "ton:somewhere" },
          { assets: [{ ...asset, address: "nobody" }] },
          { assets: [{ ...asset, address: `0:${"1".repeat(64)}`, decimals: 37 }] },
          { assets: [{ ...asset, address: `0:${"1".repeat(64)}`, network: "eip155:1" }] },
          { assets: [{ ...asset, address: testOnly }] }
        ]) {
          assert.throws(() => exactTon.server({ rpcUrl, ...wrong }), Misconfigured)
        }
      })
    )
  })
})
