import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"

import * as WebhookSignature from "../../src/webhooks/WebhookSignature.ts"

const { sign, verifyWebhook } = WebhookSignature
const secret = "a-secret-of-the-shop"
const body = '{"id":"n1"}'
const now = 1_700_000_000

/** Computed with another program: `printf '1700000000.{"id":"n1"}' | openssl dgst -sha256 -hmac a-secret-of-the-shop`. */
const vector = "7ad59c1fc7413be4e23f144bbf4b66b645fd751c621a540e021252dc6b510be0"

describe("a webhook", () => {
  it("is signed as other programs sign it", () => {
    assert.strictEqual(sign(secret, body, now), `t=${now},v1=${vector}`)
    assert.isTrue(verifyWebhook(secret, `t=${now},v1=${vector}`, body, now))
  })

  it("is genuine with whatever body and secret it was signed", () =>
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), fc.string({ unit: "binary" }), fc.nat(), (key, text, time) => {
        assert.isTrue(verifyWebhook(key, sign(key, text, time), text, time))
        assert.isFalse(verifyWebhook(`${key}x`, sign(key, text, time), text, time))
        assert.isFalse(verifyWebhook(key, sign(key, text, time), `${text}x`, time))
      })
    ))

  it("is not genuine with a time that was not signed", () => {
    assert.isFalse(verifyWebhook(secret, `t=${now + 1},v1=${vector}`, body, now))
  })

  it("is old, or of the future, beyond five minutes", () => {
    const header = sign(secret, body, now)
    assert.isTrue(verifyWebhook(secret, header, body, now + 300))
    assert.isTrue(verifyWebhook(secret, header, body, now - 300))
    assert.isFalse(verifyWebhook(secret, header, body, now + 301))
    assert.isFalse(verifyWebhook(secret, header, body, now - 301))
  })

  it("is genuine with one signature of several, while a secret is replaced", () => {
    assert.isTrue(verifyWebhook(secret, `t=${now},v1=${"0".repeat(64)},v1=${vector}`, body, now))
    assert.isTrue(verifyWebhook(secret, `t=${now}, v1=${vector}, v1=${"0".repeat(64)}`, body, now))
  })

  it.each([
    undefined,
    "",
    "v1=",
    `t=${now}`,
    `v1=${vector}`,
    `t=,v1=${vector}`,
    `t=1e9,v1=${vector}`,
    `t=${now},t=${now},v1=${vector}`,
    `t=${now},v1=${vector.slice(2)}`,
    `t=${now},v1=${vector.toUpperCase()}`,
    `t=${now},v0=${vector}`,
    `t=${now},v1=${vector}${" ".repeat(1100)}`
  ])("is not genuine with the header %s", (header) => {
    assert.isFalse(verifyWebhook(secret, header, body, now))
  })

  it("is never genuine without a secret", () => {
    assert.isFalse(verifyWebhook("", sign("", body, now), body, now))
  })

  it("takes whatever comes for a header", () =>
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (header) => assert.isFalse(verifyWebhook(secret, header, body, now)))
    ))
})
