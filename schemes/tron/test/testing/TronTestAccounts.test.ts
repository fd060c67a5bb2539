import { assert, describe, it } from "@effect/vitest"
import { TronWeb } from "tronweb"

import * as TronTestAccounts from "../../src/testing/TronTestAccounts.ts"

describe("TronTestAccounts", () => {
  it("derives the same accounts each time, each with its own key", () => {
    const { deployer, payee, payers, signers, stranger } = TronTestAccounts.make(3)
    const all = [deployer, payee, stranger, ...signers, ...payers]
    assert.strictEqual(payers.length, 3)
    assert.strictEqual(new Set(all.map(({ address }) => address)).size, 10)
    for (const { address, privateKey } of all) {
      assert.strictEqual(TronWeb.address.fromPrivateKey(privateKey), address)
    }
    assert.strictEqual(payee.address, "TDw7aQRbjjmog7riJEK8W4HPQWnftX726a")
  })
})
