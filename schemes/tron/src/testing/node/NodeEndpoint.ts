/** One path of the node's HTTP API: its decoded request and its response. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

import { MessageMalformed } from "../messages/TronMessage.ts"

/** Responds to a request's body or query; `solid` for a request under `walletsolidity/`. */
export type Endpoint = (body: unknown, solid: boolean) => Effect.Effect<unknown, MessageMalformed>

/** Endpoints by the last part of their path. */
export type Endpoints = Readonly<Record<string, Endpoint>>

/** Makes an endpoint whose response is computed synchronously. */
export const endpoint = <S extends Schema.ConstraintDecoder<unknown>>(
  schema: S,
  respond: (request: S["Type"], solid: boolean) => unknown
): Endpoint => effectful(schema, (request, solid) => Effect.sync(() => respond(request, solid)))

/** Makes an endpoint whose response is an effect. */
export const effectful = <S extends Schema.ConstraintDecoder<unknown>>(
  schema: S,
  respond: (request: S["Type"], solid: boolean) => Effect.Effect<unknown, MessageMalformed>
): Endpoint => {
  const decode = Schema.decodeUnknownEffect(schema)
  return (body, solid) =>
    decode(body).pipe(
      Effect.mapError(({ message }) => new MessageMalformed({ message: message.slice(0, 300) })),
      Effect.flatMap((request) => respond(request, solid))
    )
}
