import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"

import { Ed25519 } from "../../src/index.ts"

const bytes = (hex: string) => Uint8Array.from(Buffer.from(hex, "hex"))

/** RFC 8032, section 7.1. */
const vectors = [
  {
    seed: "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
    key: "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
    message: "",
    signature:
      "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"
  },
  {
    seed: "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
    key: "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
    message: "72",
    signature:
      "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
  }
]

const both = [Ed25519.fromNode(), Ed25519.javaScript].filter((one) => one !== undefined)

describe("Ed25519", () => {
  it("has both implementations here", () => assert.strictEqual(both.length, 2))

  for (const ed25519 of both) {
    it(`by ${ed25519.name} keeps the vectors of RFC 8032`, () => {
      for (const { key, message, seed, signature } of vectors) {
        assert.deepStrictEqual(Buffer.from(ed25519.sign(bytes(seed), bytes(message))).toString("hex"), signature)
        assert.isTrue(ed25519.verify(bytes(key), bytes(message), bytes(signature)))
        assert.strictEqual(Buffer.from(Ed25519.publicKeyOf(bytes(seed))).toString("hex"), key)
      }
    })

    it(`by ${ed25519.name} accepts no other signature, key or message, and never throws`, () => {
      const [{ key, message, signature } = { key: "", message: "", signature: "" }] = vectors
      for (let at = 0; at < 64; at++) {
        const changed = bytes(signature)
        changed[at] = (changed[at] ?? 0) ^ 1
        assert.isFalse(ed25519.verify(bytes(key), bytes(message), changed))
      }
      assert.isFalse(ed25519.verify(bytes(key), bytes("00"), bytes(signature)))
      for (const wrong of [new Uint8Array(0), new Uint8Array(31), new Uint8Array(33), new Uint8Array(32).fill(255)]) {
        assert.isFalse(ed25519.verify(wrong, bytes(message), bytes(signature)))
        assert.isFalse(ed25519.verify(bytes(key), bytes(message), wrong))
      }
    })

    it(`by ${ed25519.name} accepts no signature whose number is beyond the order`, () => {
      const [{ key, message, signature } = { key: "", message: "", signature: "" }] = vectors
      const order = 2n ** 252n + 27742317777372353535851937790883648493n
      const malleable = bytes(signature)
      let s = order
      for (let at = 63; at >= 32; at--) s += BigInt(malleable[at] ?? 0) << BigInt(8 * (at - 32))
      for (let at = 32; at < 64; at++) malleable[at] = Number((s >> BigInt(8 * (at - 32))) & 255n)
      assert.isFalse(ed25519.verify(bytes(key), bytes(message), malleable))
    })
  }

  it("signs the same by both", () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), fc.uint8Array(), (seed, message) => {
        const [first, second] = both.map(({ sign }) => Buffer.from(sign(seed, message)).toString("hex"))
        assert.strictEqual(first, second)
      }),
      { numRuns: 20 }
    )
  })
})
