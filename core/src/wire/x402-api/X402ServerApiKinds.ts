/**
 * What a facilitator can settle, `GET /supported`, for servers of ours and of x402 at once: each of our kinds says both
 * versions 2, and a kind whose network has a name in x402 version 1 is there a second time under that name.
 */
import * as Schema from "effect/Schema"

import { type Supported, SupportedKind } from "../../protocol/Supported.ts"
import * as X402Network from "../x402/X402Network.ts"

const Kind = Schema.Struct({ ...SupportedKind.fields, x402Version: Schema.Literal(2) }).annotate({
  description: "A kind for servers of this protocol and of x402 version 2"
})

const KindV1 = Schema.Struct({
  x402Version: Schema.Literal(1),
  scheme: Schema.String,
  network: Schema.String,
  extra: SupportedKind.fields.extra
}).annotate({ description: "A kind for servers of x402 version 1, by that version's name of the network" })

/** The answer of `GET /supported`. */
export const SupportedAnswer = Schema.Struct({
  kinds: Schema.Array(Schema.Union([Kind, KindV1])),
  extensions: Schema.Array(Schema.String),
  signers: Schema.Record(Schema.String, Schema.Array(Schema.String))
})

/**
 * Says what is supported to both kinds of servers. Ours come first: a reader of one version takes the first that it knows.
 */
export const fromSupported = ({ kinds, signers }: Supported): typeof SupportedAnswer.Type => ({
  kinds: [
    ...kinds.map((kind) => ({ ...kind, x402Version: 2 as const })),
    ...kinds.flatMap(({ extra, network, scheme }) => {
      const name = X402Network.nameOf(network)
      if (name === undefined) return []
      return [{ x402Version: 1 as const, scheme, network: name, ...(extra !== undefined && { extra }) }]
    })
  ],
  extensions: [],
  signers
})
