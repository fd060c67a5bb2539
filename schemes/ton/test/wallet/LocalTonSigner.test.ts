import { inspect } from "node:util"

import { assert, describe, it } from "@effect/vitest"
import { Misconfigured } from "@pontage/core"
import * as Redacted from "effect/Redacted"

import { Ed25519, exactTon } from "../../src/index.ts"
import { scheme } from "../../src/payment/ExactTon.ts"

const seed = "c0ffee11".repeat(8)
const bytes = Uint8Array.from(Buffer.from(seed, "hex"))

describe("exactTon.localSigner", () => {
  it("signs with the key of a seed, with 0x or without, redacted or not", async () => {
    const hash = new Uint8Array(32).fill(7)
    const signers = [seed, `0x${seed}`, seed.toUpperCase(), Redacted.make(seed)].map((given) =>
      exactTon.localSigner(given)
    )
    for (const { publicKey } of signers) assert.deepStrictEqual(publicKey, Ed25519.publicKeyOf(bytes))
    const signatures = await Promise.all(signers.map(({ sign }) => sign(hash)))
    for (const signature of signatures) {
      assert.isTrue(Ed25519.javaScript.verify(Ed25519.publicKeyOf(bytes), hash, signature))
    }
  })

  it("makes a client and a facilitator's signer", () => {
    const signer = exactTon.localSigner(seed)
    const client = exactTon.client({ signer, network: "ton", rpcUrl: "http://127.0.0.1:1" })
    assert.strictEqual(client.network, "ton:mainnet")
  })

  it("shows its seed nowhere, and refuses what is none without quoting it", () => {
    assert.notInclude(inspect(exactTon.localSigner(seed), { depth: 10, showHidden: true }), "c0ffee11")
    for (const given of [undefined, "", seed.slice(1), `${seed}00`, "zz".repeat(32)]) {
      try {
        exactTon.localSigner(given as never)
        assert.fail(String(given))
      } catch (error) {
        assert.instanceOf(error, Misconfigured)
        assert.notInclude(inspect(error, { depth: 10 }), "0ffee11")
        const unset = given === undefined || given === ""
        assert.match(
          String(error),
          unset ? /is the environment variable that holds it set/ : /not 64 hexadecimal digits/
        )
      }
    }
  })
})

describe("a recipient on TON", () => {
  it("is no account of nobody", () => {
    for (const text of [`0:${"0".repeat(64)}`, "EQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAM9c"]) {
      assert.match(scheme.recipientFault?.(text) ?? "", /is the zero address/)
    }
    assert.isUndefined(scheme.recipientFault?.(`0:${"1".repeat(64)}`))
  })
})
