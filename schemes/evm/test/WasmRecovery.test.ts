import { assert, describe, it } from "@effect/vitest"

import { EvmHex } from "../src/index.ts"
import { fromJavaScript } from "../src/SignatureRecovery.ts"
import { fromWasm } from "../src/WasmRecovery.ts"

/** The signed sample of the x402 specification, version 2: digest, r and s, recovery bit 1. */
const digest = EvmHex.toBytes("0xf256992871671abcb27ff92885a7afa46218724e5fc0bac35d050115aa1d22e6")
const signature = EvmHex.toBytes(
  "0x2d6a7588d6acca505cbf0d9a4a227e0c52c6c34008c8e8986a1283259764173608a2ce6496642e377d6da8dbbf5836e9bd15092f9ecab05ded3d6293af148b57"
)

describe("fromWasm", () => {
  it("recovers what the JavaScript recovery recovers", () => {
    for (const recovery of [0, 1] as const) {
      const key = fromWasm(digest, signature, recovery)
      assert.strictEqual(key?.length, 65)
      assert.deepStrictEqual(key, fromJavaScript(digest, signature, recovery))
    }
  })

  it("recovers nothing from no signature", () => {
    for (const bytes of [new Uint8Array(64), new Uint8Array(64).fill(255), new Uint8Array(10)]) {
      assert.isUndefined(fromWasm(digest, bytes, 0))
    }
  })
})
