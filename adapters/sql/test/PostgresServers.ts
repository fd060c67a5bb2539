/** One server for the tests of a file, and stores in databases of their own on it. */
import { Entropy, LaneLeases, PaymentStore } from "@pontage/core"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Redacted from "effect/Redacted"

import { PostgresPaymentStore } from "../src/postgres.ts"
import { PostgresServer } from "../src/testing/index.ts"

export const database = Effect.flatMap(PostgresServer.PostgresServer, (server) => server.database)

/** An instance of the facilitator's records: its store and its leases. */
export const instance = (url: Redacted.Redacted, options: Omit<PostgresPaymentStore.Options, "url"> = {}) =>
  Effect.map(Layer.build(PostgresPaymentStore.layer({ connections: 4, ...options, url })), (context) => ({
    store: Context.get(context, PaymentStore.PaymentStore),
    leases: Context.get(context, LaneLeases.LaneLeases)
  }))

export const newName = Effect.map(Entropy.Entropy, Entropy.identifier)
