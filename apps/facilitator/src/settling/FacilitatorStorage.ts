/**
 * The records and the leases of the lanes, where the settings say: counted and measured. A store is loaded only when it is
 * used, so that none needs what another needs.
 */
import {
  type FacilitatorUnavailable,
  LaneLeases,
  MemoryPaymentStore,
  type Misconfigured,
  type PaymentStore
} from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

import * as MeteredPaymentStore from "../metrics/MeteredPaymentStore.ts"
import type { StoreSettings } from "../settings/StoreSettings.ts"

type Storage = PaymentStore.PaymentStore | LaneLeases.LaneLeases

/** The store of these settings. */
export const layer = (settings: StoreSettings) => Layer.provideMerge(MeteredPaymentStore.layer, plain(settings))

/** `Misconfigured` where the place cannot be used as it is, `FacilitatorUnavailable` where it cannot be reached. */
const plain = (settings: StoreSettings): Layer.Layer<Storage, Misconfigured | FacilitatorUnavailable> => {
  switch (settings.kind) {
    case "memory":
      return memory
    case "sqlite":
      return Layer.unwrap(
        Effect.map(
          Effect.promise(() => import("@pontage/sql/sqlite")),
          ({ SqlitePaymentStore }) => SqlitePaymentStore.layer({ filename: settings.filename })
        )
      )
    case "postgres":
      return Layer.unwrap(
        Effect.map(
          Effect.promise(() => import("@pontage/sql/postgres")),
          ({ PostgresPaymentStore }) => PostgresPaymentStore.layer({ url: settings.url })
        )
      )
  }
}

const memory: Layer.Layer<Storage> = Layer.mergeAll(
  MemoryPaymentStore.layer,
  LaneLeases.layerSole,
  Layer.effectDiscard(
    Effect.logWarning(
      "PONTAGE_STORE=memory: every record is lost when the process ends, and runs that were paid for with it; for trying out only"
    )
  )
)
