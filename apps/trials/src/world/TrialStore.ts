/**
 * The records and the leases of a facilitator under trial, as the product makes them, and what a mutation makes of them.
 */
import { LaneLeases, MemoryPaymentStore, PaymentStore } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"

import type { Mutation } from "../Mutation.ts"
import type { StoreChoice } from "./TrialSettings.ts"

/** The store of this choice. */
export const layer = (choice: StoreChoice, { leases = (same) => same, store = (same) => same }: Mutation) =>
  Layer.provide(
    Layer.mergeAll(
      Layer.effect(PaymentStore.PaymentStore, Effect.map(PaymentStore.PaymentStore, store)),
      Layer.effect(LaneLeases.LaneLeases, Effect.map(LaneLeases.LaneLeases, leases))
    ),
    plain(choice)
  )

/** A store is loaded only when it is used: lives begin quicker. */
const plain = (choice: StoreChoice) => {
  switch (choice.kind) {
    case "memory":
      return Layer.mergeAll(MemoryPaymentStore.layer, LaneLeases.layerSole)
    case "sqlite":
      return Layer.unwrap(
        Effect.map(
          Effect.promise(() => import("@pontage/sql/sqlite")),
          ({ SqlitePaymentStore }) => SqlitePaymentStore.layer({ filename: choice.filename })
        )
      )
    case "postgres":
      return Layer.unwrap(
        Effect.map(
          Effect.promise(() => import("@pontage/sql/postgres")),
          ({ PostgresPaymentStore }) =>
            PostgresPaymentStore.layer({
              url: Redacted.make(choice.url),
              ...(choice.leases && { leases: choice.leases })
            })
        )
      )
  }
}
