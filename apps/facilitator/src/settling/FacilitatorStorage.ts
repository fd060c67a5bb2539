/**
 * Records and lane leases in the storage of the settings, with metrics. A store's module is loaded only when it is used, so
 * that no store requires the drivers of another.
 */
import {
  type ChannelStore,
  type FacilitatorUnavailable,
  LaneLeases,
  MemoryChannelStore,
  MemoryPaymentStore,
  type Misconfigured,
  type PaymentStore
} from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

import * as PaymentLog from "../logs/PaymentLog.ts"
import * as MeteredPaymentStore from "../metrics/MeteredPaymentStore.ts"
import type { StoreSettings } from "../settings/StoreSettings.ts"

type Storage = PaymentStore.PaymentStore | LaneLeases.LaneLeases

/** The store of these settings, with metrics and the log of the payments' ends. */
export const layer = (settings: StoreSettings) =>
  Layer.provideMerge(PaymentLog.layer, Layer.provideMerge(MeteredPaymentStore.layer, plain(settings)))

/** The ledger of payment channels, beside the records of payments: in SQLite a file of its own. */
export const ledger = (settings: StoreSettings): Layer.Layer<ChannelStore, Misconfigured | FacilitatorUnavailable> => {
  switch (settings.kind) {
    case "memory":
      return MemoryChannelStore.layer
    case "sqlite":
      return Layer.unwrap(
        Effect.map(
          Effect.promise(() => import("@pontage/sql/sqlite")),
          ({ SqliteChannelStore }) => SqliteChannelStore.layer({ filename: ledgerFile(settings.filename) })
        )
      )
    case "postgres":
      return Layer.unwrap(
        Effect.map(
          Effect.promise(() => import("@pontage/sql/postgres")),
          ({ PostgresChannelStore }) => PostgresChannelStore.layer({ url: settings.url })
        )
      )
  }
}

/** The ledger's file beside that of the records: `payments.sqlite` has `payments-channels.sqlite`. */
const ledgerFile = (filename: string): string => filename.replace(/(\.[^./\\]*)?$/, "-channels$1")

/** Fails with `Misconfigured` when the storage is unusable as it is, with `FacilitatorUnavailable` when it is unreachable. */
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
      "PONTAGE_STORE=memory: the end of the process loses every record, including requests that were paid and not served; use it for trials only"
    )
  )
)
