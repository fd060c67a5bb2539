import { Hash } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as fc from "fast-check"
import { assert, describe, it } from "vitest"

import * as Challenge from "../../../src/server/offer/Challenge.ts"

const subject: Challenge.Subject = {
  origin: "https://shop.example",
  method: "GET",
  target: "/report?day=1",
  scheme: "exact",
  network: "eip155:8453",
  asset: "0xasset",
  payTo: "0xpayee",
  maxAmountRequired: "10000",
  bodyDigest: undefined
}

const secret = new TextEncoder().encode("s".repeat(32))
const hash = Hash.fromWebCrypto(crypto)

const challenge = (changes: Partial<Challenge.Subject> = {}, epoch = 7, key = secret) =>
  Effect.runPromise(Challenge.make(hash, key, { ...subject, ...changes }, epoch))

describe("make", () => {
  it("is HMAC-SHA-256 over the JSON list, base64url", async () => {
    // Node's own HMAC over the same text: node -e with crypto.createHmac("sha256", "s".repeat(32)).
    assert.strictEqual(await challenge(), "bIzDyhlD1kWsiJW395kfSmVeXm0mfIz_hixZBJB71eE")
  })

  it("changes with every field, the epoch and the secret", async () => {
    const all = await Promise.all([
      challenge(),
      ...Object.keys(subject).map((field) => challenge({ [field]: "other" })),
      challenge({}, 8),
      challenge({}, 7, new TextEncoder().encode("t".repeat(32)))
    ])
    assert.strictEqual(new Set(all).size, all.length)
  })

  it("never joins two lists of fields to the same text", () =>
    fc.assert(
      fc.asyncProperty(fc.string(), fc.string(), fc.string(), fc.string(), async (a, b, c, d) => {
        fc.pre(a !== c || b !== d)
        assert.notStrictEqual(await challenge({ method: a, target: b }), await challenge({ method: c, target: d }))
      })
    ))
})

describe("epochAt", () => {
  it("counts quarters of an hour", () => {
    assert.strictEqual(Challenge.epochAt(0), 0)
    assert.strictEqual(Challenge.epochAt(899_999), 0)
    assert.strictEqual(Challenge.epochAt(900_000), 1)
  })
})

describe("isSame", () => {
  it("is equality", () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (one, other) => {
        assert.isTrue(Challenge.isSame(one, one))
        assert.strictEqual(Challenge.isSame(one, other), one === other)
      })
    )
  })
})
