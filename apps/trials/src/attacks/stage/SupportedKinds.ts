/**
 * The kinds of payments that a facilitator settles. It listens before its chains have responded, so an attack on a chain waits until that
 * chain is among them.
 */
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"

import * as Direct from "../hostile/DirectSettlement.ts"
import * as HostileCall from "../hostile/HostileCall.ts"
import type { Tenant } from "./AttackStage.ts"

const Kind = Schema.Struct({
  network: Schema.String,
  extra: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown))
})

/** A kind, and the fields beside the price in its offers. */
export type Kind = typeof Kind.Type

const decode = Schema.decodeUnknownSync(Schema.fromJsonString(Schema.Struct({ kinds: Schema.Array(Kind) })))

/** The kinds on a network, as soon as there are any. */
export const on = (url: string, tenant: Tenant, network: string): Effect.Effect<ReadonlyArray<Kind>> =>
  HostileCall.send(`${url}/supported`, { headers: Direct.bearer(tenant) }).pipe(
    Effect.map(({ text }) => decode(text).kinds.filter((kind) => kind.network === network)),
    Effect.repeat({ while: (kinds) => kinds.length === 0, schedule: Schedule.spaced("50 millis") })
  )
