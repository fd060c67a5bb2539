/**
 * Payers read by shapes, everyone else by schemas: they must not differ on any JSON.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as fc from "fast-check"

import { PaymentErrorCode } from "../../../src/protocol/PaymentError.ts"
import { PaymentRequired, Retry } from "../../../src/protocol/PaymentRequired.ts"
import { PaymentState } from "../../../src/protocol/Settlement.ts"
import * as Shape from "../../../src/protocol/Shape.ts"
import { ValidationReason } from "../../../src/protocol/ValidationError.ts"
import * as RefusalShape from "../../../src/wire/pontage/RefusalShape.ts"

/** Mostly the right thing, so that whole refusals come out right often enough; sometimes nothing, or any JSON. */
const mostly = <A>(right: fc.Arbitrary<A>) =>
  fc.oneof({ weight: 60, arbitrary: right }, { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 2 }) })
const maybe = <A>(right: fc.Arbitrary<A>) => fc.option(mostly(right), { nil: undefined, freq: 3 })
const amounts = fc.oneof(
  fc.bigInt({ min: 0n, max: 2n ** 256n + 1n }).map(String),
  fc.constantFrom("0", "00", "-1", "1.0", "9".repeat(78))
)

const offers = fc.record({
  scheme: mostly(fc.string()),
  network: mostly(fc.constantFrom("eip155:8453", "ton:mainnet", "base", "EIP155:1")),
  maxAmountRequired: mostly(amounts),
  resource: mostly(fc.webUrl()),
  description: maybe(fc.string()),
  mimeType: maybe(fc.string()),
  payTo: mostly(fc.string()),
  maxTimeoutSeconds: maybe(fc.constantFrom(1, 60, 86_400, 86_401, 0, 1.5, -0)),
  asset: maybe(fc.string()),
  extra: maybe(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 }))),
  more: maybe(fc.string())
})

const refusals = mostly(
  fc.record({
    error: mostly(fc.string()),
    accepts: mostly(fc.array(mostly(offers), { maxLength: 3 })),
    code: maybe(fc.constantFrom(...PaymentErrorCode.literals)),
    reason: maybe(fc.constantFrom(...ValidationReason.literals)),
    detail: maybe(fc.string()),
    paymentId: maybe(fc.string()),
    paymentState: maybe(fc.constantFrom(...PaymentState.literals)),
    retry: maybe(fc.constantFrom(...Retry.literals)),
    more: maybe(fc.string())
  })
)

describe("the shape of a refusal", () => {
  it("reads what its schema reads, and nothing else", () => {
    const decode = Schema.decodeUnknownResult(PaymentRequired)
    let read = 0
    let refused = 0
    const bySchema = (json: unknown) => Result.getOrUndefined(decode(json))
    fc.assert(
      fc.property(refusals, (value) => {
        const json: unknown = JSON.parse(JSON.stringify(value))
        const found = Result.getOrUndefined(Shape.read(RefusalShape.paymentRequired, json))
        if (found === undefined) refused++
        else read++
        assert.deepStrictEqual(found, bySchema(json))
      }),
      { numRuns: 2_000 }
    )
    assert.isAbove(read, 200)
    assert.isAbove(refused, 200)
  })
})
