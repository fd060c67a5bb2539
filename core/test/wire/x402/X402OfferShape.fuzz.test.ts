/**
 * The offers of x402 that a payer reads by shapes, and a seller by schemas: both must understand the same by any JSON.
 */
import { isDeepStrictEqual } from "node:util"

import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as fc from "fast-check"

import * as Shape from "../../../src/protocol/Shape.ts"
import * as X402Offer from "../../../src/wire/x402/X402Offer.ts"
import * as X402OfferShape from "../../../src/wire/x402/X402OfferShape.ts"

const mostly = <A>(right: fc.Arbitrary<A>) =>
  fc.oneof({ weight: 40, arbitrary: right }, { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 2 }) })
const maybe = <A>(right: fc.Arbitrary<A>) => fc.option(mostly(right), { nil: undefined, freq: 3 })
const orNull = <A>(right: fc.Arbitrary<A>) => maybe(fc.option(right))

const terms = {
  scheme: mostly(fc.string()),
  asset: mostly(fc.string()),
  payTo: mostly(fc.string()),
  maxTimeoutSeconds: mostly(fc.constantFrom(60, 0.5, 1e9, 0, -1)),
  extra: orNull(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 }))),
  more: maybe(fc.string())
}
const amounts = mostly(fc.constantFrom("1000", "0", "01", "-1"))

const offersV1 = fc.record({
  ...terms,
  network: mostly(fc.constantFrom("base", "base-sepolia", "unknown")),
  maxAmountRequired: amounts,
  resource: mostly(fc.webUrl()),
  description: maybe(fc.string()),
  mimeType: maybe(fc.string())
})

const offersV2 = fc.record({ ...terms, network: mostly(fc.constantFrom("eip155:8453", "base")), amount: amounts })

const resources = fc.record({
  url: mostly(fc.webUrl()),
  description: orNull(fc.string()),
  mimeType: orNull(fc.string()),
  more: maybe(fc.string())
})

/** The first value that is not understood as the same by both; both outcomes must come often enough to count. */
const disagreement = <A>(
  values: fc.Arbitrary<unknown>,
  shape: Shape.Shape<A>,
  schema: Schema.Codec<A, unknown>,
  meaning: (found: A) => unknown
) => {
  const counts = { read: 0, refused: 0 }
  const decode = Schema.decodeUnknownResult(schema)
  const property = fc.property(mostly(values), (value) => {
    const json: unknown = JSON.parse(JSON.stringify(value))
    const found = Result.map(Shape.read(shape, json), meaning)
    counts[Result.isSuccess(found) ? "read" : "refused"]++
    return isDeepStrictEqual(Result.getOrUndefined(found), Result.getOrUndefined(Result.map(decode(json), meaning)))
  })
  const { counterexample } = fc.check(property, { numRuns: 1_000 })
  return counterexample ?? (Math.min(counts.read, counts.refused) < 10 ? counts : undefined)
}

const where = { url: "https://shop.example/", description: "d" }
const there = Result.getOrThrow(
  Schema.decodeUnknownResult(X402Offer.OfferV2)({
    scheme: "exact",
    network: "eip155:1",
    amount: "1",
    asset: "a",
    payTo: "b",
    maxTimeoutSeconds: 1
  })
)

const offeredThere = (offer: X402Offer.OfferV2) => X402Offer.fromV2(offer, where)
const offeredAs = (resource: X402Offer.ResourceV2) => X402Offer.fromV2(there, resource)

describe("shape and schema agree on", () => {
  it("offers of version 1", () => {
    const { OfferV1, fromV1 } = X402Offer
    assert.isUndefined(disagreement(offersV1, X402OfferShape.offerV1, OfferV1, fromV1))
  })

  it("offers of version 2", () => {
    assert.isUndefined(disagreement(offersV2, X402OfferShape.offerV2, X402Offer.OfferV2, offeredThere))
  })

  it("resources of version 2", () => {
    assert.isUndefined(disagreement(resources, X402OfferShape.resourceV2, X402Offer.ResourceV2, offeredAs))
  })
})
