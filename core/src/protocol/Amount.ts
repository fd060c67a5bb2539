/**
 * Amounts of money in the smallest unit of their asset: exact, never negative, at most 256 bits. On the wire an amount
 * is a decimal string; in code it is a `bigint`, never a floating-point number.
 */
import * as Schema from "effect/Schema"

/** The largest amount, 2^256 - 1. */
export const maximum = 2n ** 256n - 1n

const grammar = /^(0|[1-9][0-9]{0,77})$/

/** The rule for an amount, for error messages. */
export const expected =
  "an amount in the asset's smallest unit: a decimal string without sign or leading zeros, at most 2^256-1"

/** Whether a text is an amount as it travels: `^(0|[1-9][0-9]{0,77})$`, within 256 bits. */
export const isText = (text: string): boolean => grammar.test(text) && (text.length < 78 || BigInt(text) <= maximum)

/**
 * An amount as it travels (`maxAmountRequired`): a decimal string of the asset's smallest unit
 * (apps/docs/protocol.md#d6-amounts-and-prices).
 */
export const Text = /* @__PURE__ */ Schema.String.check(/* @__PURE__ */ Schema.makeFilter(isText, { expected }))

/** An amount as a `bigint`, decoded from its decimal string. */
export const FromText = /* @__PURE__ */ Text.pipe(/* @__PURE__ */ Schema.decodeTo(Schema.BigIntFromString))
