import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import * as fc from "fast-check"
import { getAddress } from "viem"

import * as EvmAddress from "../../src/primitives/EvmAddress.ts"

const lowerCaseText = fc.stringMatching(/^0x[0-9a-f]{40}$/)

describe("EvmAddress", () => {
  it("writes the checksum viem writes, and reads it back", () => {
    fc.assert(
      fc.property(lowerCaseText, (text) => {
        const address = EvmAddress.fromText(text)
        assert(address !== undefined)
        assert.strictEqual(address, text)
        const checksum = EvmAddress.checksum(address)
        assert.strictEqual(checksum, getAddress(text))
        assert.strictEqual(EvmAddress.fromText(checksum), address)
        assert.strictEqual(EvmAddress.fromText(`0x${text.slice(2).toUpperCase()}`), address)
      })
    )
  })

  it("reads the examples of EIP-55", () => {
    for (const text of [
      "0x52908400098527886E0F7030069857D2E4169EE7",
      "0xde709f2102306220921060314715629080e2fb77",
      "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
      "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359",
      "0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB",
      "0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb"
    ]) {
      assert.strictEqual(EvmAddress.fromText(text), text.toLowerCase())
    }
  })

  it("refuses everything else", () => {
    for (const text of [
      "",
      "0x",
      "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAe",
      "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAedd",
      "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1Beaed",
      "0X5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
      "5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
      " 0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed",
      "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed\n",
      "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaeg"
    ]) {
      assert.isUndefined(EvmAddress.fromText(text), text)
    }
  })

  it("compares accounts, not texts", () => {
    const text = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
    assert.isTrue(EvmAddress.equals(text, text.toLowerCase()))
    assert.isFalse(EvmAddress.equals(text, EvmAddress.zero))
    assert.isFalse(EvmAddress.equals("nobody", "nobody"))
  })

  it("is a codec: strict in, checksum out", () => {
    const text = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
    const address = Schema.decodeUnknownSync(EvmAddress.FromText)(text.toLowerCase())
    assert.strictEqual(Schema.encodeSync(EvmAddress.FromText)(address), text)
    assert.throws(() => Schema.decodeUnknownSync(EvmAddress.FromText)("0x00"), /Expected an address/)
    assert.throws(() => Schema.decodeUnknownSync(EvmAddress.FromText)(7))
  })

  it("goes on checking when more addresses are seen than remembered", () => {
    const addresses = Array.from({ length: 5000 }, (_, i) =>
      EvmAddress.fromTail(`0x${i.toString(16).padStart(64, "a")}`)
    )
    for (const address of [...addresses, ...addresses.slice(0, 10)]) EvmAddress.checksum(address)
    assert.strictEqual(EvmAddress.checksum(addresses[0] ?? EvmAddress.zero), getAddress(addresses[0] ?? "0x"))
  })
})

describe("EvmAddress.recipientFault", () => {
  it("names the account of nobody, and the right checksum of a nearly right address", () => {
    const right = "0x209693Bc6afc0C5328bA36FaF03C514EF312287C"
    assert.match(EvmAddress.recipientFault(EvmAddress.zero) ?? "", /is the zero address/)
    assert.include(
      EvmAddress.recipientFault(right.replace("Bc6", "bc6")),
      `wrong checksum, so it may be mistyped; if every digit is right, write ${right}`
    )
    for (const text of [right, right.toLowerCase(), "shop.eth", ""]) assert.isUndefined(EvmAddress.recipientFault(text))
  })
})
