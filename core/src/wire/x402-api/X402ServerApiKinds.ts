/**
 * The kinds that a facilitator settles, `GET /supported`, for Pontage's servers and those of x402 at once: each kind
 * names both versions 2, and a kind whose network has another name in x402 version 2, or one in version 1, is repeated
 * under that name.
 */
import * as Schema from "effect/Schema"

import { Supported, SupportedKind } from "../../protocol/Supported.ts"
import * as X402Network from "../x402/X402Network.ts"

const Kind = Schema.Struct({ ...SupportedKind.fields, x402Version: Schema.Literal(2) }).annotate({
  description: "A kind for servers of this protocol and of x402 version 2"
})

const KindV2 = Schema.Struct({
  x402Version: Schema.Literal(2),
  scheme: Schema.String,
  network: Schema.String,
  extra: SupportedKind.fields.extra
}).annotate({ description: "A kind for servers of x402 version 2, by that version's name of the network" })

const KindV1 = Schema.Struct({
  x402Version: Schema.Literal(1),
  scheme: Schema.String,
  network: Schema.String,
  extra: SupportedKind.fields.extra
}).annotate({ description: "A kind for servers of x402 version 1, by that version's name of the network" })

/** The response of `GET /supported`. */
export const X402SupportedResponse = Schema.Struct({
  kinds: Schema.Array(Schema.Union([Kind, KindV2, KindV1])),
  extensions: Schema.Array(Schema.String),
  signers: Schema.Record(Schema.String, Schema.Array(Schema.String)),
  pending: Supported.fields.pending
})

/**
 * The supported kinds for both kinds of servers. Pontage's come first: a reader of one version takes the first that it
 * knows.
 */
export const fromSupported = ({ kinds, pending, signers }: Supported): typeof X402SupportedResponse.Type => ({
  kinds: [
    ...kinds.map((kind) => ({ ...kind, x402Version: 2 as const })),
    ...kinds.flatMap(({ extra, network, scheme }) => {
      const name = X402Network.toV2(network)
      if (name === network) return []
      return [{ x402Version: 2 as const, scheme, network: name, ...(extra !== undefined && { extra }) }]
    }),
    ...kinds.flatMap(({ extra, network, scheme }) => {
      const name = X402Network.nameOf(network)
      if (name === undefined) return []
      return [{ x402Version: 1 as const, scheme, network: name, ...(extra !== undefined && { extra }) }]
    })
  ],
  extensions: kinds.some(({ extra }) => extra?.["permit2"] !== undefined) ? ["eip2612GasSponsoring"] : [],
  signers,
  ...(pending !== undefined && { pending })
})
