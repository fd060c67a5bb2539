/** The amounts of top-ups: what is sent brings the price, and no total is exceeded. */
import { assert, describe, it } from "@effect/vitest"
import { Entropy } from "@pontage/core/Entropy"
import * as Effect from "effect/Effect"
import * as fc from "fast-check"

import * as IssuerFee from "../../src/route/IssuerFee.ts"
import * as TopUpAmount from "../../src/topup/TopUpAmount.ts"

const amount = fc.bigInt({ min: 1n, max: 10n ** 30n })
const rate = fc.bigInt({ min: 0n, max: IssuerFee.highestRate })
const byte = fc.integer({ min: 0, max: 255 })

const drawn = (kind: "oft" | "cctp", decimals: number, of: bigint, value: number) =>
  Effect.runSync(
    Effect.provideService(TopUpAmount.draw(kind, { decimals }, of), Entropy, {
      bytes: (length) => new Uint8Array(length).fill(value)
    })
  )

describe("the amount of a top-up", () => {
  it("brings the price though the issuer takes all that it may, and less than a cent more", () => {
    fc.assert(
      fc.property(amount, rate, byte, fc.constantFrom(2, 6, 18), (price, of, value, decimals) => {
        const { arrivingOf, sentFor } = drawn("cctp", decimals, of, value)
        const sent = sentFor(price)
        assert.isTrue(sent - IssuerFee.of(sent, of) >= price)
        assert.isTrue(sent - IssuerFee.sentFor(price, of) < 10n ** BigInt(decimals - 2))
        assert.isTrue(arrivingOf(sent) >= price)
      })
    )
  })

  it("is never more than a total covers, whatever the total is", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -1_000n, max: 10n ** 30n }), rate, byte, (total, of, value) => {
        const { arrivingOf, sentFor } = drawn("cctp", 6, of, value)
        const arriving = arrivingOf(total)
        assert.isTrue(arriving <= 0n || sentFor(arriving) <= total)
      })
    )
  })

  it("differs from an earlier one of the same price over CCTP, and is the price itself over an OFT", () => {
    assert.notStrictEqual(drawn("cctp", 6, 13_000n, 1).sentFor(5n), drawn("cctp", 6, 13_000n, 2).sentFor(5n))
    assert.strictEqual(drawn("oft", 6, 0n, 1).sentFor(5n), 5n)
    assert.strictEqual(drawn("oft", 6, 0n, 1).arrivingOf(5n), 5n)
  })
})
