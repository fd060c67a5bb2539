/**
 * The schemes and networks that a facilitator settles (`GET /supported`).
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

import { protocolVersion } from "./PaymentPayload.ts"

/**
 * The reasons why payments cannot go on to a network now. They are public, in `/supported` and in the responses of shops; what a node
 * has said of it is in the facilitator's log alone.
 */
export const UnquotedReason = Schema.Literals([
  "node_unavailable",
  "misconfigured",
  "price_unknown",
  "bridge_unavailable",
  "stock_short"
])

export type UnquotedReason = typeof UnquotedReason.Type

const sentences: ReadonlyMap<string, string> = new Map<UnquotedReason, string>([
  ["node_unavailable", "its node does not answer as it should"],
  ["misconfigured", "the facilitator's settings do not fit the chain"],
  ["price_unknown", "the price of a coin that the fee is counted in is not certain"],
  ["bridge_unavailable", "the bridge names no price of a message"],
  ["stock_short", "the operator's money there is below the least price"]
])

/** The sentence of a reason, without its point; a reason that this version does not know has a general one. */
export const unquotedSentence = (reason: string): string => sentences.get(reason) ?? "it cannot be quoted"

/** The longest reason that is read, in characters: other versions may have other reasons. */
const longestReason = 2_000

/** A network that payments cannot go on to now, and the reason: one of `UnquotedReason`, or one that a newer facilitator knows. */
export const UnquotedNetwork = Schema.Struct({
  network: Schema.String,
  reason: Schema.String.check(Schema.isMaxLength(longestReason))
})

export type UnquotedNetwork = typeof UnquotedNetwork.Type

/** One (scheme, network) that is settled. */
export const SupportedKind = Schema.Struct({
  protocolVersion: Schema.Literal(protocolVersion),
  scheme: Schema.String,
  network: Schema.String,
  extra: Schema.optionalKey(Schema.Record(Schema.String, Schema.Json)),
  /** Requests draw on payment channels whose ledger the facilitator keeps. Without it a channel is settled here, and buys nothing. */
  draws: Schema.optionalKey(Schema.Literal(true)),
  /** Quotes of payments that go on to other networks; they change from minute to minute. */
  quotes: Schema.optionalKey(Schema.Array(Schema.Record(Schema.String, Schema.Json))),
  /** The networks that payments cannot go on to now; those that are quoted are not among them. */
  unquoted: Schema.optionalKey(Schema.Array(UnquotedNetwork))
})

/** All kinds, and the addresses that send transactions, by network. */
export const Supported = Schema.Struct({
  kinds: Schema.Array(SupportedKind),
  signers: Schema.Record(Schema.String, Schema.Array(Schema.String)),
  /**
   * Networks that the facilitator is configured for and that do not respond to it now; a family alone (`eip155`) where only the
   * network's node can tell which it is. A server asks again, and sells nothing there meanwhile.
   */
  pending: Schema.optionalKey(Schema.Array(Schema.String))
})

export type Supported = typeof Supported.Type

/**
 * A settled kind as a server sees it that sells through this facilitator. `obstacle` says why the server cannot sell it
 * nevertheless, and what to do; it is not part of the wire.
 */
export interface Sellable extends Omit<Supported, "kinds"> {
  readonly kinds: ReadonlyArray<typeof SupportedKind.Type & { readonly obstacle?: string }>
}

const decodeResponse = Schema.decodeUnknownResult(
  Schema.Struct({
    kinds: Schema.Array(Schema.Json),
    signers: Schema.Json,
    pending: Schema.optionalKey(Schema.Json)
  })
)
const isOurs = Schema.is(Schema.Struct({ protocolVersion: Schema.Literal(protocolVersion) }))
const decodeKinds = Schema.decodeUnknownResult(Supported)

/**
 * Reads a facilitator's response. It drops kinds of other versions and other protocols.
 */
export const decode = (json: unknown): Result.Result<Supported, Schema.SchemaError> =>
  Result.flatMap(decodeResponse(json), ({ kinds, ...others }) =>
    decodeKinds({ kinds: kinds.filter(isOurs), ...others })
  )
