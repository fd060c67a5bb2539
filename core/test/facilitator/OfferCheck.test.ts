import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"

import * as OfferCheck from "../../src/facilitator/OfferCheck.ts"
import * as Network from "../../src/protocol/Network.ts"
import type { PaymentRequirements } from "../../src/protocol/PaymentRequirements.ts"
import type { Payment } from "../../src/scheme/SchemeFacilitator.ts"
import * as TestScheme from "../../src/testing/ledger/TestScheme.ts"

const now = 1_700_000_000

const requirements: PaymentRequirements = {
  scheme: "exact",
  network: TestScheme.network,
  maxAmountRequired: "10000",
  resource: "https://shop.example/report",
  payTo: "acct-shop",
  asset: TestScheme.asset.address
}
const authorization = {
  payer: "acct-alice",
  payTo: "acct-shop",
  asset: TestScheme.asset.address,
  amount: 10_000n,
  nonce: "n",
  validAfter: 0,
  validBefore: now + 60,
  binding: undefined
}

interface Change {
  readonly network?: string
  readonly authorization?: Partial<Payment["authorization"]>
  readonly requirements?: Partial<PaymentRequirements>
}

/** The reason and detail for a valid payment with one change; `taken` if it passes. */
const verdict = (change: Change = {}): string => {
  const { network = "ledger:test" } = change
  const envelope = { protocolVersion: 2 as const, scheme: "exact", network, payload: "" }
  const payment: Payment = {
    requirements: { ...requirements, ...change.requirements },
    authorization: { ...authorization, ...change.authorization },
    payload: {}
  }
  return Result.match(OfferCheck.check(TestScheme.scheme, envelope, payment, now), {
    onSuccess: () => "taken",
    onFailure: (error) => `${error._tag === "PaymentError" ? error.code : error.reason} ${error.detail}`
  })
}

const { asset: _, ...withoutAsset } = requirements

describe("each check alone", () => {
  const cases: ReadonlyArray<readonly [string, Change, string]> = [
    ["a payment that says what is asked", {}, "taken"],
    ["the network by its alias", { network: "ledger:1" }, "taken"],
    ["another network", { network: "ledger:other" }, "NETWORK_MISMATCH other_network"],
    ["another family", { network: "eip155:1" }, "NETWORK_MISMATCH other_network"],
    ["a network that is none", { network: "" }, "NETWORK_MISMATCH other_network"],
    [
      "an offer on another network",
      { requirements: { network: Network.make("ledger:x") } },
      "NETWORK_MISMATCH other_network"
    ],
    ["another recipient", { authorization: { payTo: "acct-mallory" } }, "INVALID_RECIPIENT other_recipient"],
    ["an offer to another recipient", { requirements: { payTo: "acct-other" } }, "INVALID_RECIPIENT other_recipient"],
    ["an offer to no address", { requirements: { payTo: "nobody!" } }, "INVALID_RECIPIENT other_recipient"],
    ["the recipient in another form of the same address", { requirements: { payTo: "ACCT-Shop" } }, "taken"],
    ["another asset", { authorization: { asset: "acct-euro" } }, "asset_mismatch other_asset"],
    ["an offer in another asset", { requirements: { asset: "acct-euro" } }, "asset_mismatch other_asset"],
    ["an offer in no asset", { requirements: { asset: "?" } }, "asset_mismatch other_asset"],
    ["the asset in another form of the same address", { requirements: { asset: "ACCT-DOLLAR" } }, "taken"],
    ["one unit less", { authorization: { amount: 9_999n } }, "amount_mismatch other_amount"],
    ["one unit more", { authorization: { amount: 10_001n } }, "amount_mismatch other_amount"],
    ["nothing", { authorization: { amount: 0n } }, "amount_mismatch other_amount"],
    ["an offer of one unit more", { requirements: { maxAmountRequired: "10001" } }, "amount_mismatch other_amount"]
  ]
  for (const [name, change, expected] of cases)
    it(`${name}: ${expected}`, () => assert.strictEqual(verdict(change), expected))

  it("an offer without an asset: asset_mismatch", () => {
    const payment = { requirements: withoutAsset, authorization, payload: {} }
    const envelope = { protocolVersion: 2 as const, scheme: "exact", network: "ledger:test", payload: "" }
    const error = Result.getOrThrow(Result.flip(OfferCheck.check(TestScheme.scheme, envelope, payment, now)))
    assert.strictEqual(error._tag === "ValidationError" && error.reason, "asset_mismatch")
  })
})

describe("the time window, to the second", () => {
  const margin = OfferCheck.marginSeconds
  const cases: ReadonlyArray<readonly [string, Change, string]> = [
    ["expired long ago", { authorization: { validBefore: 0 } }, "EXPIRED_PAYMENT expired"],
    ["expires now", { authorization: { validBefore: now } }, "EXPIRED_PAYMENT expired"],
    ["expires within the margin", { authorization: { validBefore: now + margin } }, "EXPIRED_PAYMENT expired"],
    ["expires just after the margin", { authorization: { validBefore: now + margin + 1 } }, "taken"],
    ["is valid from now on", { authorization: { validAfter: now } }, "EXPIRED_PAYMENT not_yet_valid"],
    ["is valid since a second ago", { authorization: { validAfter: now - 1 } }, "taken"],
    ["is valid later", { authorization: { validAfter: now + 30 } }, "EXPIRED_PAYMENT not_yet_valid"],
    ["is valid for the default and the skew", { authorization: { validBefore: now + 90 } }, "taken"],
    [
      "is valid a second longer",
      { authorization: { validBefore: now + 91 } },
      "unsupported_authorization valid_too_long"
    ],
    [
      "is valid for as long as the offer says and the skew",
      { authorization: { validBefore: now + 330 }, requirements: { maxTimeoutSeconds: 300 } },
      "taken"
    ],
    [
      "is valid a second longer than the offer says",
      { authorization: { validBefore: now + 331 }, requirements: { maxTimeoutSeconds: 300 } },
      "unsupported_authorization valid_too_long"
    ],
    [
      "is valid for ever",
      { authorization: { validBefore: Number.MAX_SAFE_INTEGER } },
      "unsupported_authorization valid_too_long"
    ]
  ]
  for (const [name, change, expected] of cases) {
    it(`a payment that ${name}: ${expected}`, () => assert.strictEqual(verdict(change), expected))
  }
})
