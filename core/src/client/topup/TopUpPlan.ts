/**
 * Plans of top-ups: from where, how much, at which fee, and whether the payer's rules allow it. Nothing is signed here.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"

import type { Asset } from "../../protocol/Asset.ts"
import * as OptionCheck from "../../protocol/OptionCheck.ts"
import * as Price from "../../protocol/Price.ts"
import type { Scheme } from "../../scheme/Scheme.ts"
import type { TopUpOffer, TopUpSource } from "../../scheme/TopUpSource.ts"
import * as AsciiJson from "../../wire/http/AsciiJson.ts"
import { priceOf } from "../ChannelFunds.ts"
import type { JournalEntry } from "../JournalEntry.ts"
import { decline, type PaymentDeclined } from "../PaymentDeclined.ts"
import type { JournalUnavailable, PaymentJournal } from "../PaymentJournal.ts"
import {
  type Allowed,
  type Judged,
  type PaymentPolicy,
  type Quote,
  spendingsOf,
  type OpenTopUp,
  type TopUpQuote,
  type WantedTopUp
} from "../PaymentPolicy.ts"
import * as Spending from "../Spending.ts"

/** A top-up that is ordered for itself. */
export interface TopUpOrder {
  /** The network that it arrives on, by any of its names. */
  readonly to: string
  /** The network that it comes from; default the one with the least fee. */
  readonly from?: string
  /** The asset that arrives, by its address; needed where several can. */
  readonly asset?: string
  /** A price such as `"$20"`, or an amount in the smallest unit. */
  readonly amount: string | bigint
}

/** A misspelt key would be a wish that is silently missing: the cheapest network would be taken. */
const check = /* @__PURE__ */ OptionCheck.options<TopUpOrder>({
  to: OptionCheck.text,
  from: OptionCheck.optional(OptionCheck.text),
  asset: OptionCheck.optional(OptionCheck.text),
  amount: OptionCheck.either(OptionCheck.text, OptionCheck.amount())
})

/** A plan, and the quote to confirm. */
export interface Planned {
  readonly plan: OpenTopUp
  readonly quote: Quote
}

interface Context {
  readonly journal: PaymentJournal["Service"]
  readonly policy: PaymentPolicy
}

/** The name of all top-ups of one account to one asset: at most one of them is under way. */
export const nameOf = ({ account }: TopUpSource, { address, network }: Asset): string =>
  `top-up ${network} ${address} ${account}`

/** The network and the asset in such a name. */
export const placeIn = (name: string): { readonly network: string; readonly asset: string } => {
  const [, network = "", asset = ""] = name.split(" ")
  return { network, asset }
}

/** Seconds that a quote must still hold when it is shown: a person reads it, and a wallet asks. */
const leastSeconds = 60

/** The decline of a quote that has ended. */
export const stale = decline(
  "top_up_unavailable",
  "the quote of the top-up has ended; nothing was signed: repeat the request for another one"
)

/** Options do not wait for each other's nodes. */
const atOnce = { concurrency: "unbounded" } as const

/** Keeps the options that are funded. If none is, plans the top-ups that would fund them. */
export const judge = Effect.fnUntraced(function* (
  source: TopUpSource,
  context: Context,
  { allowed, declined }: Judged,
  isAllowed: boolean
): Effect.fn.Return<Judged, JournalUnavailable> {
  const funds = yield* Effect.forEach(allowed, (one) => fundsOf(source, context, one), atOnce)
  const isFunded = (_: unknown, index: number) => funds[index] === undefined
  if (funds.every((one) => one === undefined)) return { allowed, declined }
  if (funds.includes(undefined)) {
    const poor = funds.flatMap((one) => (one === undefined ? [] : [one.declined]))
    return { allowed: allowed.filter(isFunded), declined: [...declined, ...poor] }
  }
  const plan = (one: Allowed, index: number) => {
    const lack = funds[index]
    return lack === undefined ? Effect.succeed(Result.succeed(one)) : planFor(source, context, one, lack, isAllowed)
  }
  const planned = yield* Effect.forEach(allowed, plan, atOnce)
  return {
    allowed: planned.flatMap((one) => (Result.isSuccess(one) ? [one.success] : [])),
    declined: [...declined, ...planned.flatMap((one) => (Result.isFailure(one) ? [one.failure] : []))]
  }
})

interface Lack {
  readonly missing: bigint
  readonly declined: PaymentDeclined
}

/** The amount that the account lacks for an option; `undefined` where it has enough, or where its balance is not known. */
const fundsOf = Effect.fnUntraced(function* (
  source: TopUpSource,
  { journal }: Context,
  { quote, schemeClient }: Allowed
): Effect.fn.Return<Lack | undefined, JournalUnavailable> {
  // A payment channel is paid from its deposit, and not from the balance.
  if (schemeClient.scheme.name !== source.schemeClient.scheme.name) return undefined
  const { amount, asset, price } = quote
  const balance = yield* Effect.catch(source.balanceOf(asset), () => Effect.undefined)
  if (balance === undefined) return undefined
  const free = balance - (yield* journal.committed({ network: asset.network, asset: asset.address }))
  if (free >= amount) return undefined
  const has = priceOf(greater(free, 0n), asset)
  const message = `${source.account} has ${has} of ${asset.symbol} on ${asset.network} that no open payment needs, and the price is ${price}`
  return { missing: amount - free, declined: decline("insufficient_funds", message) }
})

const planFor = Effect.fnUntraced(function* (
  source: TopUpSource,
  context: Context,
  one: Allowed,
  { declined, missing }: Lack,
  isAllowed: boolean
): Effect.fn.Return<Result.Result<Allowed, PaymentDeclined>, JournalUnavailable> {
  const { asset } = one.quote
  const open = yield* context.journal.open(nameOf(source, asset))
  if (open !== undefined) {
    const topUp = underway(source, asset, open)
    return Result.succeed({ ...one, quote: { ...one.quote, topUp }, topUp: { _tag: "Underway", asset } })
  }
  const offers = yield* Effect.result(source.offers(asset.network, asset.address))
  if (Result.isFailure(offers)) return Result.fail(because(declined, unavailable(offers.failure)))
  const found = yield* best(source, context, asset.network, offers.success, (offer) => {
    const needed = greater(missing, offer.minimum)
    const own = greater(missing, source.least(asset))
    return { needed, wanted: greater(needed, own), own }
  })
  if (Result.isFailure(found)) return Result.fail(because(declined, found.failure))
  const { plan, topUp } = found.success
  const spent = yield* context.journal.spent
  const over = one.exceeds((unit, host, network) => withFee(plan.fee, spent(unit, host, network), host, network))
  if (over !== undefined) return Result.fail(over)
  if (!isAllowed) return Result.fail(notAllowed(declined, plan, topUp))
  return Result.succeed({ ...one, quote: { ...one.quote, topUp }, topUp: plan })
})

const notAllowed = ({ message }: PaymentDeclined, { offer }: WantedTopUp, topUp: TopUpQuote): PaymentDeclined => {
  const arriving = priceOf(topUp.amount, offer.to)
  const what = `a top-up of ${arriving} from ${offer.from.network} would cost a fee of ${topUp.feePrice} and take ${topUp.totalPrice} there`
  return decline("top_up_not_allowed", `${message}; ${what}: set allow.topUp to true to have it made`)
}

const because = ({ message }: PaymentDeclined, reason: PaymentDeclined): PaymentDeclined =>
  decline(reason.rule, `${message}; no top-up: ${reason.message}`)

/** The totals as they are once the fee is paid. */
const withFee = (fee: Quote, total: Spending.Spending, host?: string, network?: string): Spending.Spending => {
  const counts =
    (host === undefined || host === new URL(fee.url).host) && (network === undefined || network === fee.asset.network)
  const same = counts ? spendingsOf(fee).filter(({ unit }) => unit === total.unit) : []
  return same.reduce(Spending.add, total)
}

const greater = (a: bigint, b: bigint): bigint => (a > b ? a : b)

/** The quote of the top-up to this asset that is under way. */
const underway = ({ account }: TopUpSource, to: Asset, entry: JournalEntry): TopUpQuote => {
  const { amount, asset, network, paymentId = "", topUp, validBefore } = entry
  const [arriving, total] = [BigInt(topUp ?? 0), BigInt(amount)]
  return {
    from: { network, asset, account },
    amount: arriving,
    fee: total - arriving,
    total,
    feePrice: priceOf(total - arriving, to),
    totalPrice: priceOf(total, to),
    minimum: arriving,
    quotedUntil: validBefore,
    expectedSeconds: 0,
    paymentId
  }
}

/**
 * The least that is needed of an offer, what is wanted where the balance allows it, and how much of that is the payer's own wish: a
 * facilitator's minimum may be more.
 */
type Sizes = (offer: TopUpOffer) => { readonly needed: bigint; readonly wanted: bigint; readonly own: bigint }

interface Found {
  readonly plan: WantedTopUp
  readonly topUp: TopUpQuote
}

const unavailable = ({ message }: { readonly message: string }) => decline("top_up_unavailable", message)

/** The way with the least fee among those that the rules and the balance allow; or the reason against the first one. */
const best = Effect.fnUntraced(function* (
  source: TopUpSource,
  context: Context,
  network: string,
  offers: ReadonlyArray<TopUpOffer>,
  sizes: Sizes
): Effect.fn.Return<Result.Result<Found, PaymentDeclined>, JournalUnavailable> {
  const found = yield* Effect.forEach(offers, (offer) => sized(source, context, offer, sizes(offer)))
  const [least] = found
    .flatMap((one) => (Result.isSuccess(one) ? [one.success] : []))
    .toSorted((one, other) => (one.topUp.fee < other.topUp.fee ? -1 : 1))
  if (least !== undefined) return Result.succeed(least)
  return found[0] ?? Result.fail(noWay(source, network))
})

const noWay = ({ facilitator }: TopUpSource, network: string) =>
  unavailable({ message: `${facilitator} quotes no way to ${network} now from the other networks of topUp` })

const sized = Effect.fnUntraced(function* (
  source: TopUpSource,
  { journal, policy }: Context,
  offer: TopUpOffer,
  { needed, own, wanted }: ReturnType<Sizes>
): Effect.fn.Return<Result.Result<Found, PaymentDeclined>, JournalUnavailable> {
  const { from, minimum, quotedUntil, to } = offer
  const price = (amount: bigint) => priceOf(amount, from)
  if (quotedUntil - leastSeconds <= (yield* Clock.currentTimeMillis) / 1000) return Result.fail(stale)
  const committed = yield* journal.committed({ network: from.network, asset: from.address })
  const free = offer.available - committed
  const most = offer.arrivingOf(free)
  if (needed > most) {
    const message = `${price(greater(free, 0n))} on ${from.network} does not cover ${price(needed)} and the fee of ${price(offer.feeFor(needed))}`
    return Result.fail(decline("insufficient_funds", message))
  }
  const amount = wanted < most ? wanted : most
  const fee = offer.feeFor(amount)
  if (needed < minimum) {
    const message = `${source.facilitator} sends at least ${price(minimum)} to ${to.network}`
    return Result.fail(decline("top_up_unavailable", message))
  }
  const requirements = offer.requirements(amount)
  const objection = source.schemeClient.objection?.(requirements, from)
  if (objection !== undefined) return Result.fail(decline("terms_unsupported", objection))
  const url = new URL(`${source.facilitator}/settle`)
  const asked = { method: "POST", url }
  const judge = (units: bigint) =>
    policy.judge(asked, { ...requirements, maxAmountRequired: `${units}` }, source.schemeClient, from)
  const judged = judge(fee)
  if (Result.isFailure(judged)) return Result.fail(judged.failure)
  const { exceeds, quote } = judged.success
  // Else a facilitator could have all of the payer's money moved, by a minimum that its owner has not agreed to.
  const beyond = greater(amount - own, 0n)
  const moved = judge(fee + beyond)
  if (Result.isFailure(moved)) {
    const message = `${source.facilitator} sends at least ${price(minimum)}, ${price(beyond)} more than is wanted: ${moved.failure.message}`
    return Result.fail(decline(moved.failure.rule, message))
  }
  const over = exceeds(yield* journal.spent)
  if (over !== undefined) return Result.fail(over)
  return Result.succeed({
    plan: { _tag: "Wanted", offer, amount, fee: quote, exceeds },
    topUp: topUpQuoteOf(source, offer, amount)
  })
})

const topUpQuoteOf = ({ account }: TopUpSource, offer: TopUpOffer, amount: bigint): TopUpQuote => {
  const { expectedSeconds, from, minimum, quotedUntil } = offer
  const fee = offer.feeFor(amount)
  return {
    from: { network: from.network, asset: from.address, account },
    amount,
    fee,
    total: amount + fee,
    feePrice: priceOf(fee, from),
    totalPrice: priceOf(amount + fee, from),
    minimum,
    quotedUntil,
    expectedSeconds
  }
}

/** Plans a top-up of its own. */
export const order = Effect.fnUntraced(function* (
  source: TopUpSource,
  context: Context,
  given: TopUpOrder
): Effect.fn.Return<Planned, PaymentDeclined | JournalUnavailable> {
  yield* Effect.fromResult(Result.mapError(OptionCheck.read(check, given, "topUp"), unavailable))
  const place = yield* Effect.fromResult(placeOf(source.schemeClient.scheme, given))
  const all = yield* Effect.mapError(source.offers(place.network, place.asset), unavailable)
  const offers = all.filter(({ from }) => place.from === undefined || from.network === place.from)
  const [first] = offers
  if (first === undefined) return yield* noWay(source, place.network)
  const { to } = first
  const others = offers.filter((offer) => offer.to.address !== to.address)
  if (others.length > 0) {
    const names = [...new Set([to, ...others.map((offer) => offer.to)].map(({ address }) => address))].join(", ")
    return yield* unavailable({ message: `several tokens arrive on ${place.network}; name one as asset: ${names}` })
  }
  const amount = yield* Effect.fromResult(amountIn(given.amount, to))
  const requirements = first.requirements(amount)
  const url = `${source.facilitator}/settle`
  const quote: Quote = { method: "POST", url, requirements, asset: to, amount, price: priceOf(amount, to) }
  const open = yield* context.journal.open(nameOf(source, to))
  if (open !== undefined) {
    return { quote: { ...quote, topUp: underway(source, to, open) }, plan: { _tag: "Underway", asset: to } }
  }
  const found = yield* best(source, context, place.network, offers, () => ({
    needed: amount,
    wanted: amount,
    own: amount
  }))
  const { plan, topUp } = yield* Effect.fromResult(found)
  return { quote: { ...quote, requirements: plan.offer.requirements(amount), topUp }, plan }
})

/** The places of an order in their canonical form. */
const placeOf = ({ address, family, network }: Scheme, { asset, from, to }: TopUpOrder) => {
  const wrong = (key: string, text: string) =>
    Result.fail(unavailable({ message: `the top-up's ${key} ${AsciiJson.quoted(text)} is none of ${family}` }))
  const place = {
    network: network(to),
    from: from === undefined ? undefined : network(from),
    asset: asset === undefined ? undefined : address(asset)
  }
  if (place.network === undefined) return wrong("to", to)
  if (from !== undefined && place.from === undefined) return wrong("from", from)
  if (asset !== undefined && place.asset === undefined) return wrong("asset", asset)
  return Result.succeed({ ...place, network: place.network })
}

const amountIn = (given: string | bigint, { decimals }: Asset): Result.Result<bigint, PaymentDeclined> => {
  const amount =
    typeof given === "bigint"
      ? Result.succeed(given)
      : Result.mapError(Price.toAmount(given, decimals), ({ message }) => unavailable({ message }))
  return Result.flatMap(amount, (units) =>
    units > 0n ? amount : Result.fail(unavailable({ message: `the top-up's amount is ${units}; expected more than 0` }))
  )
}
