import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

import * as ApiKey from "../src/callers/ApiKey.ts"
import * as LedgerService from "./LedgerService.ts"

const keyOf = (name: string) => ({ authorization: `Bearer key-of-${name}` })
const callers = ["victim", "other"].map((name) => ({ name, keys: [ApiKey.digestOf(`key-of-${name}`)] }))
const claim = { id: "claim-of-the-victim-00", resource: "resource".padEnd(43, "x") }
const nobodys = "pay_0000000000000000000000"

const decodeSettled = Schema.decodeUnknownEffect(Schema.Struct({ paymentId: Schema.String, success: Schema.Boolean }))

/** The part that a stranger reads: status, type of content and body, with the payment's name taken out. */
const read = (response: Response, paymentId: string) =>
  Effect.map(
    Effect.promise(() => response.text()),
    (text) => ({
      status: response.status,
      type: response.headers.get("content-type"),
      text: text.replaceAll(paymentId, "<id>")
    })
  )

describe("another caller's payment over HTTP", () => {
  it.live("is unknown at every endpoint, like one that does not exist, and stays unchanged", () =>
    Effect.gen(function* () {
      const { get, post } = yield* LedgerService.open({ callers })
      const sent = { ...(yield* LedgerService.pay()), claim }
      const answer = yield* post("/settle", sent, keyOf("victim"))
      const { paymentId, success } = yield* decodeSettled(yield* Effect.promise(() => answer.json()))
      assert.isTrue(success)
      const asked = (id: string, claimId: string) => [
        post(`/payments/${id}/finish`, { claimId, outcome: "served" }, keyOf("other")),
        post("/payments/finish", { runs: [{ paymentId: id, claimId, outcome: "served" }] }, keyOf("other")),
        get(`/payments/${id}`, keyOf("other"))
      ]
      for (const claimId of ["made-up-claim-id-0000", claim.id]) {
        const theirs = yield* Effect.forEach(asked(paymentId, claimId), (one) =>
          Effect.flatMap(one, (response) => read(response, paymentId))
        )
        const unknown = yield* Effect.forEach(asked(nobodys, claimId), (one) =>
          Effect.flatMap(one, (response) => read(response, nobodys))
        )
        assert.deepStrictEqual(theirs, unknown)
      }
      const page = yield* get("/payments", keyOf("other"))
      assert.deepStrictEqual(yield* Effect.promise(() => page.json()), { payments: [] })
      const own = yield* get(`/payments/${paymentId}`, keyOf("victim"))
      const record = yield* Effect.promise(() => own.json())
      assert.deepInclude(record, { paymentId, execution: "running" })
    })
  )
})
