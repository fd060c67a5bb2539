/**
 * The requests to an x402 facilitator: its kinds, `POST /verify` and `POST /settle`. A settle request never fails here,
 * because each of its failures has a meaning: it arrived, may have arrived, or certainly did not.
 */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"

import type { PaymentFailure } from "../../protocol/PaymentFailure.ts"
import { FacilitatorUnavailable } from "../../protocol/ProtocolError.ts"
import type { Scheme } from "../../scheme/Scheme.ts"
import * as X402ClientApi from "../../wire/x402-api/X402ClientApi.ts"
import * as X402ClientApiResponse from "../../wire/x402-api/X402ClientApiResponse.ts"
import type { Call, Exchange, Reply } from "../remote/FacilitatorExchange.ts"
import * as FacilitatorExchange from "../remote/FacilitatorExchange.ts"
import type { NewPayment } from "../store/PaymentStore.ts"
import * as X402FacilitatorPayment from "./X402FacilitatorPayment.ts"
import * as X402FacilitatorResponse from "./X402FacilitatorResponse.ts"

/** The facilitator's description of itself. */
export type Kinds = X402ClientApi.Kinds

/** Whether a response to `GET /supported` comes from an x402 facilitator. */
export const isForeign = ({ json, status }: Reply): boolean => status === 200 && X402ClientApi.isForeign(json)

/** The possible requests. */
export interface X402FacilitatorExchange {
  /** Requests the kinds. Later requests use the version that the kind of their network has; 2 if it has both. */
  readonly kinds: Effect.Effect<Kinds, FacilitatorUnavailable>
  /** Takes a response to `GET /supported` that another caller has requested. */
  readonly learn: (reply: Reply) => Effect.Effect<Kinds, FacilitatorUnavailable>
  /** Whether the payment could be settled now; it changes nothing. */
  readonly verify: (scheme: Scheme, payment: NewPayment) => Effect.Effect<void, PaymentFailure>
  /** Settles a payment. Fails with a refusal only if no request was sent. */
  readonly settle: (scheme: Scheme, payment: NewPayment) => Effect.Effect<X402FacilitatorResponse.SettleOutcome>
}

/** `GET /supported`. */
export const supportedCall: Call = { method: "GET", path: "/supported" }

const maySettle = "Whether the payment is settled is unknown: send the same payment again, never a new one."

/** Makes the exchange. */
export const make = (exchange: Exchange): X402FacilitatorExchange => {
  let known: Kinds | undefined
  const call = supportedCall
  const learn: X402FacilitatorExchange["learn"] = (reply) =>
    Effect.suspend(() => {
      const kinds = reply.status === 200 ? X402ClientApi.readKinds(reply.json) : undefined
      if (kinds === undefined) return Effect.fail(exchange.unusable(call, reply))
      if (Result.isFailure(kinds)) return Effect.fail(misshapen(exchange, call, reply, kinds.failure))
      known = kinds.success
      return Effect.succeed(kinds.success)
    })
  const kinds = Effect.flatMap(exchange.call(call), learn)
  const kindsOnce = Effect.suspend(() => (known === undefined ? kinds : Effect.succeed(known)))
  return {
    kinds,
    learn,
    verify: Effect.fn("X402Facilitator.verify")(function* (scheme, payment) {
      const body = yield* bodyOf(yield* kindsOnce, scheme, payment)
      return yield* verify(exchange, { scheme, payment }, { method: "POST", path: "/verify", body })
    }),
    settle: Effect.fn("X402Facilitator.settle")((scheme, payment) =>
      Effect.matchEffect(
        Effect.flatMap(kindsOnce, (all) => bodyOf(all, scheme, payment)),
        {
          onFailure: (failure) => Effect.succeed(unsent(failure)),
          onSuccess: (body) =>
            settle(exchange, { scheme, payment }, { method: "POST", path: "/settle", body, unsettled: maySettle })
        }
      )
    )
  }
}

const unsent = (error: FacilitatorUnavailable): X402FacilitatorResponse.SettleOutcome => ({ _tag: "NotTaken", error })

/**
 * The body of a request. Nothing is sold before the facilitator has listed the kind, so a kind that is missing now is a
 * failure of the facilitator.
 */
const bodyOf = ({ kinds }: Kinds, scheme: Scheme, payment: NewPayment) => {
  const { requirements } = payment
  const { network } = requirements
  const settled = kinds.filter((kind) => kind.scheme === scheme.name && scheme.network(kind.network) === network)
  const version = settled.some((kind) => kind.version === 2) ? 2 : 1
  const body =
    settled.length === 0
      ? undefined
      : X402ClientApi.bodyOf(version, requirements, X402FacilitatorPayment.payloadOf(payment))
  const message = `the facilitator does not settle "${scheme.name}" on ${network} now`
  return body === undefined ? Effect.fail(new FacilitatorUnavailable({ message })) : Effect.succeed(body)
}

const misshapen = (exchange: Exchange, call: Call, reply: Reply, { message }: { readonly message: string }) =>
  exchange.unusable(call, reply, `has the wrong shape: ${message.slice(0, 300)}`)

/** Whether a response may carry a verdict; peers refuse with status 400 and above too. */
const mayCarryVerdict = ({ status }: Reply): boolean => status === 200 || (status >= 400 && status < 500)

const verify = Effect.fnUntraced(function* (exchange: Exchange, sent: X402FacilitatorResponse.SentPayment, call: Call) {
  const reply = yield* exchange.call(call)
  const response = X402ClientApiResponse.readVerification(reply.json)
  if (!mayCarryVerdict(reply)) return yield* exchange.unusable(call, reply)
  if (Result.isFailure(response)) {
    return yield* reply.status === 200
      ? misshapen(exchange, call, reply, response.failure)
      : exchange.unusable(call, reply)
  }
  if (response.success.isValid && reply.status !== 200) return yield* exchange.unusable(call, reply)
  const meaning = X402FacilitatorResponse.verified(sent, response.success)
  if (Result.isSuccess(meaning)) return
  const { failure } = meaning
  return yield* failure._tag === "Nonsense" ? exchange.unusable(call, reply, failure.why) : failure
})

const settle = (
  exchange: Exchange,
  sent: X402FacilitatorResponse.SentPayment,
  call: Call
): Effect.Effect<X402FacilitatorResponse.SettleOutcome> =>
  Effect.match(exchange.call(call), {
    onFailure: (error) => ({ _tag: FacilitatorExchange.isUnsent(error) ? "NotTaken" : "Unanswered", error }),
    onSuccess: (reply) => outcomeOf(exchange, sent, call, reply)
  })

/**
 * Statuses of requests that were not processed. Not 400 and 422: some facilitators use them for every exception, also
 * for one that occurred after they had sent the transaction.
 */
const rejectedStatuses: ReadonlySet<number> = new Set([401, 402, 403, 404, 405, 413, 415, 429])

const outcomeOf = (
  exchange: Exchange,
  sent: X402FacilitatorResponse.SentPayment,
  call: Call,
  reply: Reply
): X402FacilitatorResponse.SettleOutcome => {
  const { json, status } = reply
  const response = mayCarryVerdict(reply) ? X402ClientApiResponse.readSettlement(json) : undefined
  if (response === undefined || Result.isFailure(response)) {
    const isRedirect = status >= 300 && status < 400
    const error =
      status === 200 && response !== undefined && Result.isFailure(response) && json !== undefined
        ? misshapen(exchange, call, reply, response.failure)
        : exchange.unusable(call, reply)
    return { _tag: isRedirect || rejectedStatuses.has(status) ? "NotTaken" : "Unanswered", error }
  }
  if (response.success.success && status !== 200) {
    return { _tag: "Unanswered", error: exchange.unusable(call, reply, `says success: true with status ${status}`) }
  }
  const reading = X402FacilitatorResponse.settled(sent, response.success)
  if (reading._tag === "Unknown") return { _tag: "Unanswered", error: exchange.unusable(call, reply, reading.why) }
  if (reading._tag === "Busy") return { _tag: "NotTaken", error: exchange.unusable(call, reply, reading.why) }
  return reading
}
