import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

import * as FacilitatorApi from "../../../src/wire/pontage/FacilitatorApi.ts"

const paymentPayload = { protocolVersion: 2, scheme: "exact", network: "eip155:8453", payload: "e30=" }
const paymentRequirements = {
  scheme: "exact",
  network: "eip155:8453",
  maxAmountRequired: "10000",
  resource: "https://shop.example/report",
  payTo: "0x036CbD53842c5426634e7929541eC2318f3dCF7e"
}
const claim = { id: "A".repeat(22), resource: "B".repeat(43) }
const verify = { protocolVersion: 2, paymentPayload, paymentRequirements }
const settle = { ...verify, claim }
const response = { success: true, paymentId: "pay_1", status: "included", transaction: "0x1", network: "eip155:8453" }

/** For each message: one that is good, and changes of it that make it bad. */
const messages: Readonly<
  Record<
    string,
    { readonly schema: Schema.Decoder<unknown>; readonly good: object; readonly bad: Readonly<Record<string, object>> }
  >
> = {
  VerifyRequest: {
    schema: FacilitatorApi.VerifyRequest,
    good: verify,
    bad: {
      "no version": { protocolVersion: undefined },
      "version 1": { protocolVersion: 1 },
      "the version as text": { protocolVersion: "2" },
      "no payload": { paymentPayload: undefined },
      "a payload of version 1": { paymentPayload: { ...paymentPayload, protocolVersion: 1 } },
      "a payload that is its header's text": { paymentPayload: JSON.stringify(paymentPayload) },
      "no requirements": { paymentRequirements: undefined },
      "a list of requirements": { paymentRequirements: [paymentRequirements] },
      "an amount that is a number": { paymentRequirements: { ...paymentRequirements, maxAmountRequired: 1 } },
      "a network without a namespace": { paymentRequirements: { ...paymentRequirements, network: "base" } },
      "a timeout beyond a day": { paymentRequirements: { ...paymentRequirements, maxTimeoutSeconds: 86_401 } }
    }
  },
  SettleRequest: {
    schema: FacilitatorApi.SettleRequest,
    good: settle,
    bad: {
      "a claim that is null": { claim: null },
      "a claim without an id": { claim: { resource: claim.resource } },
      "a claim without a resource": { claim: { id: claim.id } },
      "a claim id that is too short": { claim: { ...claim, id: "A".repeat(15) } },
      "a claim id that is too long": { claim: { ...claim, id: "A".repeat(65) } },
      "a claim id of other characters": { claim: { ...claim, id: `${"A".repeat(21)}/` } },
      "a claim id with a line end": { claim: { ...claim, id: `${claim.id}\n` } },
      "a route that is a path": { claim: { ...claim, route: "GET /report" } },
      "a resource that is a path": { claim: { ...claim, resource: "https://shop.example/report" } }
    }
  },
  ClaimRequest: { schema: FacilitatorApi.ClaimRequest, good: settle, bad: { "no claim": { claim: undefined } } },
  FinishRequest: {
    schema: FacilitatorApi.FinishRequest,
    good: { claimId: claim.id, outcome: "served" },
    bad: {
      "no claim id": { claimId: undefined },
      "another outcome": { outcome: "maybe" },
      "no outcome": { outcome: undefined }
    }
  },
  VerifyResponse: {
    schema: FacilitatorApi.VerifyResponse,
    good: { isValid: true, payer: "0x1" },
    bad: {
      "a verdict as text": { isValid: "true" },
      "a verdict as a number": { isValid: 1 },
      "no verdict": { isValid: undefined },
      "a code that is none of the five": { code: "NO_MONEY" },
      "a reason that is none": { reason: "because" }
    }
  },
  SettleResponse: {
    schema: FacilitatorApi.SettleResponse,
    good: response,
    bad: {
      "success as text": { success: "true" },
      "success as a number": { success: 1 },
      "no success": { success: undefined },
      "no status": { status: undefined },
      "a status that is none": { status: "done" },
      "an execution that is none": { execution: "allowed" },
      "a transaction that is null": { transaction: null },
      "a code that is none of the five": { code: "FAILED" }
    }
  },
  Fault: {
    schema: FacilitatorApi.Fault,
    good: { error: "chain_unavailable", message: "words" },
    bad: { "no word": { error: undefined }, "no words": { message: undefined }, "another reason": { reason: "x" } }
  }
}

const json = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

for (const [name, { bad, good, schema }] of Object.entries(messages)) {
  const decode = Schema.decodeUnknownResult(schema)

  describe(`the message ${name}`, () => {
    it("reads a good one, drops fields it does not know", () => {
      assert.deepStrictEqual(Result.getOrThrow(decode(json({ ...good, unknown: [1] }))), good)
    })

    for (const [what, change] of Object.entries(bad)) {
      it(`refuses ${what}`, () => assert.isTrue(Result.isFailure(decode(json({ ...good, ...change })))))
    }

    for (const value of [null, [], "text", 1, true]) {
      it(`refuses ${JSON.stringify(value)}`, () => assert.isTrue(Result.isFailure(decode(value))))
    }
  })
}

describe("SettleRequest", () => {
  it("may come without a claim", () => {
    assert.deepStrictEqual(Result.getOrThrow(Schema.decodeUnknownResult(FacilitatorApi.SettleRequest)(verify)), verify)
  })
})
