/**
 * A facilitator known by its address alone: a Pontage one, or one of another kind. Its `GET /supported` tells which, so
 * that request comes first, and nothing is settled before its response.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"

import * as OptionCheck from "../../protocol/OptionCheck.ts"
import { FacilitatorUnavailable, type Misconfigured, type ProtocolError } from "../../protocol/ProtocolError.ts"
import * as Supported from "../../protocol/Supported.ts"
import type { ServerSchemeRegistry } from "../../scheme/ServerSchemeRegistry.ts"
import { type ChannelCredits, Facilitator } from "../Facilitator.ts"
import * as DrawClient from "../remote/DrawClient.ts"
import * as FacilitatorClient from "../remote/FacilitatorClient.ts"
import * as FacilitatorExchange from "../remote/FacilitatorExchange.ts"
import * as X402Facilitator from "./X402Facilitator.ts"
import * as X402FacilitatorExchange from "./X402FacilitatorExchange.ts"

/** Where the facilitator is. */
export type Options = X402Facilitator.Options

/** The layer, for the schemes of the context. `X402Facilitator` names the limits of a facilitator of another kind. */
export const layer = (options: Options): Layer.Layer<Facilitator, Misconfigured, ServerSchemeRegistry> =>
  Layer.effect(Facilitator, make(options))

/** The service. Fails if an option is a mistake; it sends nothing at start. */
export const make = Effect.fnUntraced(function* (options: Options) {
  yield* Effect.fromResult(OptionCheck.read(X402Facilitator.check, options, "facilitator"))
  const exchange = yield* Effect.fromResult(FacilitatorExchange.make(options))
  const draws = DrawClient.make(exchange)
  const ours = FacilitatorClient.over(exchange, draws)
  const theirs = yield* X402Facilitator.make(exchange, options)
  let chosen: Facilitator["Service"] | undefined
  const supported = Effect.gen(function* () {
    const call = X402FacilitatorExchange.supportedCall
    const reply = yield* exchange.call(call)
    const isForeign = X402FacilitatorExchange.isForeign(reply)
    const meant = isForeign ? theirs.service : ours
    // Changing the kind would forget the claims on payments under way.
    if (chosen !== undefined && chosen !== meant) return yield* exchange.unusable(call, reply, changed)
    const known = yield* isForeign ? theirs.learn(reply) : ofOurs(exchange, call, reply)
    // Without a known kind of payments, for example while it starts, its kind of facilitator is undecided.
    if (chosen === undefined && known.kinds.length === 0) return yield* exchange.unusable(call, reply, silent)
    chosen = meant
    draws.learn(known)
    return known
  })
  const known = Effect.suspend(() =>
    chosen === undefined ? Effect.map(supported, () => chosen ?? ours) : Effect.succeed(chosen)
  )
  return Facilitator.of({
    verify: (request) => Effect.flatMap(known, (one) => one.verify(request)),
    settle: (request, claim) => Effect.flatMap(known, (one) => one.settle(request, claim)),
    claim: (request, claim) => Effect.flatMap(known, (one) => one.claim(request, claim)),
    finish: (paymentId, claimId, outcome, charge) =>
      Effect.flatMap(known, (one) => one.finish(paymentId, claimId, outcome, charge)),
    payment: (paymentId) => Effect.flatMap(known, (one) => one.payment(paymentId)),
    supported,
    credits: creditsOf(known)
  })
})

/** The credit of channels; a facilitator of another kind keeps no ledger of them. */
const creditsOf = (known: Effect.Effect<Facilitator["Service"], ProtocolError>): ChannelCredits => {
  const credits = Effect.flatMap(known, (one) =>
    one.credits === undefined ? Effect.fail(noLedger) : Effect.succeed(one.credits)
  )
  return {
    voucher: (request) => Effect.flatMap(credits, (one) => one.voucher(request)),
    reserve: (request) => Effect.flatMap(credits, (one) => one.reserve(request)),
    renew: (paymentId, claimId) => Effect.flatMap(credits, (one) => one.renew(paymentId, claimId)),
    isClosed: (paymentId) => Effect.flatMap(credits, (one) => one.isClosed(paymentId)),
    standing: (paymentId) => Effect.flatMap(credits, (one) => one.standing(paymentId))
  }
}

const noLedger = new FacilitatorUnavailable({
  message: "the facilitator speaks x402 alone, and keeps no ledger of payment channels"
})

const silent =
  "names no known kind of payments, so its protocol is still undecided. Check its settings and its GET /supported"

const changed =
  "names kinds of another protocol than before. To change the facilitator, restart while no payment is under way"

const ofOurs = (
  exchange: FacilitatorExchange.Exchange,
  call: FacilitatorExchange.Call,
  reply: FacilitatorExchange.Reply
) => {
  const supported = reply.status === 200 && reply.json !== undefined ? Supported.decode(reply.json) : undefined
  if (supported !== undefined && Result.isSuccess(supported)) return Effect.succeed(supported.success)
  const why = supported && `has the wrong shape: ${supported.failure.message.slice(0, 300)}`
  return Effect.fail(exchange.unusable(call, reply, why))
}
