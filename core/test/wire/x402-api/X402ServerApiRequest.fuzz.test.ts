/**
 * The requests of an x402 server, whole and broken: nothing throws, and nothing that counts changes on the way in.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as fc from "fast-check"

import type { PaymentError } from "../../../src/protocol/PaymentError.ts"
import * as PaymentPayload from "../../../src/protocol/PaymentPayload.ts"
import { PaymentRequirements } from "../../../src/protocol/PaymentRequirements.ts"
import type { ValidationError } from "../../../src/protocol/ValidationError.ts"
import * as X402ServerApiRequest from "../../../src/wire/x402-api/X402ServerApiRequest.ts"
import * as X402Reason from "../../../src/wire/x402/X402Reason.ts"
import { offerV1, offerV2, paymentV1, paymentV2 } from "../X402Cases.ts"

const decodeRequest = Schema.decodeUnknownResult(
  Schema.Union([X402ServerApiRequest.RequestV2, X402ServerApiRequest.RequestV1, X402ServerApiRequest.RequestOther])
)
const encodeRequirements = Schema.encodeSync(PaymentRequirements)

const v1 = { x402Version: 1, paymentPayload: paymentV1, paymentRequirements: offerV1 }
const v2 = { x402Version: 2, paymentPayload: paymentV2, paymentRequirements: offerV2 }

const json = fc.jsonValue({ maxDepth: 3 })

/** A value in which any part may be another one, or gone. */
const broken = (value: unknown): fc.Arbitrary<unknown> => {
  if (typeof value !== "object" || value === null) {
    return fc.oneof({ weight: 30, arbitrary: fc.constant(value) }, { weight: 1, arbitrary: json })
  }
  const whole = fc.record(Object.fromEntries(Object.entries(value).map(([key, part]) => [key, broken(part)])), {
    noNullPrototype: true
  })
  return fc.oneof({ weight: 30, arbitrary: whole }, { weight: 1, arbitrary: json })
}

type Failure = PaymentError | ValidationError

const failureOf = (part: Result.Result<unknown, Failure>) => (Result.isFailure(part) ? part.failure : undefined)

const wordOf = (version: 1 | 2, failure: Failure) =>
  X402Reason.ofVerdict(version, {
    ...(failure._tag === "PaymentError" ? { code: failure.code } : { reason: failure.reason }),
    detail: failure.detail
  })

const amounts = fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }).map(String)

describe("a request of x402", () => {
  it("never throws, whatever is broken, and what fails has a word in its version", () => {
    const seen = { good: 0, bad: 0, none: 0 }
    fc.assert(
      fc.property(fc.oneof(broken(v1), broken(v2)), (sent) => {
        const request = decodeRequest(JSON.parse(JSON.stringify(sent)))
        if (Result.isFailure(request)) {
          seen.none++
          return
        }
        const asked = X402ServerApiRequest.read(request.success)
        assert.strictEqual(asked.version, request.success.x402Version === 1 ? 1 : 2)
        for (const failure of [failureOf(asked.paymentPayload), failureOf(asked.paymentRequirements)]) {
          seen[failure === undefined ? "good" : "bad"]++
          if (failure !== undefined) assert.match(wordOf(asked.version, failure), /^[a-z0-9_]+$/)
        }
        if (Result.isSuccess(asked.paymentRequirements)) encodeRequirements(asked.paymentRequirements.success)
      }),
      { numRuns: 2000 }
    )
    assert.isAbove(seen.good, 200)
    assert.isAbove(seen.bad, 200)
    assert.isAbove(seen.none, 10)
  })

  it("asks for exactly the amount, the payee and the asset it names, and hands the signed JSON on to the letter", () => {
    fc.assert(
      fc.property(
        amounts,
        fc.string(),
        fc.string(),
        fc.dictionary(fc.string(), json),
        (amount, payTo, asset, payload) => {
          const terms = { payTo, asset }
          const accepted = { ...offerV2, ...terms, amount }
          for (const sent of [
            {
              ...v1,
              paymentPayload: { ...paymentV1, payload },
              paymentRequirements: { ...offerV1, ...terms, maxAmountRequired: amount }
            },
            { ...v2, paymentPayload: { ...paymentV2, payload, accepted }, paymentRequirements: accepted }
          ]) {
            const plain: unknown = JSON.parse(JSON.stringify(sent))
            const asked = X402ServerApiRequest.read(Result.getOrThrow(decodeRequest(plain)))
            const requirements = Result.getOrThrow(asked.paymentRequirements)
            assert.deepInclude<object>(requirements, {
              maxAmountRequired: amount,
              payTo,
              asset,
              network: "eip155:84532"
            })
            const opened = PaymentPayload.openPayload(Result.getOrThrow(asked.paymentPayload))
            assert.deepStrictEqual(opened, Result.succeed<unknown>(JSON.parse(JSON.stringify(payload))))
          }
        }
      )
    )
  })
})
