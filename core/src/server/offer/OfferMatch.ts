/**
 * Finds the offer that a payment pays, as it was signed. A payer names it by scheme and network, by the challenge that
 * it signed, or by repeating the whole offer; any statement beyond the signature must equal the current offer.
 */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

import { notOnRecord, type PaymentRequest } from "../../facilitator/Facilitator.ts"
import { type PaymentError, refuse } from "../../protocol/PaymentError.ts"
import type { PaymentFailure } from "../../protocol/PaymentFailure.ts"
import { openPayload, type PaymentPayload, RequestBinding } from "../../protocol/PaymentPayload.ts"
import type { PaymentRequirements } from "../../protocol/PaymentRequirements.ts"
import * as RetryToken from "../../protocol/RetryToken.ts"
import { invalid, type ValidationError } from "../../protocol/ValidationError.ts"
import type { PresentedPayment } from "../../wire/pontage/Dialect.ts"
import type { PricedOption } from "../route/PricedRoute.ts"
import * as Challenge from "./Challenge.ts"
import * as OfferEcho from "./OfferEcho.ts"
import type { OfferedOption } from "./OnwardOffers.ts"
import * as RouteOffer from "./RouteOffer.ts"

/** A payment presented for a priced request. */
export interface PaymentForRequest extends PresentedPayment {
  readonly priced: RouteOffer.PricedRequest
  readonly epoch: number
}

/** A payment matched with one of the offers. */
export interface MatchedOffer {
  readonly option: PricedOption
  readonly request: PaymentRequest
  /** The scheme's JSON inside the payment, not yet read by the scheme. */
  readonly payload: unknown
}

/**
 * The offers that a payment may pay. With `unlessKnown` it pays no current offer: it is good only if it is already on
 * record, and refused with this error otherwise. The token that it was signed for is unknown then, so each offered
 * token is a candidate.
 */
export interface OfferMatch {
  /** The matched offers, at least one: the payment pays the first one whose terms it agrees with. */
  readonly candidates: ReadonlyArray<MatchedOffer>
  readonly unlessKnown: PaymentError | ValidationError | undefined
  /**
   * The secrets under which it may have been claimed before, the likeliest first: only the secret of its challenge if
   * it has one.
   */
  readonly secrets: RouteOffer.ChallengeSigner["secrets"]
}

/**
 * Finds the offer. Among several assets on one network, the challenge or the repeated offer decides; without either it
 * is the first. A payment whose money goes on to another network names its challenge. A payment whose price, challenge or repeated offer is outdated is still shown to the facilitator: its
 * money may be moving, or have moved before, and then its execution is still owed.
 */
export const find = Effect.fnUntraced(function* (
  signer: RouteOffer.ChallengeSigner,
  { accepted, epoch, payment, priced }: PaymentForRequest
): Effect.fn.Return<OfferMatch, PaymentFailure> {
  const { first, offers, onRecord, network } = yield* Effect.fromResult(offersFor(priced, payment))
  const payload = yield* Effect.fromResult(openPayload(payment))
  const binding = yield* Effect.fromResult(bindingOf(payload))
  const paymentPayload = { ...payment, network }
  const { route } = priced
  const requirementsOf = (offer: OfferedOption, challenge?: string) =>
    RouteOffer.toRequirements(signer.origin, priced, offer, challenge)
  /** The retry token distinguishes an unbound payer from a stranger; it is sent along and stays with the record. */
  const token = binding === undefined ? RetryToken.of(accepted?.extra) : undefined
  const shown = (offer: OfferedOption, challenge?: string): PaymentRequirements => {
    const requirements = requirementsOf(offer, challenge)
    return token === undefined
      ? requirements
      : { ...requirements, extra: { ...requirements.extra, [RetryToken.key]: token } }
  }
  const toOffer = (offer: OfferedOption, challenge?: string): MatchedOffer => ({
    option: offer.option,
    payload,
    request: { paymentPayload, paymentRequirements: shown(offer, challenge) }
  })
  const toMatch = (offer: OfferedOption, challenge?: string, unlessKnown?: OfferMatch["unlessKnown"]): OfferMatch => ({
    unlessKnown,
    secrets: signer.secrets,
    candidates: [toOffer(offer, challenge)]
  })
  const echo = (among: ReadonlyArray<OfferedOption>) =>
    OfferEcho.pick(accepted, among, (offer) => requirementsOf(offer))
  /** A match for the record only, in the asset that was repeated; in an asset that is not offered nothing was taken. */
  const outdated = (mismatch: PaymentError | ValidationError) => {
    const meant = onRecord.find(({ option }) => option.asset.address === accepted?.asset)
    return meant === undefined ? Effect.fail(mismatch) : Effect.succeed(toMatch(meant, undefined, mismatch))
  }
  if (binding === undefined) {
    if (route.binding === "required") return yield* unbound
    const echoed = echo(offers)
    if (Result.isFailure(echoed)) return yield* outdated(echoed.failure)
    const meant = echoed.success ?? first
    // It is served by its challenge minutes later, when the fee that it was quoted is another one.
    if (meant.option.onward !== undefined) return yield* unbound
    return route.binding === "off"
      ? toMatch(meant)
      : toMatch(meant, yield* RouteOffer.challengeOf(signer, priced, meant, epoch))
  }
  if (binding.realm !== undefined && binding.realm !== RouteOffer.realmOf(signer.origin)) return yield* otherRealm
  if (route.binding === "off") return yield* notOnRecord
  for (const alike of byChallenge(offers)) {
    const secret = yield* signerOf(signer, priced, alike[0], epoch, binding.challenge)
    if (secret === undefined) continue
    const echoed = echo(alike)
    if (Result.isFailure(echoed)) return yield* outdated(echoed.failure)
    const meant = echoed.success === undefined ? alike : [echoed.success]
    return {
      unlessKnown: undefined,
      secrets: [secret],
      candidates: meant.map((offer) => toOffer(offer, binding.challenge))
    }
  }
  return { unlessKnown: notOnRecord, secrets: signer.secrets, candidates: onRecord.map((offer) => toOffer(offer)) }
})

/** Groups the offers whose challenge is the same: two quotes may ask for one amount, and differ in `extra`. */
const byChallenge = (
  offers: ReadonlyArray<OfferedOption>
): Iterable<readonly [OfferedOption, ...ReadonlyArray<OfferedOption>]> => {
  const groups = new Map<string, [OfferedOption, ...Array<OfferedOption>]>()
  for (const offer of offers) {
    const { maxAmountRequired, option } = offer
    const key = `${option.asset.address} ${option.payTo} ${maxAmountRequired}`
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [offer])
    else group.push(offer)
  }
  return groups.values()
}

/** The secret that made an offer's challenge in one of the accepted epochs. */
const signerOf = Effect.fnUntraced(function* (
  signer: RouteOffer.ChallengeSigner,
  priced: RouteOffer.PricedRequest,
  offer: OfferedOption,
  epoch: number,
  challenge: string
) {
  for (const secret of signer.secrets) {
    for (const then of Challenge.takenIn(epoch)) {
      const made = yield* RouteOffer.challengeOf({ ...signer, secret }, priced, offer, then)
      if (Challenge.isSame(made, challenge)) return secret
    }
  }
  return undefined
})

const otherRealm = invalid(
  "binding_mismatch",
  "other_realm",
  "the payment responds to a challenge of another realm; respond to the one offered here"
)

const unbound = invalid(
  "binding_mismatch",
  "binding_missing",
  "this resource takes only payments that are bound to their request; derive the nonce from extra.challenge"
)

interface Offers {
  readonly first: OfferedOption
  /** The offers that a new payment may have been signed for. */
  readonly offers: ReadonlyArray<OfferedOption>
  /** The terms that a payment on record has to meet. */
  readonly onRecord: ReadonlyArray<OfferedOption>
  readonly network: string
}

const offersFor = (
  priced: RouteOffer.PricedRequest,
  payment: PaymentPayload
): Result.Result<Offers, PaymentError | ValidationError> => {
  const isOf = ({ option }: OfferedOption) => option.scheme === payment.scheme
  const known = RouteOffer.onRecordOf(priced).filter(isOf)
  if (known.length === 0) {
    const message = `the scheme ${JSON.stringify(payment.scheme)} is not offered here; choose one of the offers`
    return Result.fail(invalid("unsupported_scheme", "scheme_not_offered", message))
  }
  const isThere = ({ option }: OfferedOption) => option.schemeServer.scheme.network(payment.network) === option.network
  const onRecord = known.filter(isThere)
  const [first] = onRecord
  if (first === undefined) {
    const networks = [...new Set(known.map(({ option }) => option.network))].join(", ")
    const message = `the payment is for the network ${JSON.stringify(payment.network)}; offered are ${networks}`
    return Result.fail(refuse("NETWORK_MISMATCH", "network_not_offered", message))
  }
  const offers = RouteOffer.knownOf(priced).filter((offer) => isOf(offer) && isThere(offer))
  return Result.succeed({ first, offers, onRecord, network: first.option.network })
}

const decodeBound = Schema.decodeUnknownResult(Schema.Struct({ binding: Schema.optionalKey(RequestBinding) }))

/** The binding in a payload; all schemes keep it under the same name. */
export const bindingOf = (payload: unknown) =>
  Result.mapBoth(decodeBound(payload), {
    onSuccess: ({ binding }) => binding,
    onFailure: ({ message }) =>
      invalid("malformed", "payload_fields", `the payment's payload is not usable: ${message}`)
  })
