import { assert, describe, it } from "@effect/vitest"
import { WalletContractV5R1 } from "@ton/ton"

import { TonNetwork, TonWallet } from "../../src/index.ts"

describe("TonNetwork", () => {
  it("accepts other names of a network, and writes one", () => {
    for (const text of ["ton:mainnet", "ton:-239", "tvm:-239", "ton", "ton-mainnet"])
      assert.strictEqual(TonNetwork.fromText(text), TonNetwork.mainnet)
    for (const text of ["ton:testnet", "ton:-3", "tvm:-3", "ton-testnet"])
      assert.strictEqual(TonNetwork.fromText(text), TonNetwork.testnet)
    assert.strictEqual(TonNetwork.fromText("ton:local"), TonNetwork.local)
  })

  for (const text of ["", "tonn", "ton:", "ton:Mainnet", "TON:mainnet", "tvm:mainnet", "-239", "ton:239", "eip155:1"]) {
    it(`knows no network "${text}"`, () => assert.isUndefined(TonNetwork.fromText(text)))
  }

  it("gives wallets the ids that the public chains' wallets have", () => {
    assert.strictEqual(TonNetwork.walletId(TonNetwork.mainnet), 2147483409)
    assert.strictEqual(TonNetwork.walletId(TonNetwork.testnet), 2147483645)
  })

  it("finds the network of a default wallet's id", () => {
    for (const network of [TonNetwork.mainnet, TonNetwork.testnet, TonNetwork.local])
      assert.strictEqual(TonNetwork.ofUsualWallet(TonNetwork.walletId(network)), network)
    assert.isUndefined(TonNetwork.ofUsualWallet(TonNetwork.walletId(TonNetwork.mainnet, 7)))
  })

  it("puts wallets where the public library puts them", () => {
    const publicKey = Buffer.alloc(32, 5)
    for (const network of [TonNetwork.mainnet, TonNetwork.testnet, TonNetwork.local]) {
      for (const subwalletNumber of [0, 1, 32_767]) {
        const walletId = {
          networkGlobalId: TonNetwork.globalId(network),
          context: { workchain: 0, walletVersion: "v5r1", subwalletNumber }
        } as const
        const { address } = WalletContractV5R1.create({ publicKey, walletId })
        const ours = TonWallet.w5Address(publicKey, TonNetwork.walletId(network, subwalletNumber))
        assert.strictEqual(ours, address.toRawString())
      }
    }
  })
})
