/**
 * A checked route configuration, with its prices in the smallest units of its assets. An error message names the route,
 * the option and the fix; mistakes are found when the server starts, not when the first buyer comes.
 */
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"

import type { Asset } from "../../protocol/Asset.ts"
import type { CallInput, CallOutput } from "../../protocol/CallDescription.ts"
import * as Network from "../../protocol/Network.ts"
import { defaultMaxTimeoutSeconds } from "../../protocol/PaymentRequirements.ts"
import { Misconfigured } from "../../protocol/ProtocolError.ts"
import type { OnwardOffers, OnwardOption, SchemeServer } from "../../scheme/SchemeServer.ts"
import type { SellerDialect } from "../../wire/pontage/Dialect.ts"
import * as SellerDialects from "../../wire/SellerDialects.ts"
import type * as NetworkReadiness from "../shop/NetworkReadiness.ts"
import * as PriceResolver from "../shop/PriceResolver.ts"
import * as Shop from "../shop/Shop.ts"
import * as MeteredTerms from "./MeteredTerms.ts"
import * as RouteCall from "./RouteCall.ts"
import * as RouteCharge from "./RouteCharge.ts"
import type { GetPrice, RouteConfig, Validate } from "./RouteConfig.ts"
import { type Checked, type Entry, read, type WrittenRoute } from "./WrittenRoute.ts"

/** One way to pay for a route, checked. */
export interface PricedOption {
  readonly scheme: string
  readonly network: Network.Network
  /** The recipient's address in the family's wire form. */
  readonly payTo: string
  readonly asset: Asset
  /** The offer's `extra` without the challenge. */
  readonly extra: Readonly<Record<string, Schema.Json>>
  readonly schemeServer: SchemeServer
  /** Makes its offers, if its money goes on to another network. */
  readonly onward?: OnwardOffers
  readonly proof: NetworkReadiness.NetworkReadiness
  /** Present if the response is charged while it is sent. */
  readonly metered?: MeteredTerms.MeteredTerms
}

/** A checked route. Host adapters need `name` and `settle`; the other fields are for the gate. */
export interface PricedRoute {
  /** Name in error messages: `GET /report`. */
  readonly name: string
  /** Whether it sells nothing, and takes the vouchers of metered routes. */
  readonly takesVouchers?: true
  /** `after-handler` requires an adapter that can hold the response back. */
  readonly settle: "before-handler" | "after-handler"
  readonly serve: "departed" | "delivered"
  readonly binding: "required" | "preferred" | "off"
  readonly cache: string
  readonly description: string | undefined
  readonly mimeType: string | undefined
  readonly input: CallInput | undefined
  readonly output: CallOutput | undefined
  readonly listed: boolean
  readonly maxTimeoutSeconds: number
  /** Time limit for each call of `getPrice` and of `validate`, in milliseconds. */
  readonly priceTimeoutMillis: number
  readonly refused: "reusable" | "charged"
  readonly bind: "none" | "body"
  readonly repeat: "none" | "same"
  readonly receipt: "none" | "payment" | "response"
  readonly signedOffers: boolean
  readonly validate: Validate | undefined
  /** The charge of a draw by its response's head. */
  readonly charge: RouteCharge.RouteCharge | undefined
  readonly resource: string | undefined
  readonly dialects: SellerDialects.SellerDialects
  readonly options: ReadonlyArray<PricedOption>
  /** The amounts of the options, in their order; or the function that prices a request. */
  readonly price: ReadonlyArray<bigint> | GetPrice
}

const defaultPriceTimeoutMillis = 10_000

/** Checks a route against its shop. Messages call it `name`. */
export const make = (shop: Shop.Shop, name: string, config: RouteConfig): Result.Result<PricedRoute, Misconfigured> =>
  Result.mapError(
    Result.flatMap(read(config), (written) => check(shop, name, written)),
    (mistake) => new Misconfigured({ message: `route ${JSON.stringify(name)}: ${mistake}` })
  )

const check = (
  shop: Shop.Shop,
  name: string,
  { charge, entries, getPrice, dialects, terms, validate }: WrittenRoute
): Checked<PricedRoute> =>
  Result.gen(function* () {
    if (terms.repeat === "same" && !shop.keepsResponses) yield* Result.fail(keepsNone)
    const unsigned = shop.receipts === undefined ? signedBy(terms) : undefined
    if (unsigned !== undefined) yield* Result.fail(unsigned)
    if (terms.serve === "delivered" && terms.settle === "after-handler") yield* Result.fail(ranTooEarly)
    const call = yield* RouteCall.check(name, terms)
    const chosen = yield* Result.all(entries.map((entry) => choose(shop, entry)))
    if (terms.binding === "off" && chosen.some(({ option }) => option.onward !== undefined))
      yield* Result.fail(unboundOnward)
    yield* distinct(chosen)
    yield* drawable(terms, chosen)
    const late = charge === undefined ? terms.metered && "metered" : "charge"
    if (late !== undefined) yield* chargeable(late, terms, chosen)
    if (charge !== undefined && terms.metered !== undefined)
      yield* Result.fail("charge and metered are both given; keep one")
    const price = yield* priceOf(shop, chosen, getPrice)
    const options = yield* Result.all(chosen.map((choice) => meteredOf(shop, terms.metered, choice)))
    return {
      name,
      settle: terms.settle ?? "before-handler",
      serve: terms.serve ?? "departed",
      binding: terms.binding ?? "preferred",
      cache: terms.cache ?? "private",
      description: terms.description,
      mimeType: terms.mimeType,
      ...call,
      listed: terms.listed ?? true,
      maxTimeoutSeconds: terms.maxTimeoutSeconds ?? defaultMaxTimeoutSeconds,
      priceTimeoutMillis: terms.priceTimeoutMillis ?? defaultPriceTimeoutMillis,
      refused: terms.refused ?? "reusable",
      bind: terms.bind ?? "none",
      repeat: terms.repeat ?? "none",
      receipt: terms.receipt ?? (late === undefined ? "payment" : "none"),
      charge: charge && RouteCharge.make(shop.prices, charge),
      signedOffers: terms.signedOffers ?? false,
      validate,
      resource: terms.resource,
      dialects: yield* dialectsOf(dialects, options, terms.binding),
      options,
      price
    }
  })

const ranTooEarly =
  'serve: "delivered" runs the handler after the money has arrived, which may take minutes; remove settle: "after-handler", or serve'

const unboundOnward =
  'binding: "off" is not possible where the money goes on to another network (onward): such a payment is recognised by its challenge; leave it out'

/** A voucher names its channel and no request: it cannot be bound to one, and its bytes do not tell a repetition. */
const drawable = ({ binding, repeat, settle }: WrittenRoute["terms"], chosen: ReadonlyArray<Choice>): Checked<void> => {
  const channel = chosen.find(({ option }) => option.scheme === "batch-settlement")
  if (channel === undefined) return Result.succeed(undefined)
  const { place } = channel.entry
  if (binding === "required")
    return Result.fail(`${place}batch-settlement: a voucher is bound to no request; leave binding: "required" out`)
  if (settle === "after-handler")
    return Result.fail(
      `${place}batch-settlement: a draw is charged when the head of the response is sent; leave settle: "after-handler" out`
    )
  return repeat === "same"
    ? Result.fail(`${place}batch-settlement: a voucher cannot repeat a response; leave repeat: "same" out`)
    : Result.succeed(undefined)
}

/** The option with its metered terms, which the offer carries. */
const meteredOf = (
  shop: Shop.Shop,
  metered: WrittenRoute["terms"]["metered"],
  { entry: { place, price }, option }: Choice
): Checked<PricedOption> => {
  if (metered === undefined) return Result.succeed(option)
  const made = MeteredTerms.make(shop, metered, option.asset, price)
  return Result.mapBoth(made, {
    onFailure: (mistake) => `${place}${mistake}`,
    onSuccess: (terms) => {
      const extra = { ...option.extra, metered: MeteredTerms.onWire(terms) }
      const whole = { ...option, extra, metered: terms }
      shop.metered.push(whole)
      return whole
    }
  })
}

/** A payment that moves before the handler runs cannot be made smaller, and a signed receipt is made before the charge is known. */
const chargeable = (
  name: string,
  { receipt = "none" }: WrittenRoute["terms"],
  chosen: ReadonlyArray<Choice>
): Checked<void> => {
  const other = chosen.find(({ option }) => option.scheme !== "batch-settlement")
  if (other !== undefined)
    return Result.fail(
      `${other.entry.place}${name}: "${other.option.scheme}" pays the whole price before the handler runs; sell the route by scheme: "batch-settlement" alone, or leave ${name} out`
    )
  return receipt === "none"
    ? Result.void
    : Result.fail(`${name}: a receipt is signed before the charge is known; leave receipt: "${receipt}" out`)
}

const keepsNone = 'repeat: "same" is not possible here: this host keeps no responses; leave it out'

/** The mistake of a route that asks for signatures in a shop without a signer. */
const signedBy = ({ receipt, signedOffers = false }: WrittenRoute["terms"]): string | undefined => {
  const option = signedOffers ? "signedOffers: true" : `receipt: "${receipt}"`
  return signedOffers || receipt === "payment" || receipt === "response"
    ? `${option} needs a signer; give the shop receipts: exactEvm.receiptSigner(privateKey)`
    : undefined
}

/** Checks the dialects: one that cannot express any of the options would send an empty offer. */
const dialectsOf = (
  dialects: ReadonlyArray<SellerDialect> | undefined,
  options: ReadonlyArray<PricedOption>,
  binding: PricedRoute["binding"] | undefined
): Checked<SellerDialects.SellerDialects> => {
  if (dialects === undefined) return Result.succeed(SellerDialects.usual)
  if (!Array.isArray(dialects) || !dialects.every((dialect) => typeof dialect?.readPayment === "function")) {
    return Result.fail("dialects: expected a list of sellers' dialects such as [protocolSeller]")
  }
  if (dialects.length === 0) return Result.fail("dialects is empty; give at least one dialect, or leave it out")
  if (new Set(dialects).size !== dialects.length) return Result.fail("dialects names a dialect twice; keep one")
  const hidden = SellerDialects.hidden(dialects)
  if (hidden !== undefined) {
    return Result.fail(
      `dialects: ${hidden.name} puts its offers into the body of a refusal, which the first dialect writes; put it first`
    )
  }
  const challenged = binding === "off" ? dialects.find(({ needsBinding }) => needsBinding === true) : undefined
  if (challenged !== undefined) {
    return Result.fail(`dialects: ${challenged.name} has no payments without a challenge; leave binding: "off" out`)
  }
  const mute = dialects.find(
    (dialect) => !options.some((option) => dialect.canOffer(option.scheme, option.network, offeredExtra(option)))
  )
  if (mute === undefined) return Result.succeed(SellerDialects.make(dialects))
  const networks = options.map(({ network }) => network).join(", ")
  return Result.fail(
    `dialects: ${mute.name} has no name for ${networks}; offer a network that it knows, or remove the dialect`
  )
}

/** The `extra` of an option's offer, as far as it is known at start. */
const offeredExtra = ({ extra, onward }: PricedOption): PricedOption["extra"] => ({
  ...extra,
  ...onward?.onRecord(1n).extra
})

interface Choice {
  readonly entry: Entry
  readonly option: PricedOption
}

const choose = (shop: Shop.Shop, entry: Entry): Checked<Choice> =>
  Result.gen(function* () {
    const { schemeServer, network } = yield* schemeServerFor(shop, entry)
    const far = yield* farServerOf(shop, schemeServer, entry)
    const payTo = yield* recipientOf(shop, far?.server ?? schemeServer, entry)
    const asset = yield* assetOf(schemeServer, network, entry)
    const extra = yield* extraOf(asset, entry)
    const onward = yield* onwardOf(schemeServer, { asset, payTo, there: far?.asset }, entry)
    const proof = Shop.prove(shop, schemeServer, asset)
    const option = {
      scheme: entry.scheme,
      network,
      payTo,
      asset,
      extra,
      schemeServer,
      proof,
      ...(onward && { onward })
    }
    return { entry, option }
  })

const schemeServerFor = (shop: Shop.Shop, { network: text, place, scheme }: Entry) => {
  const named = shop.schemes.schemes.filter((schemeServer) => schemeServer.scheme.name === scheme)
  if (named.length === 0) {
    const names = [...new Set(shop.schemes.schemes.map((schemeServer) => schemeServer.scheme.name))].join(", ")
    return Result.fail(`${place}scheme "${scheme}" is not registered; the shop's schemes are: ${names}`)
  }
  const network = named.map((schemeServer) => schemeServer.scheme.network(text)).find((known) => known !== undefined)
  if (network === undefined) {
    const served = named.map((schemeServer) => schemeServer.network ?? `${schemeServer.scheme.family}:…`).join(", ")
    return Result.fail(`${place}network "${text}" is unknown; the shop's schemes serve: ${served}`)
  }
  const schemeServer = shop.schemes.find(scheme, network) ?? shop.schemes.findOpen(scheme, Network.namespace(network))
  if (schemeServer === undefined) {
    return Result.fail(`${place}network "${text}": no scheme serves ${network}; add it to the shop's schemes`)
  }
  const chosen = schemeServer.network ?? shop.chosen.get(schemeServer) ?? network
  if (chosen !== network) {
    return Result.fail(
      `${place}network "${text}": the scheme registered without a network serves ${chosen} already; register one scheme per network, each with its network`
    )
  }
  shop.chosen.set(schemeServer, network)
  return Result.succeed({ schemeServer, network })
}

const recipientOf = (shop: Shop.Shop, schemeServer: SchemeServer, { payTo: text, place }: Entry): Checked<string> => {
  const { family } = schemeServer.scheme
  const fault = schemeServer.scheme.recipientFault?.(text)
  if (fault !== undefined) return Result.fail(`${place}payTo "${text}" ${fault}`)
  const payTo = schemeServer.scheme.address(text)
  if (payTo === undefined) {
    const owner = shop.schemes.schemes.find((other) => other.scheme.address(text) !== undefined)
    const what = owner === undefined ? "not an address" : `an address of ${owner.scheme.family}`
    return Result.fail(`${place}payTo "${text}" is ${what}; expected an address of ${family}`)
  }
  const other = shop.recipients.get(text) ?? family
  if (other !== family) {
    return Result.fail(
      `${place}payTo "${text}" is used for ${other} and ${family}; a recipient is reused within one chain family only`
    )
  }
  shop.recipients.set(text, family)
  return Result.succeed(payTo)
}

const assetOf = (
  schemeServer: SchemeServer,
  network: Network.Network,
  { asset: text, place }: Pick<Entry, "place"> & { readonly asset?: string | undefined }
): Checked<Asset> => {
  const asset = schemeServer.asset(network, text)
  if (asset !== undefined) return Result.succeed(asset)
  const names = schemeServer.assetNames(network).join(", ")
  const what =
    text === undefined ? `no default token is known on ${network}` : `asset "${text}" is unknown on ${network}`
  const mend =
    names === "" ? "give the token to the scheme server as one of its assets" : `name the asset, one of: ${names}`
  return Result.fail(`${place}${what}; ${mend}`)
}

/** A server of another family, and the asset that arrives there. */
interface FarServer {
  readonly server: SchemeServer
  readonly asset: Asset
}

/** The server of the network that an option's money goes on to, where that is of another family: the recipient is an account there. */
const farServerOf = (
  shop: Shop.Shop,
  { scheme }: SchemeServer,
  { onward, place }: Entry
): Checked<FarServer | undefined> => {
  if (onward === undefined) return Result.succeed(undefined)
  const { asset: text, network: name } = onward
  const server = shop.schemes.schemes.find((one) => one.scheme.network(name) !== undefined)
  const network = server?.scheme.network(name)
  if (server === undefined || network === undefined || server.scheme.family === scheme.family)
    return Result.succeed(undefined)
  return Result.map(assetOf(server, network, { asset: text, place: `${place}onward: ` }), (asset) => ({
    server,
    asset
  }))
}

/** The offers of an option whose money goes on to another network. */
const onwardOf = (
  { onward, scheme }: SchemeServer,
  terms: Pick<OnwardOption, "asset" | "payTo" | "there">,
  { onward: wanted, place }: Entry
): Checked<OnwardOffers | undefined> => {
  if (wanted === undefined) return Result.succeed(undefined)
  if (onward === undefined)
    return Result.fail(`${place}onward: payments by ${scheme.family} do not go on to other networks`)
  return Result.mapError(
    onward({ ...terms, network: wanted.network, arriving: wanted.asset, inventory: wanted.inventory }),
    (problem) => `${place}onward: ${problem}`
  )
}

const filledIn: ReadonlySet<string> = new Set(["challenge", "routeToken", "retryToken", "metered"])

/**
 * The keys of `extra`: those that are checked against the chain cannot be overwritten, nor can the gate's own, such as
 * the challenge.
 */
const extraOf = ({ extra: proven }: Asset, { extra = {}, place }: Entry): Checked<PricedOption["extra"]> => {
  const taken = Object.keys(extra).find((key) => filledIn.has(key) || Object.hasOwn(proven, key))
  if (taken !== undefined) return Result.fail(`${place}extra.${taken} is set by the gate; remove it`)
  const { length } = new TextEncoder().encode(JSON.stringify(extra))
  return length <= maximumExtraBytes
    ? Result.succeed({ ...proven, ...extra })
    : Result.fail(
        `${place}extra takes ${length} bytes as JSON; payers repeat it, and at most ${maximumExtraBytes} bytes fit`
      )
}

/**
 * Limit on an option's `extra` as JSON, in bytes: with the longest of all other fields, and a payment of 2.5 KiB, a
 * repeated offer still fits the longest accepted header.
 */
const maximumExtraBytes = 1024

const distinct = (choices: ReadonlyArray<Choice>): Checked<void> => {
  const seen = new Set<string>()
  for (const { entry, option } of choices) {
    const key = JSON.stringify([option.scheme, option.network, option.asset.address])
    if (seen.has(key)) {
      return Result.fail(
        `${entry.place}offers "${option.scheme}" on ${option.network} in ${option.asset.symbol} a second time; keep one`
      )
    }
    seen.add(key)
  }
  return Result.void
}

const priceOf = (
  shop: Shop.Shop,
  choices: ReadonlyArray<Choice>,
  getPrice: GetPrice | undefined
): Checked<PricedRoute["price"]> =>
  Result.gen(function* () {
    const amounts = yield* Result.all(choices.map((choice) => amountOf(shop, choice, getPrice)))
    if (getPrice !== undefined) return getPrice
    return amounts.some((amount) => amount === 0n) && amounts.some((amount) => amount > 0n)
      ? yield* Result.fail("some options are free and others are not; give all of them a price, or none")
      : amounts
  })

/** The amount of an option. With `getPrice` a sample price shows at start whether the asset can be priced at all. */
const amountOf = (shop: Shop.Shop, { entry, option }: Choice, getPrice: GetPrice | undefined): Checked<bigint> => {
  const { place, price } = entry
  if (getPrice !== undefined && price !== undefined) {
    return Result.fail(`${place}price and getPrice are both given; keep one`)
  }
  if (getPrice === undefined && price === undefined) {
    return Result.fail(`${place}price is missing; give a price such as "$0.01", or the route a getPrice`)
  }
  return Result.mapError(
    PriceResolver.resolve(shop.prices, price ?? "$1", option.asset),
    ({ message }) => `${place}price: ${message}`
  )
}
