/**
 * One path of the node's HTTP API: what it is sent, decoded, and what it answers.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

import { MessageMalformed } from "../messages/TronMessage.ts"

/** Answers a request's body, or its query. `solid` where it was asked under `walletsolidity/`. */
export type Endpoint = (body: unknown, solid: boolean) => Effect.Effect<unknown, MessageMalformed>

/** Endpoints by the last part of their path. */
export type Endpoints = Readonly<Record<string, Endpoint>>

/** An endpoint that answers at once. */
export const endpoint = <S extends Schema.ConstraintDecoder<unknown>>(
  schema: S,
  answer: (asked: S["Type"], solid: boolean) => unknown
): Endpoint => effectful(schema, (asked, solid) => Effect.sync(() => answer(asked, solid)))

/** An endpoint that has work to do. */
export const effectful = <S extends Schema.ConstraintDecoder<unknown>>(
  schema: S,
  answer: (asked: S["Type"], solid: boolean) => Effect.Effect<unknown, MessageMalformed>
): Endpoint => {
  const decode = Schema.decodeUnknownEffect(schema)
  return (body, solid) =>
    decode(body).pipe(
      Effect.mapError(({ message }) => new MessageMalformed({ message: message.slice(0, 300) })),
      Effect.flatMap((asked) => answer(asked, solid))
    )
}
