import { assert, describe, it } from "@effect/vitest"
import { secp256k1 } from "@noble/curves/secp256k1.js"
import * as fc from "fast-check"
import { bytesToHex, parseSignature, recoverAddress, serializeErc6492Signature, serializeSignature } from "viem"
import { privateKeyToAccount, sign } from "viem/accounts"

import { javaScript } from "../../src/crypto/EvmCrypto.ts"
import * as EvmSignature from "../../src/crypto/EvmSignature.ts"
import * as EvmAddress from "../../src/primitives/EvmAddress.ts"
import * as EvmHex from "../../src/primitives/EvmHex.ts"

const { n: order } = secp256k1.Point.CURVE()
const keys = fc.bigInt(1n, order - 1n).map((value) => EvmHex.toWord(value))
const digests = fc.uint8Array({ minLength: 32, maxLength: 32 })

const signed = async (key: string, digest: Uint8Array) => {
  const parts = await sign({ hash: bytesToHex(digest), privateKey: `0x${key}` })
  return { parts, hex: serializeSignature(parts) }
}

const unsigned = (r: bigint, s: bigint) => `0x${EvmHex.toWord(r)}${EvmHex.toWord(s)}1b`

const irregularity = (text: string) => {
  const signature = EvmSignature.fromText(text)
  return signature._tag === "ContractOnly" ? signature.irregularity : signature._tag
}

describe("EvmSignature", () => {
  it("recovers the signer", () =>
    fc.assert(
      fc.asyncProperty(keys, digests, async (key, digest) => {
        const signature = EvmSignature.fromText((await signed(key, digest)).hex)
        assert(signature._tag === "Ecdsa")
        const signer = privateKeyToAccount(`0x${key}`).address.toLowerCase()
        assert.strictEqual(EvmSignature.recoverAddress(digest, signature, javaScript), signer)
      }),
      { numRuns: 20 }
    ))

  it("agrees with viem on any signature, also where there is no signer", () =>
    fc.assert(
      fc.asyncProperty(
        digests,
        fc.uint8Array({ minLength: 64, maxLength: 64 }),
        fc.boolean(),
        async (digest, rs, odd) => {
          rs[32] = (rs[32] ?? 0) & 0x7f
          const signature = EvmSignature.fromText(`${bytesToHex(rs)}${odd ? "1c" : "1b"}`)
          if (signature._tag !== "Ecdsa") return
          const expected = await recoverAddress({ hash: bytesToHex(digest), signature: signature.hex }).catch(
            () => undefined
          )
          assert.strictEqual(EvmSignature.recoverAddress(digest, signature, javaScript), expected?.toLowerCase())
        }
      ),
      { numRuns: 50 }
    ))

  it("names what is irregular", async () => {
    const digest = new Uint8Array(32).fill(7)
    const { hex, parts } = await signed("11".repeat(32), digest)
    const highS = serializeSignature({
      r: parts.r,
      s: `0x${EvmHex.toWord(order - BigInt(parts.s))}`,
      yParity: 1 - (parts.yParity ?? 0)
    })
    assert.strictEqual(irregularity(hex), "Ecdsa")
    assert.strictEqual(irregularity(highS), "high_s")
    assert.strictEqual(parseSignature(hex).s, parts.s)
    assert.strictEqual(irregularity(`${hex.slice(0, 130)}00`), "recovery_id")
    assert.strictEqual(irregularity(`${hex.slice(0, 130)}01`), "recovery_id")
    assert.strictEqual(irregularity(`${hex.slice(0, 130)}1d`), "recovery_id")
    assert.strictEqual(irregularity(hex.slice(0, 130)), "compact")
    assert.strictEqual(irregularity("0x"), "length")
    assert.strictEqual(irregularity(`${hex}00`), "length")
  })

  it("allows s up to half of the order and no further", () => {
    const half = order >> 1n
    assert.strictEqual(irregularity(unsigned(1n, half)), "Ecdsa")
    assert.strictEqual(irregularity(unsigned(1n, half + 1n)), "high_s")
  })

  it("finds no signer for zeros and for numbers beyond the order", () => {
    for (const [r, s] of [
      [0n, 1n],
      [1n, 0n],
      [order, 1n]
    ] as const) {
      const signature = EvmSignature.fromText(unsigned(r, s))
      assert(signature._tag === "Ecdsa")
      assert.isUndefined(EvmSignature.recoverAddress(new Uint8Array(32), signature, javaScript))
    }
  })

  it("recognises a wrapped signature of an account that is not deployed", () => {
    const address = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
    const bytes = fc.uint8Array({ maxLength: 100 }).map((one) => bytesToHex(one))
    fc.assert(
      fc.property(bytes, bytes, (factoryData, signature) => {
        const text = serializeErc6492Signature({ address, data: factoryData, signature })
        const factory = EvmAddress.fromText(address) ?? assert.fail("an address")
        assert.deepStrictEqual(EvmSignature.fromText(text), { _tag: "Erc6492", factory, factoryData, signature })
      })
    )
  })

  it("refuses a wrapped signature that is not in its one encoding, whatever is changed", () => {
    const address = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
    const text = serializeErc6492Signature({ address, data: "0x1234", signature: `0x${"11".repeat(65)}` }).slice(2)
    const [end, factoryEnd] = [text.length - 64, 64]
    // With another length, zeros of the padding belong to the part.
    const isPart = (at: number) =>
      at === 255 ||
      at === 383 ||
      (at >= 24 && at < factoryEnd) ||
      (at >= 256 && at < 260) ||
      (at >= 384 && at < 384 + 130)
    for (let at = 0; at < end; at++) {
      const changed = `0x${text.slice(0, at)}${text[at] === "f" ? "e" : "f"}${text.slice(at + 1)}`
      const { _tag } = EvmSignature.fromText(changed)
      assert.strictEqual(_tag, isPart(at) ? "Erc6492" : "Malformed", `digit ${at}`)
    }
    for (let length = 0; length < end; length += 2) {
      const { _tag } = EvmSignature.fromText(`0x${text.slice(0, length)}${text.slice(end)}`)
      assert.strictEqual(_tag, "Malformed", `${length} digits`)
    }
  })

  it("refuses what is no text of bytes, and what is too long", () => {
    for (const text of ["", "0", "0x1", "11", "0xzz", " 0x11"])
      assert.strictEqual(irregularity(text), "Malformed", text)
    const longest = `0x${"00".repeat(EvmSignature.maximumBytes)}`
    assert.strictEqual(irregularity(longest), "length")
    assert.deepStrictEqual(EvmSignature.fromText(`${longest}00`), { _tag: "Malformed", reason: "too_long" })
  })

  it("asks the cryptography it is given", async () => {
    const digest = new Uint8Array(32).fill(7)
    const signature = EvmSignature.fromText((await signed("11".repeat(32), digest)).hex)
    assert(signature._tag === "Ecdsa")
    assert.isUndefined(
      EvmSignature.recoverAddress(digest, signature, { ...javaScript, recoverPublicKey: () => undefined })
    )
  })
})
