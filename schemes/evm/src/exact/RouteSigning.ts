/**
 * Signing of payments that go on to another network. Everything that the payer cannot see in the signed amount is refused before
 * anything is signed: another router, a bridge that is not known here, a quote that is over, a route that lets less arrive.
 */
import {
  type Asset,
  Misconfigured,
  type PaymentRequirements,
  SigningFailed,
  type SignedPayment,
  type SigningRequest
} from "@pontage/core"
import { Entropy } from "@pontage/core/Entropy"
import * as OptionCheck from "@pontage/core/OptionCheck"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"

import * as InventorySigning from "../inventory/InventorySigning.ts"
import * as ExactEvm from "../payment/ExactEvm.ts"
import * as InventoryTerms from "../payment/InventoryTerms.ts"
import * as RouteTerms from "../payment/RouteTerms.ts"
import * as EvmAddress from "../primitives/EvmAddress.ts"
import * as EvmNetwork from "../primitives/EvmNetwork.ts"
import * as BridgeRoute from "../route/BridgeRoute.ts"
import * as CctpFinality from "../route/CctpFinality.ts"
import * as EvmBridges from "../route/EvmBridges.ts"
import * as RouteRouters from "../route/RouteRouters.ts"
import * as Eip3009 from "../transfer/Eip3009.ts"
import * as EvmAsset from "../transfer/EvmAsset.ts"
import { type EvmSigner, signatureOf } from "../wallet/EvmSigner.ts"

/** The part of a payer's client that pays offers whose money goes on to another network. */
export interface PayerRoutes {
  /** The reason why an offer of a route is not signed. */
  readonly objection: (
    signer: EvmSigner,
    requirements: PaymentRequirements.PaymentRequirements,
    asset: Asset
  ) => string | undefined
  /** Signs the authorization of the router whose nonce is the route. */
  readonly sign: (
    signer: EvmSigner,
    from: EvmAddress.Address,
    request: SigningRequest
  ) => Effect.Effect<SignedPayment, SigningFailed>
}

/** Options of `exactEvm.routes`. */
export interface Options {
  /** Bridges beside the known ones: both ends of each. */
  readonly bridges?: ReadonlyArray<EvmBridges.CustomBridge>
  /**
   * The accounts of operators that may deliver from their own money (inventories); default none. A payment to one of them is the
   * operator's until it has paid the shop.
   */
  readonly inventories?: ReadonlyArray<string>
}

const check = OptionCheck.options<Options>({
  bridges: OptionCheck.optional(EvmBridges.check),
  inventories: OptionCheck.optional(OptionCheck.list(OptionCheck.text))
})

/**
 * Makes the part of `exactEvm.client` that pays over bridges, over those known here, and to inventories. Throws `Misconfigured` for an
 * invalid bridge or account.
 */
export const routes = (options: Options = {}): PayerRoutes => {
  const { bridges = [], inventories = [] } = Result.getOrThrow(OptionCheck.read(check, options, "exactEvm.routes"))
  const known = Result.getOrThrow(EvmBridges.table(bridges))
  const trusted = new Set(inventories.map(accountOf))
  return {
    objection: (signer, requirements, asset) => {
      if (signer.operations?.isOnly === true || !EvmAsset.hasAuthorizations(asset)) return withoutAuthorizations
      const terms: Result.Result<unknown, string> = InventoryTerms.isInventory(requirements)
        ? InventorySigning.termsOf(trusted, requirements, asset)
        : termsOf(known, requirements, asset)
      return Result.isFailure(terms) ? terms.failure : undefined
    },
    sign: (signer, from, request) =>
      InventoryTerms.isInventory(request.requirements)
        ? InventorySigning.sign(signer, trusted, from, request)
        : sign(signer, known, from, request)
  }
}

const accountOf = (text: string): EvmAddress.Address => {
  const account = EvmAddress.fromText(text)
  if (account !== undefined) return account
  throw new Misconfigured({ message: `exactEvm.routes: inventories: "${text}" is not an address` })
}

const withoutAuthorizations =
  "it is paid by a transfer authorization (EIP-3009) of a plain account, which this client does not sign"

/** The terms of an offer's route, or the reason why this client does not sign it. */
const termsOf = (
  bridges: EvmBridges.EvmBridges,
  { extra = {}, maxAmountRequired, payTo }: PaymentRequirements.PaymentRequirements,
  asset: Asset
): Result.Result<RouteTerms.RouteTerms, string> =>
  Result.gen(function* () {
    const terms = RouteTerms.read(extra["route"])
    if (typeof terms === "string") return yield* Result.fail(`the ${terms} of its route is not usable`)
    const {
      amount,
      asset: arriving,
      bridge,
      destination,
      fee,
      kind,
      minimum,
      network,
      options,
      payTo: recipient
    } = terms
    const router = RouteRouters.routers[kind].address
    if (!EvmAddress.equals(payTo, router)) {
      yield* Result.fail(
        `its route goes through ${payTo}, and this client knows only the router ${EvmAddress.checksum(router)}`
      )
    }
    const token = EvmAsset.domain(asset).verifyingContract
    const near = bridges.of(asset.network, token)
    const on = EvmNetwork.fromText(network)
    const far = on && bridges.of(on, arriving)
    const isKnown =
      near?.bridge === bridge && near.kind === kind && far?.kind === kind && far.endpointId === destination
    if (on === asset.network || !isKnown) {
      yield* Result.fail(
        `its bridge ${EvmAddress.checksum(bridge)} to ${network} is not known to this client; if it is right, give both ends to exactEvm.routes as bridges`
      )
    }
    if (`${amount + fee}` !== maxAmountRequired) {
      yield* Result.fail(`its route takes ${amount} and a fee of ${fee}, and the offer asks ${maxAmountRequired}`)
    }
    // The issuer of CCTP's tokens takes its own fee on the way, at most the rest.
    if (kind === "oft" && minimum < amount) {
      yield* Result.fail(`its route lets less arrive than the ${amount} that are sent`)
    }
    if (kind === "cctp" && CctpFinality.finalityIn(options) === undefined) {
      yield* Result.fail(`its route's options ${options} name no finality of CCTP`)
    }
    if (minimum > amount) yield* Result.fail(`its route lets ${minimum} arrive of the ${amount} that are sent`)
    if (recipient === EvmAddress.zero) yield* Result.fail("its route leads to the zero address")
    return terms
  })

const sign = Effect.fnUntraced(function* (
  signer: EvmSigner,
  bridges: EvmBridges.EvmBridges,
  from: EvmAddress.Address,
  { asset, binding, requirements, validAfter, validBefore }: SigningRequest
): Effect.fn.Return<SignedPayment, SigningFailed> {
  const terms = yield* Effect.fromResult(
    Result.mapError(termsOf(bridges, requirements, asset), (reason) => new SigningFailed({ message: reason }))
  )
  if (terms.quotedUntil * 1000 <= (yield* Clock.currentTimeMillis)) {
    const message = `the offer's quote of the bridge's fee ended at ${terms.quotedUntil}; request the resource again`
    return yield* new SigningFailed({ message })
  }
  const { bytes } = yield* Entropy
  const { amount, bridge, destination, fee, feeTo, kind, minimum, options, payTo } = terms
  const route: BridgeRoute.BridgeRoute = {
    token: EvmAsset.domain(asset).verifyingContract,
    bridge,
    destination,
    recipient: payTo,
    amount,
    minimum,
    fee,
    feeRecipient: feeTo,
    options,
    tag: yield* binding ? ExactEvm.boundNonce(binding) : Effect.succeed(ExactEvm.nonceFrom(bytes(24)))
  }
  const nonce = BridgeRoute.nonceOf(EvmNetwork.chainId(asset.network), kind, route)
  const authorization: Eip3009.TransferWithAuthorization = {
    from,
    to: RouteRouters.routers[kind].address,
    value: amount + fee,
    validAfter: BigInt(validAfter),
    validBefore: BigInt(validBefore),
    nonce
  }
  const signature = yield* signatureOf(signer, Eip3009.typedReceipt(EvmAsset.domain(asset), authorization))
  return {
    payer: EvmAddress.checksum(from),
    nonce,
    payload: {
      signature,
      authorization: Eip3009.onWire(authorization),
      route: onWire(route),
      ...(binding && { binding: { ...binding } })
    }
  }
})

const onWire = (route: BridgeRoute.BridgeRoute) => ({
  token: EvmAddress.checksum(route.token),
  bridge: EvmAddress.checksum(route.bridge),
  destination: route.destination,
  recipient: EvmAddress.checksum(route.recipient),
  amount: `${route.amount}`,
  minimum: `${route.minimum}`,
  fee: `${route.fee}`,
  feeRecipient: EvmAddress.checksum(route.feeRecipient),
  options: route.options,
  tag: route.tag
})
