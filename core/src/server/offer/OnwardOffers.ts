/**
 * The offers of options whose money goes on to another network. Their amounts follow the facilitator's quotes, which change: a payer
 * that has signed an offer by any quote that is not over is recognised, and one whose payment is on record whatever was quoted then.
 */
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
  /** Those that are made now; empty if no option can be quoted. */
  readonly made: ReadonlyArray<OfferedOption>
  /** Those that a new payment may have been signed for: these, and those by earlier quotes that are not over. */
  readonly known: ReadonlyArray<OfferedOption>
  /** One for each option, in their order, without the fee: those that a payment on record is compared with. */
  readonly onRecord: ReadonlyArray<OfferedOption>
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
  const made: Array<OfferedOption> = []
  const known: Array<OfferedOption> = []
  const onRecord: Array<OfferedOption> = []
  const stale: Array<NetworkReadiness> = []
  for (const [index, option] of route.options.entries()) {
    const price = amounts[index] ?? 0n
    const { onward, proof } = option
    if (onward === undefined) {
      const offered = { option, maxAmountRequired: `${price}` }
      for (const list of [made, known, onRecord]) list.push(offered)
      continue
    }
    onRecord.push(toOffered(option, onward.onRecord(price)))
    const [latest, ...earlier] = proof.quotes.lists.map((quotes) => onward.quoted(price, quotes))
    const secondsLeft = (latest?.quotedUntil ?? 0) - now / 1000
    if (secondsLeft < renewSeconds) stale.push(proof)
    if (latest?.offer !== undefined && secondsLeft > leastSeconds) made.push(toOffered(option, latest.offer))
    const signable = [latest, ...earlier].filter((one) => one !== undefined && one.quotedUntil * 1000 > now)
    const amountsOf = new Map(signable.flatMap((one) => (one?.offer ? [[one.offer.amount, one.offer]] : [])))
    for (const offer of amountsOf.values()) known.push(toOffered(option, offer))
  }
  const key = made.map(({ maxAmountRequired, option }) => `${maxAmountRequired} ${untilOf(option)}`).join(" ")
  return { made, known, onRecord, stale, key }
}

const untilOf = ({ extra }: PricedOption): string => JSON.stringify(extra["route"] ?? null)

const toOffered = (option: PricedOption, { amount, extra, payTo }: OnwardOffer): OfferedOption => ({
  option: { ...option, payTo, extra: { ...option.extra, ...extra } },
  maxAmountRequired: `${amount}`
})
