import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"

import * as Network from "../../../src/protocol/Network.ts"
import type { PaymentRequirements } from "../../../src/protocol/PaymentRequirements.ts"
import * as OfferEcho from "../../../src/server/offer/OfferEcho.ts"
import type { AcceptedOffer } from "../../../src/wire/pontage/Dialect.ts"

const offered: PaymentRequirements = {
  scheme: "exact",
  network: Network.make("eip155:8453"),
  maxAmountRequired: "10000",
  resource: "https://shop.example/report",
  payTo: "0x209693Bc6afc0C5328bA36FaF03C514EF312287C",
  maxTimeoutSeconds: 60,
  asset: "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
  extra: { name: "USD Coin", version: "2", fees: { to: ["a", "b"], by: { up: 1 } }, challenge: "of now" }
}

const echo: AcceptedOffer = {
  scheme: "exact",
  network: "eip155:8453",
  maxAmountRequired: "10000",
  payTo: "0x209693Bc6afc0C5328bA36FaF03C514EF312287C",
  maxTimeoutSeconds: 60,
  asset: "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
  extra: { challenge: "of now", fees: { by: { up: 1 }, to: ["a", "b"] }, version: "2", name: "USD Coin" }
}

const pick = (accepted: AcceptedOffer | undefined, offers = [offered]) => OfferEcho.pick(accepted, offers, (one) => one)

describe("pick", () => {
  it("needs no echo", () => assert.isUndefined(Result.getOrThrow(pick(undefined))))

  it("recognises an offer whatever the order of its keys, its challenge and what the payer added", () => {
    for (const extra of [
      echo.extra,
      { ...echo.extra, challenge: "of yesterday" },
      { ...echo.extra, more: { of: [1] }, fees: { to: ["a", "b"], by: { up: 1, down: 2 } } }
    ]) {
      assert.strictEqual(Result.getOrThrow(pick({ ...echo, extra })), offered)
    }
  })

  it("picks the offer that is meant among several", () => {
    const other = { ...offered, asset: "0x0000000000000000000000000000000000000001", maxAmountRequired: "7" }
    assert.strictEqual(Result.getOrThrow(pick(echo, [other, offered])), offered)
    const { asset, maxAmountRequired } = other
    assert.strictEqual(Result.getOrThrow(pick({ ...echo, asset, maxAmountRequired }, [offered, other])), other)
  })

  const different: Readonly<Record<string, readonly [Partial<AcceptedOffer>, string]>> = {
    "another scheme": [{ scheme: "exact " }, "accepted_scheme"],
    "another network": [{ network: "eip155:84530" }, "accepted_network"],
    "an asset in lower case": [{ asset: echo.asset.toLowerCase() }, "accepted_asset"],
    "one unit less": [{ maxAmountRequired: "9999" }, "accepted_amount"],
    "one unit more": [{ maxAmountRequired: "10001" }, "accepted_amount"],
    "a recipient in lower case": [{ payTo: echo.payTo.toLowerCase() }, "accepted_recipient"],
    "a recipient with one character changed": [{ payTo: echo.payTo.replace("C5328b", "C5328c") }, "accepted_recipient"],
    "a longer timeout": [{ maxTimeoutSeconds: 61 }, "accepted_timeout"],
    "another name of the token": [{ extra: { ...echo.extra, name: "USDC" } }, "accepted_extra"],
    "a version that is a number": [{ extra: { ...echo.extra, version: 2 } }, "accepted_extra"],
    "no name of the token": [{ extra: { version: "2", fees: echo.extra?.["fees"] ?? null } }, "accepted_extra"],
    "a list in another order": [
      { extra: { ...echo.extra, fees: { to: ["b", "a"], by: { up: 1 } } } },
      "accepted_extra"
    ],
    "a list with more": [{ extra: { ...echo.extra, fees: { to: ["a", "b", "c"], by: { up: 1 } } } }, "accepted_extra"],
    "a value deep inside": [{ extra: { ...echo.extra, fees: { to: ["a", "b"], by: { up: 2 } } } }, "accepted_extra"],
    "a record that became a text": [{ extra: { ...echo.extra, fees: "none" } }, "accepted_extra"]
  }
  for (const [name, [changes, detail]] of Object.entries(different)) {
    it(`refuses ${name}`, () => {
      const error = Result.getOrThrow(Result.flip(pick({ ...echo, ...changes })))
      assert.strictEqual(error.detail, detail)
      assert.include(error.message, "repeat")
    })
  }

  it("tells what differs from the first offer", () => {
    const other = { ...offered, maxAmountRequired: "7" }
    const error = Result.getOrThrow(Result.flip(pick({ ...echo, maxAmountRequired: "8" }, [offered, other])))
    assert.include(error.message, '"8"')
    assert.include(error.message, '"10000"')
  })
})
