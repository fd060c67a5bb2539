/**
 * The schemes and networks that a facilitator settles (`GET /supported`).
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"

import { protocolVersion } from "./PaymentPayload.ts"

/** The longest reason, in characters: a node's text in one is shorter. */
const longestReason = 2_000

/** A network that payments cannot go on to now, and the reason as a sentence for people. */
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
