import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"

import * as ExactEvm from "../src/payment/ExactEvm.ts"

describe("the nonce of a challenge of the Machine Payments Protocol", () => {
  /** An id and its nonce as the protocol's own package signs it. */
  const id = "2c8MFVbsuFtjxu9qQjq8XS-d_HEjFOkIefuKdVB-R3A"
  const binding = { salt: id.slice(0, 22), challenge: id.slice(22), realm: "api.example.com" }

  it.effect("is the whole Keccak-256 hash of id and realm", () =>
    Effect.map(ExactEvm.boundNonce(binding), (nonce) =>
      assert.strictEqual(nonce, "0x86dd1569fcfbbe9e22c2f57857afebe6299ec56ea3fb73e84ccc62b6bf81f9f1")
    )
  )

  it.effect("differs in another realm, and from the nonce without a realm", () =>
    Effect.gen(function* () {
      const { realm: _, ...own } = binding
      const nonces = yield* Effect.forEach(
        [binding, { ...binding, realm: "api.example.org" }, own],
        ExactEvm.boundNonce
      )
      assert.strictEqual(new Set(nonces).size, 3)
      assert.match(nonces[2] ?? "", /0{16}$/)
    })
  )
})
