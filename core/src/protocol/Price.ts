/**
 * Prices: the seller's text (`"$0.01"`) and its exact conversion into the smallest unit of an asset. More digits than
 * the asset has, or a non-zero price that would become zero, is an error and never rounded
 * (apps/docs/protocol.md#d6-amounts-and-prices).
 */
import * as Data from "effect/Data"
import * as Result from "effect/Result"

import * as Amount from "./Amount.ts"

const grammar = /^\$(0|[1-9][0-9]{0,12})(?:\.([0-9]{1,18}))?$/

/** A price text that cannot be used. `message` says what was expected and what came. */
export class InvalidPrice extends Data.TaggedError("InvalidPrice")<{
  readonly price: string
  readonly message: string
}> {}

/** A parsed price: `digits / 10^scale` dollars. */
export interface Price {
  readonly digits: bigint
  readonly scale: number
}

/**
 * Reads `$<decimal>`: at most 13 digits before the point and 18 behind it, ASCII only, no sign, exponent, separator or
 * space.
 */
export const parse = (text: string): Result.Result<Price, InvalidPrice> => {
  const match = typeof text === "string" ? grammar.exec(text) : null
  if (match === null) {
    const message = `expected a price like "$0.01" (a dollar sign and a plain decimal), got ${JSON.stringify(text)}`
    return Result.fail(new InvalidPrice({ price: text, message }))
  }
  const fraction = match[2] ?? ""
  return Result.succeed({ digits: BigInt(`${match[1]}${fraction}`), scale: fraction.length })
}

/** A price in the smallest unit of an asset with `decimals` digits, one whole token being one dollar. */
export const toAmount = (text: string, decimals: number): Result.Result<bigint, InvalidPrice> =>
  Result.flatMap(parse(text), ({ digits, scale }) => {
    const power = 10n ** BigInt(Math.abs(decimals - scale))
    if (decimals >= scale) return within(text, digits * power)
    return digits % power === 0n
      ? within(text, digits / power)
      : Result.fail(
          new InvalidPrice({
            price: text,
            message: `${text} has more digits than the asset's ${decimals} decimals can hold; use a price of at most ${decimals} digits behind the point`
          })
        )
  })

const within = (text: string, amount: bigint): Result.Result<bigint, InvalidPrice> =>
  amount <= Amount.maximum
    ? Result.succeed(amount)
    : Result.fail(new InvalidPrice({ price: text, message: `${text} does not fit 256 bits in this asset` }))
