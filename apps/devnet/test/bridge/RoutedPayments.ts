/** Payments by routes between two bridged chains whose connections can be cut, and offers by the facilitator's own quotes. */
import type { PaymentRequirements, SchemeFacilitator, SchemeServer } from "@pontage/core"
import { CutLine } from "@pontage/evm/testing"
import * as Effect from "effect/Effect"

import * as BridgedChains from "../../src/bridge/BridgedChains.ts"
import * as LayerZeroRelay from "../../src/bridge/LayerZeroRelay.ts"
import * as RoutedSchemes from "../../src/bridge/RoutedSchemes.ts"

/** Each block moves a chain's clock on, so there are few. */
export const finalityDepth = 2

/** The price at the shop, in the token's smallest unit. */
export const price = 10_000_000n

/** Starts both chains, with everything that a routed payment needs. */
export const make = Effect.fnUntraced(function* (pushAfterSeconds = 0) {
  const chains = yield* BridgedChains.make
  const { attester, away, first, home, second, token } = chains
  const near = yield* CutLine.make(first.rpcUrl)
  const far = yield* CutLine.make(second.rpcUrl)
  const schemes = RoutedSchemes.make(chains, {
    urls: { near: near.url, far: far.url },
    finalityDepth,
    pushAfterSeconds
  })
  const facilitator = yield* schemes.facilitator
  const packets = Effect.map(
    Effect.promise(() => first.client.getLogs({ address: home.endpoint, fromBlock: 0n })),
    LayerZeroRelay.packetsIn
  )
  const option = { asset: first.token.address, payTo: first.accounts.payee.address }
  return {
    ...chains,
    ...schemes,
    near,
    far,
    facilitator,
    packets,
    deliveries: yield* schemes.deliveries,
    offer: offerOf(schemes.server, facilitator, option, second.network),
    /** The facilitator as it starts now, which keeps nothing from before. */
    restarted: schemes.facilitator,
    offerBy: (one: SchemeFacilitator) => offerOf(schemes.server, one, option, second.network),
    received: second.balanceOf(first.accounts.payee.address, token),
    /** The verifiers attest everything that was sent so far. */
    attest: Effect.flatMap(packets, (sent) =>
      Effect.forEach(
        sent,
        (packet) => Effect.andThen(LayerZeroRelay.attest(away, packet, attester), LayerZeroRelay.commit(away, packet)),
        { discard: true }
      )
    )
  }
})

export type RoutedPayments = Effect.Success<ReturnType<typeof make>>

/** The offer with a quote that no run of the laws outlives: until 2100. A payer alone compares it with the clock. */
export const lasting = <Offer extends PaymentRequirements.PaymentRequirements>(offer: Offer): Offer => ({
  ...offer,
  extra: { ...offer.extra, route: { ...Object(offer.extra?.["route"]), quotedUntil: 4_102_444_800 } }
})

/** The offer of the price, by a present quote. */
export const offerOf = Effect.fnUntraced(function* (
  server: SchemeServer,
  facilitator: SchemeFacilitator,
  { asset: address, payTo }: { readonly asset: string; readonly payTo: string },
  network: string
) {
  const asset = server.asset(facilitator.network, address)
  if (asset === undefined || server.onward === undefined || facilitator.quotes === undefined) {
    return yield* Effect.die(new Error("the schemes serve no routes"))
  }
  const offers = yield* Effect.orDie(Effect.fromResult(server.onward({ asset, payTo, network, arriving: undefined })))
  const offer = offers.quoted(price, yield* facilitator.quotes)?.offer
  if (offer === undefined) return yield* Effect.die(new Error("no quote is for the shop's option"))
  return {
    scheme: "exact",
    network: facilitator.network,
    maxAmountRequired: `${offer.amount}`,
    resource: "https://shop.example/report",
    payTo: offer.payTo,
    asset: asset.address,
    extra: { ...asset.extra, ...offer.extra }
  }
})
