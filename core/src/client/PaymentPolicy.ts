/**
 * A payer's own rules: limits, and lists of hosts, networks, assets and payees. They are checked before anything is
 * signed; by default an unknown asset, an unencrypted connection and an amount above the limits are declined.
 */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"

import type { Asset } from "../protocol/Asset.ts"
import * as OptionCheck from "../protocol/OptionCheck.ts"
import type { PaymentRequirements } from "../protocol/PaymentRequirements.ts"
import { Misconfigured } from "../protocol/ProtocolError.ts"
import { isLoopback } from "../protocol/text/Loopback.ts"
import type { SchemeClient } from "../scheme/SchemeClient.ts"
import type { TopUpOffer } from "../scheme/TopUpSource.ts"
import * as AsciiJson from "../wire/http/AsciiJson.ts"
import type { PaymentTerms } from "../wire/pontage/Dialect.ts"
import { decline, type DeclineRule, type PaymentDeclined } from "./PaymentDeclined.ts"
import * as PaymentLimits from "./PaymentLimits.ts"
import * as Spending from "./Spending.ts"

/**
 * Allowed hosts, networks, assets and payees. An absent list allows all. A host is a URL's `host` (its name, and its
 * port unless it is the default one), an asset or a payee an address in any form of its family, a network any of its
 * names. `realms` lists the hosts that a challenge of the Machine Payments Protocol may name beside the request's own; a
 * challenge for any other host is declined, since its payment would buy at that host.
 */
export interface PaymentAllowances {
  readonly hosts?: ReadonlyArray<string>
  readonly networks?: ReadonlyArray<string>
  readonly assets?: ReadonlyArray<string>
  readonly payees?: ReadonlyArray<string>
  readonly realms?: ReadonlyArray<string>
  /** Whether purchases may top up a balance that is too small from another network, with the client's `topUp`; default false. */
  readonly topUp?: boolean
}

const texts = OptionCheck.optional(OptionCheck.list(OptionCheck.text))

/** The keys of the lists. */
export const check: OptionCheck.Check<PaymentAllowances> = OptionCheck.options<PaymentAllowances>({
  hosts: texts,
  networks: texts,
  assets: texts,
  payees: texts,
  realms: texts,
  topUp: OptionCheck.optional(OptionCheck.flag)
})

/** One option of an offer that this payer can sign and its rules allow, with its cost. */
export interface Quote {
  readonly method: string
  /** URL of the paid request. */
  readonly url: string
  readonly requirements: PaymentRequirements
  /** The asset as this payer knows it. */
  readonly asset: Asset
  /** Amount in the smallest unit of the asset. */
  readonly amount: bigint
  /** Price for people: `$0.05`, or the amount in the smallest unit of an asset without a dollar price. */
  readonly price: string
  /** The deposit that the request needs into its payment channel: `confirm` is called for it on its own, before it is signed. */
  readonly deposit?: {
    readonly amount: bigint
    readonly price: string
    /** Seconds that a withdrawal without the shop takes. */
    readonly withdrawDelay: number
  }
  /** The top-up that the request needs, because no option can be paid with what the account has on its network. */
  readonly topUp?: TopUpQuote
}

/** The cost of a top-up: money of the payer's own that goes from one network to the same account on another one. */
export interface TopUpQuote {
  /** The network and the asset that the money leaves, and the account on both networks. */
  readonly from: { readonly network: string; readonly asset: string; readonly account: string }
  /** The amount that arrives on the quote's network, in the smallest unit of its asset; it stays the payer's. */
  readonly amount: bigint
  /** The facilitator's fee, which alone is spent; and the amount with it. In the smallest unit of `from.asset`. */
  readonly fee: bigint
  readonly total: bigint
  /** The fee and the total for people. */
  readonly feePrice: string
  readonly totalPrice: string
  /** The least amount that the facilitator sends. */
  readonly minimum: bigint
  /** Unix seconds: later nothing is signed by this quote. */
  readonly quotedUntil: number
  /** Seconds that it usually takes, a rule of thumb; 0 for one that is under way, which may arrive at any moment. */
  readonly expectedSeconds: number
  /** Present if it is under way already, by this payment: nothing more is signed for it. */
  readonly paymentId?: string
}

/** The amount of a unit (see `Spending`) spent in the last 24 hours: everywhere, or at one host, on one network, or both. */
export type SpentSoFar = (unit: string, host?: string, network?: string) => Spending.Spending

/** An allowed quote, with the means to act on it. */
export interface Allowed {
  readonly quote: Quote
  /** The scheme that signs it. */
  readonly schemeClient: SchemeClient
  /** The reason why the quote, or this part of its amount, exceeds the totals; `undefined` if it does not. */
  readonly exceeds: (spent: SpentSoFar, amount?: bigint) => PaymentDeclined | undefined
  /** The limits that hold for the quote's asset. */
  readonly limits: ReadonlyArray<PaymentLimits.UnitLimit>
  /** The top-up that it needs first. */
  readonly topUp?: TopUpPlan
}

/** A top-up that is not signed yet. */
export interface WantedTopUp {
  readonly _tag: "Wanted"
  readonly offer: TopUpOffer
  /** The amount that arrives. */
  readonly amount: bigint
  /** The fee, as a payment of its own. */
  readonly fee: Quote
  readonly exceeds: Allowed["exceeds"]
}

/** A top-up to make, or the one to this asset that is under way already. */
export type OpenTopUp = WantedTopUp | { readonly _tag: "Underway"; readonly asset: Asset }

/** The same, or one that was agreed on with its purchase and has arrived. */
export type TopUpPlan = OpenTopUp | { readonly _tag: "Agreed" }

/** The options of an offer that would be paid now, in its order, and the reasons against the others. */
export interface Judged {
  readonly allowed: ReadonlyArray<Allowed>
  readonly declined: ReadonlyArray<PaymentDeclined>
}

/** The rules, read and ready. */
export interface PaymentPolicy {
  /** Whether a request to this URL may be paid at all. */
  readonly admit: (url: URL) => Result.Result<void, PaymentDeclined>
  /**
   * One offered option: its quote, or the reason why it is not paid. The totals are not checked yet. With `own`, it is the fee in this
   * asset for money that stays the payer's: the list of payees says nothing about it.
   */
  readonly judge: (
    request: { readonly method: string; readonly url: URL },
    requirements: PaymentRequirements,
    schemeClient: SchemeClient,
    own?: Asset
  ) => Result.Result<Allowed, PaymentDeclined>
  /** The reason against the terms of an option, at `now` in Unix milliseconds. */
  readonly objection: (terms: PaymentTerms, url: URL, now: number) => PaymentDeclined | undefined
}

/**
 * The amounts that a quote adds to the totals: in the asset's own unit and then, for a dollar stablecoin, in dollars.
 */
export const spendingsOf = ({
  amount,
  asset
}: Pick<Quote, "amount" | "asset">): readonly [Spending.Spending, ...ReadonlyArray<Spending.Spending>] => {
  const own = { unit: Spending.assetUnit(asset.network, asset.address), digits: amount, scale: 0 }
  return asset.dollar ? [own, { unit: Spending.dollar, digits: amount, scale: asset.decimals }] : [own]
}

/** The part of a scheme client that the rules are read by. */
export type Payer = Pick<SchemeClient, "scheme" | "network" | "paysOn">

/**
 * Reads the rules for a payer of these scheme clients. A malformed price, amount, address, network or host fails with
 * `Misconfigured`, and so does a limit for a network on which none of them pays: a rule that could never match would be
 * silently missing.
 */
export const make = (
  limits: PaymentLimits.PaymentLimits,
  allow: PaymentAllowances,
  payers: ReadonlyArray<Payer>
): Result.Result<PaymentPolicy, Misconfigured> => {
  const isAddress = (text: string) => payers.some(({ scheme }) => scheme.address(text) !== undefined)
  const isNetwork = (text: string) => payers.some(({ scheme }) => scheme.network(text) !== undefined)
  const networks = limits.networks ?? {}
  const assets = [limits, ...Object.values(networks)].flatMap((one) => Object.keys(one.assets ?? {}))
  const read = Result.all([
    PaymentLimits.read(limits),
    readable("limits.assets", assets, isAddress, "an address of a scheme given here"),
    readable(
      "limits.networks",
      Object.keys(networks),
      (name) => isPaidOn(payers, name),
      "a network that a scheme given here pays on"
    ),
    readable("allow.assets", allow.assets, isAddress, "an address of a scheme given here"),
    readable("allow.payees", allow.payees, isAddress, "an address of a scheme given here"),
    readable("allow.networks", allow.networks, isNetwork, "a network of a scheme given here"),
    readable("allow.hosts", allow.hosts, isHost, 'a host such as "api.example.com" or "localhost:3000"'),
    readable("allow.realms", allow.realms, isHost, 'a host such as "api.example.com" or "localhost:3000"')
  ])
  return Result.map(read, ([limitsOf]) => policy(limitsOf, allow))
}

const readable = (
  option: string,
  texts: ReadonlyArray<string> = [],
  isRight: (text: string) => boolean,
  expected: string
): Result.Result<void, Misconfigured> => {
  const wrong = texts.find((text) => !isRight(text))
  if (wrong === undefined) return Result.succeed(undefined)
  return Result.fail(new Misconfigured({ message: `${option}: expected ${expected}, got ${JSON.stringify(wrong)}` }))
}

/** Whether one of the clients pays on a network of this name. */
const isPaidOn = (payers: ReadonlyArray<Payer>, name: string): boolean =>
  payers.some(({ network, paysOn, scheme }) => {
    const named = scheme.network(name)
    return named !== undefined && (network === undefined ? paysOn?.(named) !== false : network === named)
  })

const isHost = (text: string): boolean =>
  URL.canParse(`https://${text}`) && new URL(`https://${text}`).host === text.toLowerCase()

const policy = (limitsOf: PaymentLimits.LimitsOf, allow: PaymentAllowances): PaymentPolicy => ({
  admit: (url) => admit(url, allow.hosts),
  objection: (terms, url, now) => objection(terms, url, now, allow.realms ?? []),
  judge: (request, requirements, schemeClient, own) => {
    const known = own === undefined ? recognise(requirements, schemeClient) : Result.succeed(own)
    const asset = Result.flatMap(known, (asset) =>
      permit(requirements, asset, schemeClient, own === undefined ? allow : { ...allow, payees: undefined })
    )
    return Result.flatMap(asset, (asset) => {
      const quote = quoteOf(request, requirements, asset)
      const unitLimits = limitsOf(asset, schemeClient.scheme)
      const allowed: Allowed = {
        quote,
        schemeClient,
        limits: unitLimits,
        exceeds: (spent, amount = quote.amount) => overTotals({ ...quote, amount }, unitLimits, spent)
      }
      return Result.map(affordable(quote, unitLimits), () => allowed)
    })
  }
})

const quoteOf = (
  { method, url }: { readonly method: string; readonly url: URL },
  requirements: PaymentRequirements,
  asset: Asset
): Quote => {
  const amount = BigInt(requirements.maxAmountRequired)
  const [own, dollars] = spendingsOf({ amount, asset })
  return { method, url: url.href, requirements, asset, amount, price: Spending.format(dollars ?? own) }
}

const refusal = (rule: DeclineRule, message: string) => Result.fail(decline(rule, message))

const admit = (url: URL, hosts: ReadonlyArray<string> | undefined): Result.Result<void, PaymentDeclined> => {
  if (url.protocol !== "https:" && !(url.protocol === "http:" && isLoopback(url.hostname))) {
    const message = `${url.origin} demands a payment over an unencrypted connection; only https is paid (and http to this machine): use an https URL`
    return refusal("insecure_url", message)
  }
  if (hosts !== undefined && !hosts.some((host) => host.toLowerCase() === url.host)) {
    const message = `${url.host} demands a payment and is not in allow.hosts (${hosts.join(", ")}); add it to allow paying it`
    return refusal("host_not_allowed", message)
  }
  return Result.succeed(undefined)
}

/** Reads a realm that names a host; other realms are names of the server's own. */
const hostGrammar = /^(?:https?:\/\/)?((?:[a-z0-9-]+\.)+[a-z0-9-]+|localhost|\[[0-9a-f:.]+\])\.?(:\d{1,5})?\/?$/i

const objection = (
  { binding: { realm }, validUntil }: PaymentTerms,
  { host, hostname }: URL,
  now: number,
  realms: ReadonlyArray<string>
): PaymentDeclined | undefined => {
  if (validUntil !== undefined && validUntil * 1000 <= now) {
    return decline("terms_unsupported", `the challenge of ${host} has expired; repeat the request for another one`)
  }
  const [, name = "", port = ""] = hostGrammar.exec(realm ?? "") ?? []
  const named = `${name}${port}`.toLowerCase()
  if (named === "" || [host, hostname, ...realms.map((one) => one.toLowerCase())].includes(named)) return undefined
  const message = `${host} asks for a payment in the realm ${AsciiJson.quoted(realm ?? "")}, so it would buy at another host; list it in allow.realms if it is the same shop`
  return decline("terms_unsupported", message)
}

const challengeGrammar = /^[A-Za-z0-9_-]{16,128}$/

/**
 * The option's asset as this payer knows it: nothing is taken from the offer that the scheme client does not know
 * itself.
 */
const recognise = (
  requirements: PaymentRequirements,
  schemeClient: SchemeClient
): Result.Result<Asset, PaymentDeclined> => {
  const { extra, network, payTo } = requirements
  const challenge = extra?.["challenge"]
  if (typeof challenge === "string" && !challengeGrammar.test(challenge)) {
    return refusal("no_acceptable_option", "the offer's challenge is not base64url text of 16 to 128 characters")
  }
  if (schemeClient.scheme.address(payTo) === undefined) {
    return refusal(
      "no_acceptable_option",
      `the payee ${AsciiJson.quoted(payTo)} is not an address of ${schemeClient.scheme.family}`
    )
  }
  const asset = schemeClient.asset(requirements)
  if (asset === undefined) {
    const named = requirements.asset === undefined ? "(none)" : AsciiJson.quoted(requirements.asset)
    const message = `the asset ${named} on ${network} is not known to this client; give it to the scheme's client to pay in it`
    return refusal("asset_unknown", message)
  }
  const objection = schemeClient.objection?.(requirements, asset)
  return objection === undefined ? Result.succeed(asset) : Result.fail(unsupported(asset, objection))
}

const unsupported = ({ network, symbol }: Asset, objection: string): PaymentDeclined =>
  decline("terms_unsupported", `${symbol} on ${network}: ${objection}`)

/** The reason that only the payer's own node shows against a purchase that the rules permit. */
export const chainObjection = ({
  quote: { asset, requirements },
  schemeClient
}: Allowed): Effect.Effect<PaymentDeclined | undefined> =>
  Effect.map(schemeClient.chainObjection?.(requirements, asset) ?? Effect.undefined, (objection) =>
    objection === undefined ? undefined : unsupported(asset, objection)
  )

/** The asset, if it, its network and the payee are allowed. */
const permit = (
  { payTo }: PaymentRequirements,
  asset: Asset,
  { scheme }: SchemeClient,
  allow: Pick<PaymentAllowances, "networks" | "assets"> & { readonly payees?: ReadonlyArray<string> | undefined }
): Result.Result<Asset, PaymentDeclined> => {
  // The asset's network and not the client's: a client of all networks of its family has none of its own.
  const { network } = asset
  if (allow.networks !== undefined && !allow.networks.some((text) => scheme.network(text) === network)) {
    return refusal("network_not_allowed", `${network} is not in allow.networks (${allow.networks.join(", ")})`)
  }
  if (allow.assets !== undefined && !allow.assets.some((text) => scheme.address(text) === asset.address)) {
    return refusal("asset_not_allowed", `${asset.symbol} (${asset.address}) is not in allow.assets`)
  }
  if (allow.payees !== undefined && !allow.payees.some((text) => scheme.address(text) === scheme.address(payTo))) {
    return refusal("payee_not_allowed", `the payee ${payTo} is not in allow.payees`)
  }
  return Result.succeed(asset)
}

const affordable = (
  quote: Quote,
  limits: ReadonlyArray<PaymentLimits.UnitLimit>
): Result.Result<void, PaymentDeclined> => {
  if (limits.length === 0) {
    const { address, symbol } = quote.asset
    const message = `${asks(quote)}, and ${symbol} is not a dollar stablecoin, so no dollar limit covers it; give limits.assets["${address}"] to allow it`
    return refusal("asset_without_limit", message)
  }
  for (const { counts, option, perRequest } of limits) {
    if (perRequest !== undefined && Spending.isAbove(costOf(quote, counts), perRequest)) {
      const message = `${asks(quote)}; the limit is ${Spending.format(perRequest)} a request; raise ${option}.perRequest to allow it`
      return refusal("over_request_limit", message)
    }
  }
  return Result.succeed(undefined)
}

const costOf = (quote: Quote, counts: PaymentLimits.UnitLimit["counts"]): Spending.Spending => {
  const [own, dollars] = spendingsOf(quote)
  return counts === "asset" || dollars === undefined ? own : dollars
}

const overTotals = (
  quote: Quote,
  limits: ReadonlyArray<PaymentLimits.UnitLimit>,
  spent: SpentSoFar
): PaymentDeclined | undefined => {
  for (const { counts, network, option, perDay, perHost } of limits) {
    const cost = costOf(quote, counts)
    const excess = (name: string, limit: Spending.Spending, host?: string) => {
      const total = spent(cost.unit, host, network)
      if (!Spending.isAbove(Spending.add(total, cost), limit)) return undefined
      const where = `${host === undefined ? "" : ` at ${host}`}${network === undefined ? "" : ` on ${network}`}`
      return `${asks(quote)}; ${Spending.format(total)} of ${Spending.format(limit)} in 24 hours${where} is spent or reserved; raise ${option}.${name} to allow it`
    }
    const today = perDay && excess("perDay", perDay)
    if (today !== undefined) return decline("over_day_limit", today)
    const here = perHost && excess("perHost", perHost, new URL(quote.url).host)
    if (here !== undefined) return decline("over_host_limit", here)
  }
  return undefined
}

const asks = ({ amount, asset, price, url }: Quote): string =>
  `${new URL(url).host} asks ${price} (${amount} of the smallest unit of ${asset.symbol} on ${asset.network})`
