/**
 * The least price of a payment on one network, by any way to pay and in any of its tokens: on a dear network the gas of a small payment
 * costs more than the payment.
 */
import { type Asset, type AssetTable, invalid, Misconfigured, Price, type ValidationError } from "@pontage/core"
import * as OptionCheck from "@pontage/core/OptionCheck"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"

/** The options. */
export interface MinimumOptions {
  /**
   * The least price of a payment by any way to pay, such as `"$0.02"`; default none. It holds for tokens that are dollars; every other
   * token that is settled has to have a least amount of its own in `minimumAmounts`.
   */
  readonly minimumPrice?: string
  /**
   * The least amounts of payments in single tokens, in their smallest unit, each by the token's address or symbol. They replace
   * `minimumPrice` there.
   */
  readonly minimumAmounts?: Readonly<Record<string, bigint>>
}

/** The checks of the options. */
export const checks: OptionCheck.Table<MinimumOptions> = {
  minimumPrice: OptionCheck.optional(OptionCheck.text),
  minimumAmounts: OptionCheck.optional(OptionCheck.record(OptionCheck.amount(1n)))
}

/** The least amounts of a network's tokens. */
export interface Minimum {
  /** The amount, and the option that says it; `undefined` where any amount is settled. */
  readonly of: (token: Asset) => { readonly amount: bigint; readonly option: string } | undefined
}

/** Reads the options for the tokens of a network. A token without a least amount is a mistake where there is a least price. */
export const make = (
  { minimumAmounts = {}, minimumPrice }: MinimumOptions,
  network: string,
  assets: AssetTable.AssetTable,
  roles: "channelEvm" | "exactEvm"
): Result.Result<Minimum, Misconfigured> => {
  const wrong = (what: string) => Result.fail(new Misconfigured({ message: `${roles}.facilitator: ${what}` }))
  const own = new Map<string, bigint>()
  for (const [text, amount] of Object.entries(minimumAmounts)) {
    const token = assets.find(network, text)
    if (token === undefined) {
      return wrong(
        `minimumAmounts: ${JSON.stringify(text)} is none of the tokens of ${network}: ${named(assets, network)}`
      )
    }
    own.set(token.address, amount)
  }
  const price = minimumPrice === undefined ? undefined : Price.parse(minimumPrice)
  if (price !== undefined && Result.isFailure(price)) return wrong(`minimumPrice: ${price.failure.message}`)
  const bare = price && assets.of(network).find((token) => !token.dollar && !own.has(token.address))
  if (bare !== undefined) {
    return wrong(
      `minimumPrice: ${bare.symbol} (${bare.address}) is no dollar; give its least amount in minimumAmounts, in its smallest unit`
    )
  }
  return Result.succeed({
    of: (token) => {
      const amount = own.get(token.address)
      if (amount !== undefined) return { amount, option: `minimumAmounts[${JSON.stringify(token.symbol)}]` }
      if (price === undefined) return undefined
      return { amount: atLeast(price.success, token.decimals), option: `minimumPrice ${minimumPrice}` }
    }
  })
}

const named = (assets: AssetTable.AssetTable, network: string) => assets.names(network).join(", ") || "there are none"

/** The least amount of a price, in a token's smallest unit: rounded up, because less would be below the price. */
const atLeast = ({ digits, scale }: Price.Price, decimals: number): bigint => {
  if (decimals >= scale) return digits * 10n ** BigInt(decimals - scale)
  const unit = 10n ** BigInt(scale - decimals)
  return (digits + unit - 1n) / unit
}

/** Refuses a payment below the least amount of its token, and names the rule. */
export const prove = (minimum: Minimum, token: Asset, amount: bigint): Effect.Effect<void, ValidationError> => {
  const least = minimum.of(token)
  if (least === undefined || amount >= least.amount) return Effect.void
  const message = `payments in ${token.symbol} on ${token.network} are of at least ${least.amount} here (${least.option}), and this one is of ${amount}`
  return Effect.fail(invalid("unsupported_authorization", "below_minimum_price", message))
}
