/**
 * The numbers of a channel: amounts of 128 bits, as the contract stores them, and times of 40 bits.
 */
import * as Amount from "@pontage/core/Amount"
import * as Schema from "effect/Schema"

/** The largest amount that a channel holds, 2^128 - 1. */
export const maximum = 2n ** 128n - 1n

/** An amount in the token's smallest unit, at most 2^128 - 1, decoded from its decimal string. */
export const Uint128 = /* @__PURE__ */ Amount.FromText.check(
  /* @__PURE__ */ Schema.makeFilter((amount: bigint) => amount <= maximum, { expected: "an amount of at most 2^128-1" })
)

/** A number of seconds that fits into 40 bits, as a JSON number. */
export const Uint40 = /* @__PURE__ */ Schema.Int.check(
  /* @__PURE__ */ Schema.isBetween({ minimum: 0, maximum: 2 ** 40 - 1 })
)
