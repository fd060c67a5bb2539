/** The payer's limit of one metered stream. */
import { left } from "../ChannelFunds.ts"
import { decline, type PaymentDeclined } from "../PaymentDeclined.ts"
import { type Allowed, spendingsOf } from "../PaymentPolicy.ts"
import * as Spending from "../Spending.ts"

/** The amount that a limit leaves of a stream, in the smallest unit of the asset. */
export interface StreamRoom {
  /** Absent without a limit. */
  readonly amount: bigint | undefined
  /** The decline of a further window. */
  readonly declined: PaymentDeclined
  /** The limit that leaves the least, and the option to change. */
  readonly limit: { readonly price: string; readonly option: string } | undefined
}

/** The amount that the limits leave of a stream whose vouchers allow `total` so far. */
export const roomOf = ({ limits, quote }: Pick<Allowed, "limits" | "quote">, total: bigint): StreamRoom => {
  const [own, dollars = own] = spendingsOf({ amount: total, asset: quote.asset })
  const all = limits.flatMap(({ counts, option, perRequest, ...one }) => {
    // A limit of requests bounds streams too, unless there is a limit of streams for all networks or for this one.
    const isGiven = limits.some((other) => other.counts === counts && other.perStream !== undefined)
    const perStream = isGiven ? one.perStream : perRequest
    const used = counts === "asset" ? own : dollars
    return perStream === undefined ? [] : [{ amount: left(perStream, used, used.scale), option, perStream, used }]
  })
  const [first, ...others] = all
  if (first === undefined) return { amount: undefined, declined: decline("over_stream_limit", ""), limit: undefined }
  const { amount, option, perStream, used } = others.reduce(
    (one, other) => (other.amount < one.amount ? other : one),
    first
  )
  const message = `the stream of ${new URL(quote.url).host} has used ${Spending.format(used)} of ${Spending.format(perStream)}, so no further window was signed; raise ${option}.perStream to allow more`
  const limit = { price: Spending.format(perStream), option: `${option}.perStream` }
  return { amount, declined: decline("over_stream_limit", message), limit }
}

/** The reason against a stream whose first window, the request's price, is more than the limits allow for all of it. */
export const objection = (allowed: Pick<Allowed, "limits" | "quote">): PaymentDeclined | undefined => {
  const { amount, limit } = roomOf(allowed, 0n)
  const { quote } = allowed
  if (limit === undefined || amount === undefined || quote.amount <= amount) return undefined
  const message = `${new URL(quote.url).host} asks ${quote.price} for the first window of a stream; the limit is ${limit.price} a stream; raise ${limit.option} to allow it`
  return decline("over_stream_limit", message)
}
