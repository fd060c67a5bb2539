import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { TronWeb } from "tronweb"

import * as TronAddress from "../../src/primitives/TronAddress.ts"
import * as TronHex from "../../src/primitives/TronHex.ts"

const usdt = "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"
const usdtHex = "41a614f803b6fd780986a42c78ec9c7f77e6ded13c"
const bytes20 = fc.uint8Array({ minLength: 20, maxLength: 20 })
const addresses = bytes20.map((bytes) => TronAddress.fromTail(TronHex.fromBytes(bytes)))

describe("TronAddress", () => {
  it("reads the address of USDT in every form that configurations may have", () => {
    for (const text of [usdt, usdtHex, `0x${usdtHex}`, usdtHex.replace("a6", "A6")]) {
      assert.strictEqual(TronAddress.fromText(text), usdtHex, text)
    }
  })

  it("writes and reads base58check as tronweb does", () => {
    fc.assert(
      fc.property(addresses, (address) => {
        const text = TronAddress.toBase58(address)
        assert.strictEqual(text, TronWeb.address.fromHex(address))
        assert.strictEqual(TronAddress.fromBase58(text), address)
      })
    )
  })

  it("reads only base58check from the wire", () => {
    for (const text of [usdtHex, `0x${usdtHex}`, `${usdt} `, ` ${usdt}`, `${usdt}\n`, usdt.toLowerCase(), ""]) {
      assert.isUndefined(TronAddress.fromBase58(text), text)
    }
  })

  it("refuses every change of one character", () => {
    const alphabet = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz0OIl"
    for (let at = 0; at < usdt.length; at++) {
      for (const character of alphabet) {
        if (character === usdt[at]) continue
        assert.isUndefined(TronAddress.fromText(`${usdt.slice(0, at)}${character}${usdt.slice(at + 1)}`))
      }
    }
  })

  it("refuses hexadecimal of another length or another kind of address", () => {
    for (const text of [usdtHex.slice(2), `0x${usdtHex.slice(2)}`, `${usdtHex}00`, `a0${usdtHex.slice(2)}`, "41"]) {
      assert.isUndefined(TronAddress.fromText(text), text)
    }
    assert.isUndefined(TronAddress.fromBytes(TronHex.toBytes(`a0${usdtHex.slice(2)}`)))
    assert.isUndefined(TronAddress.fromBytes(TronHex.toBytes(`${usdtHex}00`)))
  })

  it("compares accounts, not texts", () => {
    assert.isTrue(TronAddress.equals(usdt, usdtHex))
    assert.isFalse(TronAddress.equals(usdt, TronAddress.toBase58(TronAddress.fromTail("0".repeat(40)))))
    assert.isFalse(TronAddress.equals("invalid", "invalid"))
  })

  it("forgets the oldest texts without other effects", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 6000 }), (number) => {
        const address = TronAddress.fromTail(number.toString(16).padStart(40, "0"))
        assert.strictEqual(TronAddress.fromBase58(TronAddress.toBase58(address)), address)
      }),
      { numRuns: 5000 }
    )
  })
})
