/**
 * The namespace `topUpEvm`: top-ups of a payer's account on one EVM network from the same account on another one, over the bridges that
 * this package knows. Each is a payment by a route to the payer itself, so that any facilitator that serves the route can send it, and
 * can change nothing in it.
 */
import {
  type Asset,
  type AssetTable,
  type ChainUnavailable,
  type Facilitator,
  FacilitatorClient,
  Misconfigured,
  type OnwardOffer,
  type OnwardQuote,
  PaymentPayload,
  Price,
  TopUps
} from "@pontage/core"
import * as OptionCheck from "@pontage/core/OptionCheck"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"

import * as ExactEvmClient from "../exact/ExactEvmClient.ts"
import * as RouteOffers from "../exact/RouteOffers.ts"
import * as RouteSigning from "../exact/RouteSigning.ts"
import * as ExactEvm from "../payment/ExactEvm.ts"
import type * as RouteTerms from "../payment/RouteTerms.ts"
import * as EvmAddress from "../primitives/EvmAddress.ts"
import * as EvmNetwork from "../primitives/EvmNetwork.ts"
import * as CctpFinality from "../route/CctpFinality.ts"
import * as EvmBridges from "../route/EvmBridges.ts"
import * as RouteRouters from "../route/RouteRouters.ts"
import * as EvmAsset from "../transfer/EvmAsset.ts"
import type { EvmSigner } from "../wallet/EvmSigner.ts"
import * as TopUpAmount from "./TopUpAmount.ts"
import * as TopUpEnds from "./TopUpEnds.ts"
import * as TopUpEvidence from "./TopUpEvidence.ts"
import * as TopUpNodes from "./TopUpNodes.ts"

/** Options of `topUpEvm.topUps`. */
export interface Options {
  /** The payer's key, the one that its schemes pay with: a plain account, whose address is the same on all networks. */
  readonly signer: EvmSigner
  /** The facilitator that quotes and sends: its address, or its address and the options of requests to it, such as `headers`. */
  readonly facilitator: string | URL | FacilitatorClient.Options
  /** Nodes of the payer's own, by network: `{ arbitrum: "https://...", polygon: "https://..." }`. Money goes between any two of them. */
  readonly nodes: Readonly<Record<string, string>>
  /**
   * The least amount that a purchase brings, as a price, where the balance allows it; default what is missing. The fee does not
   * depend on the amount.
   */
  readonly atLeast?: string
  /** Seconds for which an arrival is waited for; default 900. Later the same call waits on. */
  readonly waitSeconds?: number
  /** Tokens beside the known ones, on both networks. */
  readonly assets?: ReadonlyArray<EvmAsset.CustomAsset>
  /** Bridges beside the known ones: both ends of each. */
  readonly bridges?: ReadonlyArray<EvmBridges.CustomBridge>
}

const check = OptionCheck.options<Options>({
  signer: OptionCheck.having<EvmSigner>(
    "a signer, such as exactEvm.localSigner(privateKey) or a viem account",
    "address",
    "signTypedData"
  ),
  facilitator: OptionCheck.any(),
  nodes: OptionCheck.record(OptionCheck.nodeUrl(EvmNetwork.nodeExample)),
  atLeast: OptionCheck.optional(OptionCheck.text),
  waitSeconds: OptionCheck.optional(OptionCheck.whole(0, 86_400)),
  assets: OptionCheck.optional(EvmAsset.check),
  bridges: OptionCheck.optional(EvmBridges.check)
})

/** Makes the top-ups of a client, its option `topUp`. Throws `Misconfigured` for an invalid option; it sends nothing yet. */
export const topUps = (options: Options): TopUps.TopUps => TopUps.make(source(options))

/** The services and tables that offers are made of. */
interface Means {
  readonly payer: EvmAddress.Address
  readonly facilitator: Facilitator["Service"]
  readonly nodes: TopUpNodes.TopUpNodes
  readonly assets: AssetTable.AssetTable
  readonly bridges: EvmBridges.EvmBridges
  readonly ends: TopUpEnds.TopUpEnds
}

const source = (options: Options): TopUps.TopUpSource => {
  const given = Result.getOrThrow(OptionCheck.read(check, options, "topUpEvm.topUps"))
  const { assets = [], atLeast = "$0", bridges = [], facilitator: by, signer, waitSeconds = 900 } = given
  const at = typeof by === "string" || by instanceof URL ? { url: by } : by
  const payer = EvmAddress.fromText(signer.address)
  if (payer === undefined) throw wrong(`the signer's address "${signer.address}" is not an address`)
  const least = Price.parse(atLeast)
  if (Result.isFailure(least)) throw wrong(`atLeast: ${least.failure.message}`)
  const nodes = Result.getOrThrow(TopUpNodes.make(given.nodes))
  if (nodes.networks.length < 2) throw wrong("nodes: give the nodes of at least two networks")
  const facilitator = Effect.runSync(FacilitatorClient.make(at))
  const known = Result.getOrThrow(EvmBridges.table(bridges))
  const means: Means = {
    payer,
    facilitator,
    nodes,
    assets: Result.getOrThrow(EvmAsset.table(assets)),
    bridges: known,
    ends: TopUpEnds.make(nodes, known)
  }
  const network = "eip155:*"
  const schemeClient = ExactEvmClient.signerClient({
    signer,
    network,
    assets,
    routes: RouteSigning.routes({ bridges })
  })
  return {
    facilitator: String(at.url).replace(/\/+$/, ""),
    account: EvmAddress.checksum(payer),
    networks: nodes.networks,
    schemeClient,
    waitMillis: waitSeconds * 1000,
    least: (asset) => unitsOf(least.success, asset),
    balanceOf: (asset) => TopUpNodes.balanceOf(nodes, payer, asset),
    offers: (to, asset) => offers(means, to, asset),
    submit: (payload, paymentRequirements) => {
      const { network } = paymentRequirements
      const paymentPayload = PaymentPayload.sealPayload(ExactEvm.scheme.name, network, payload)
      return Effect.asVoid(facilitator.settle({ paymentPayload, paymentRequirements }, undefined))
    },
    observe: (payload, requirements, paymentId) =>
      Effect.flatMap(
        Effect.catch(facilitator.payment(paymentId), () => Effect.undefined),
        (record) => TopUpEvidence.observe(nodes, record, payload, requirements)
      )
  }
}

const wrong = (what: string) => new Misconfigured({ message: `topUpEvm.topUps: ${what}` })

/** A price in the smallest unit of a dollar token, rounded up; zero in others. */
const unitsOf = ({ digits, scale }: Price.Price, { decimals, dollar }: Asset): bigint => {
  if (!dollar) return 0n
  const power = 10n ** BigInt(scale)
  return (digits * 10n ** BigInt(decimals) + power - 1n) / power
}

/** The ways that the facilitator quotes: from each token that a bridge carries on the other networks. */
const offers = Effect.fnUntraced(function* (means: Means, to: string, named: string | undefined) {
  const { assets, ends, nodes } = means
  if (!nodes.networks.some((network) => network === to)) return []
  const arriving = assets.of(to).filter(({ address }) => named === undefined || address === named)
  const { kinds } = yield* means.facilitator.supported
  const found: Array<Effect.Effect<TopUps.TopUpOffer | undefined, ChainUnavailable | Misconfigured>> = []
  for (const { network, quotes = [], scheme } of kinds) {
    const from = nodes.networks.find((one) => one === network && one !== to)
    if (scheme !== ExactEvm.scheme.name || from === undefined || quotes.length === 0) continue
    for (const asset of assets.of(from)) {
      for (const other of arriving) {
        const terms = yield* offerBy(means, asset, other, quotes)
        if (terms === undefined) continue
        const balance = Effect.andThen(ends(asset, other), TopUpNodes.balanceOf(nodes, means.payer, asset))
        found.push(Effect.map(balance, (available) => (available === undefined ? undefined : { ...terms, available })))
      }
    }
  }
  return yield* known(found)
})

/** The ways that are right and whose balance is known; fails with the reason against one if no other is left. */
const known = Effect.fnUntraced(function* (
  ways: ReadonlyArray<Effect.Effect<TopUps.TopUpOffer | undefined, ChainUnavailable | Misconfigured>>
) {
  const asked = yield* Effect.forEach(ways, Effect.result, { concurrency: "unbounded" })
  const found = asked.flatMap((one) => (Result.isSuccess(one) && one.success !== undefined ? [one.success] : []))
  const silent = asked.find(Result.isFailure)
  return found.length === 0 && silent !== undefined ? yield* Effect.fail(silent.failure) : found
})

/** The terms of one way; `undefined` where no known bridge leads, or the facilitator quotes none. */
const offerBy = Effect.fnUntraced(function* (
  { bridges, payer }: Means,
  from: Asset,
  to: Asset,
  quotes: ReadonlyArray<OnwardQuote>
): Effect.fn.Return<Omit<TopUps.TopUpOffer, "available"> | undefined> {
  const option = { asset: from, payTo: EvmAddress.checksum(payer), network: to.network, arriving: to.address }
  const made = RouteOffers.make(bridges, option)
  if (Result.isFailure(made) || from.decimals !== to.decimals) return undefined
  const { quoted } = made.success
  const fitting = quotes.find((quote) => quoted(0n, [quote]) !== undefined)
  const terms = fitting && RouteOffers.read(fitting)
  if (fitting === undefined || terms === undefined) return undefined
  const { fee, issuerRate = 0n, kind, minimumAmount: minimum, quotedUntil } = terms
  const { arrivingOf, sentFor } = yield* TopUpAmount.draw(kind, from, issuerRate)
  return {
    from,
    to,
    feeFor: (amount) => sentFor(amount) - amount + fee,
    arrivingOf: (total) => arrivingOf(total - fee),
    minimum,
    quotedUntil,
    expectedSeconds: expectedSeconds(from, terms),
    requirements: (amount) => requirementsOf(from, terms, sentFor(amount), quoted(amount, [fitting])?.offer)
  }
})

const expectedSeconds = ({ network }: Asset, { kind, options }: Pick<RouteTerms.RouteTerms, "kind" | "options">) => {
  if (kind === "cctp") return CctpFinality.finalityIn(options) === "fast" ? fastSeconds : finalSeconds
  return network === mainnet ? slowSeconds : usualSeconds
}

/** Seconds that a crossing usually takes: verifiers of an OFT wait for Ethereum's blocks longest. */
const mainnet = "eip155:1"
const slowSeconds = 900
const usualSeconds = 180
/** The same over CCTP: a fast attestation, and one of a final block. */
const fastSeconds = 60
const finalSeconds = 1200

/** Seconds of a facilitator's time to send it, as a payer's authorizations usually hold. */
const maxTimeoutSeconds = 120

/** The terms of an offer's route, by which this amount is sent. */
const requirementsOf = (
  { address, extra, network }: Asset,
  { fee, kind }: Pick<RouteTerms.RouteTerms, "fee" | "kind">,
  sent: bigint,
  offer: OnwardOffer | undefined
) => {
  const route: Readonly<Record<string, Schema.Json>> = Object(offer?.extra["route"])
  return {
    scheme: ExactEvm.scheme.name,
    network,
    maxAmountRequired: `${sent + fee}`,
    resource: "",
    payTo: EvmAddress.checksum(RouteRouters.routers[kind].address),
    maxTimeoutSeconds,
    asset: address,
    extra: { ...extra, ...offer?.extra, route: { ...route, amount: `${sent}` } }
  }
}
