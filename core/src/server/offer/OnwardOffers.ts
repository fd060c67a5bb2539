/**
 * The offers of options whose money goes on to another network. Their amounts follow the facilitator's quotes, which change: a payer
 * that has signed an offer by any quote that is not over is recognised, and one whose payment is on record whatever was quoted then.
 */
import type { UnquotedNetwork } from "../../protocol/Supported.ts"
import type { OnwardOffer } from "../../scheme/SchemeServer.ts"
import type { PricedOption, PricedRoute } from "../route/PricedRoute.ts"
import type { NetworkReadiness } from "../shop/NetworkReadiness.ts"

/** An option with its amount for this request. */
export interface OfferedOption {
  readonly option: PricedOption
  readonly maxAmountRequired: string
}

/** The offers of a request. */
export interface RequestOffers {
  /** The offers that are made now; empty if no option can be quoted. */
  readonly made: ReadonlyArray<OfferedOption>
  /**
   * Makes the offers that a new payment may have been signed for: by the current quotes, and by earlier ones that are not over. The
   * newest of an option comes first. Offers of one amount have one challenge, and may differ in `extra`.
   */
  readonly known: () => ReadonlyArray<OfferedOption>
  /** Makes one offer for each option, in their order, without the fee: a payment on record is compared with it. */
  readonly onRecord: () => ReadonlyArray<OfferedOption>
  /** The networks of options that are not offered, because the facilitator cannot quote the way there now. */
  readonly unquoted: ReadonlyArray<UnquotedNetwork>
  /** The checks whose quotes are to be renewed. */
  readonly stale: ReadonlyArray<NetworkReadiness>
  /** Names the quotes, so that responses can be stored by them. */
  readonly key: string
}

/** Seconds before a quote's end from which a newer one is requested, and from which it is not offered any more. */
const renewSeconds = 300
const leastSeconds = 60

/** The offers of a route at `now` (Unix milliseconds); `undefined` if all of its money stays where it is paid. */
export const find = (route: PricedRoute, amounts: ReadonlyArray<bigint>, now: number): RequestOffers | undefined => {
  if (route.options.every(({ onward }) => onward === undefined)) return undefined
  const priced = route.options.map((option, index) => ({ option, price: amounts[index] ?? 0n }))
  const made: Array<OfferedOption> = []
  const silent = new Map<string, UnquotedNetwork>()
  const stale: Array<NetworkReadiness> = []
  for (const { option, price } of priced) {
    const { onward, proof } = option
    if (onward === undefined) {
      made.push(unquoted(option, price))
      continue
    }
    const latest = onward.quoted(price, proof.quotes.lists[0] ?? [])
    const secondsLeft = (latest?.quotedUntil ?? 0) - now / 1000
    if (secondsLeft < renewSeconds) stale.push(proof)
    if (latest?.offer !== undefined && secondsLeft > leastSeconds) made.push(toOffered(option, latest.offer))
    const left = proof.quotes.unquoted.find(({ network }) => network === onward.network)
    if (latest === undefined && left !== undefined) silent.set(left.network, left)
  }
  const key = [
    ...made.map(({ maxAmountRequired, option }) => `${maxAmountRequired} ${untilOf(option)}`),
    ...[...silent.values()].map(({ network, reason }) => JSON.stringify([network, reason]))
  ].join(" ")
  return {
    made,
    known: () => priced.flatMap(({ option, price }) => signable(option, price, now)),
    onRecord: () =>
      priced.map(({ option, price }) =>
        option.onward === undefined ? unquoted(option, price) : toOffered(option, option.onward.onRecord(price))
      ),
    unquoted: [...silent.values()],
    stale,
    key
  }
}

/** The offers of an option by every quote that is not over, the newest first; quotes that make the same offer count once. */
const signable = (option: PricedOption, price: bigint, now: number): ReadonlyArray<OfferedOption> => {
  const { onward, proof } = option
  if (onward === undefined) return [unquoted(option, price)]
  const offers = new Map<string, OfferedOption>()
  for (const quotes of proof.quotes.lists) {
    const quoted = onward.quoted(price, quotes)
    if (quoted?.offer === undefined || quoted.quotedUntil * 1000 <= now) continue
    const { amount, extra, payTo } = quoted.offer
    const key = JSON.stringify([`${amount}`, payTo, extra])
    if (!offers.has(key)) offers.set(key, toOffered(option, quoted.offer))
  }
  return [...offers.values()]
}

const unquoted = (option: PricedOption, price: bigint): OfferedOption => ({ option, maxAmountRequired: `${price}` })

const untilOf = ({ extra }: PricedOption): string => JSON.stringify(extra["route"] ?? null)

const toOffered = (option: PricedOption, { amount, extra, payTo }: OnwardOffer): OfferedOption => ({
  option: { ...option, payTo, extra: { ...option.extra, ...extra } },
  maxAmountRequired: `${amount}`
})
