/**
 * The ledger of a shop of channels under trial, beside the records of payments, and what a mutation makes of it.
 */
import { MemoryChannelStore } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"

import type { Mutation } from "../Mutation.ts"
import type { StoreChoice } from "../world/TrialSettings.ts"

/** The ledger of this choice. */
export const layer = (choice: StoreChoice, { forgetsLedger }: Mutation) =>
  forgetsLedger === true ? MemoryChannelStore.layer : plain(choice)

/** A store is loaded only when it is used: lives begin quicker. */
const plain = (choice: StoreChoice) => {
  switch (choice.kind) {
    case "memory":
      return MemoryChannelStore.layer
    case "sqlite":
      return Layer.unwrap(
        Effect.map(
          Effect.promise(() => import("@pontage/sql/sqlite")),
          ({ SqliteChannelStore }) => SqliteChannelStore.layer({ filename: `${choice.filename}.channels` })
        )
      )
    case "postgres":
      return Layer.unwrap(
        Effect.map(
          Effect.promise(() => import("@pontage/sql/postgres")),
          ({ PostgresChannelStore }) => PostgresChannelStore.layer({ url: Redacted.make(choice.url) })
        )
      )
  }
}
