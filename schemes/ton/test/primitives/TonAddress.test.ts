import { assert, describe, it } from "@effect/vitest"
import { Address } from "@ton/core"
import * as fc from "fast-check"

import { TonAddress } from "../../src/index.ts"

const raw = "0:b113a994b5024a16719f69139328eb759596c38a25f59028b146fecdc3621dfe"
const core = Address.parseRaw(raw)

describe("TonAddress", () => {
  it("accepts every strict form of one account, and knows the mark of test networks", () => {
    for (const bounceable of [true, false]) {
      for (const urlSafe of [true, false]) {
        const text = core.toString({ bounceable, urlSafe })
        assert.deepStrictEqual(TonAddress.parse(text), { address: TonAddress.fromText(raw), testOnly: false })
        const test = core.toString({ bounceable, urlSafe, testOnly: true })
        assert.deepStrictEqual(TonAddress.parse(test), { address: TonAddress.fromText(raw), testOnly: true })
      }
    }
  })

  const friendly = core.toString()
  const wrong: Readonly<Record<string, string>> = {
    "upper-case raw": `0:${raw.slice(2).toUpperCase()}`,
    "a space around it": ` ${raw}`,
    "a space behind a friendly one": `${friendly} `,
    "another workchain": `-1:${raw.slice(2)}`,
    "workchain 1": `1:${raw.slice(2)}`,
    "workchain 300": `300:${raw.slice(2)}`,
    "workchain 0 in another spelling": `0e0:${raw.slice(2)}`,
    "the masterchain, friendly": new Address(-1, core.hash).toString(),
    "the zero address": `0:${"0".repeat(64)}`,
    "the zero address, friendly": new Address(0, Buffer.alloc(32)).toString(),
    "a digit too few": raw.slice(0, -1),
    "a digit too many": `${raw}0`,
    "a wrong checksum": `${friendly.slice(0, -1)}${friendly.endsWith("A") ? "B" : "A"}`,
    "a published invalid example": "EQ5d11d21276ac6b5efdf179e654ff0c6eee34e0abfa263ad4ce1ae3c2d1c8b3",
    nothing: "",
    "an EVM address": "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"
  }
  for (const [name, text] of Object.entries(wrong)) {
    it(`is not ${name}`, () => assert.isUndefined(TonAddress.fromText(text)))
  }

  it("is not written in two alphabets at once", () => {
    const hash = Buffer.alloc(32, 0xfb)
    const text = new Address(0, hash).toString({ urlSafe: false })
    const mixed = text.replace("+", "-")
    assert.isTrue(text.includes("+") && mixed.includes("+"))
    assert.isDefined(TonAddress.fromText(text))
    assert.isUndefined(TonAddress.fromText(mixed))
  })

  it("is equal to every form of itself and to no other account", () => {
    assert.isTrue(TonAddress.equals(raw, friendly))
    assert.isFalse(TonAddress.equals(raw, raw.replace("b1", "b2")))
    assert.isFalse(TonAddress.equals("nobody", "nobody"))
  })

  it("stays the same through every form of the library", () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), (hash) => {
        fc.pre(hash.some((byte) => byte !== 0))
        const address = TonAddress.fromHash(hash)
        assert.strictEqual(TonAddress.fromText(TonAddress.toCore(address).toString()), address)
        assert.strictEqual(TonAddress.fromCore(TonAddress.toCore(address)), address)
      })
    )
  })

  it("parses any text without throwing, and accepts none that the library refuses", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 80 }), (text) => {
        const found = TonAddress.fromText(text)
        assert.isTrue(found === undefined || Address.parse(text).toRawString() === found)
      })
    )
  })
})
