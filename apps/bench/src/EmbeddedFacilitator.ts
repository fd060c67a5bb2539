/**
 * A facilitator of payment channels as a shop has it in its own process: payments and the channels' ledger in SQLite files, claims
 * authorized by a key of its own.
 */
import { join } from "node:path"

import {
  type ChainUnavailable,
  type Facilitator,
  FacilitatorSchemeRegistry,
  LocalFacilitator,
  type Misconfigured,
  type PaymentStore
} from "@pontage/core"
import { channelEvm, EvmCrypto } from "@pontage/evm"
import { SqliteChannelStore, SqlitePaymentStore } from "@pontage/sql/sqlite"
import * as Layer from "effect/Layer"

type Signers = Parameters<typeof channelEvm.facilitator>[0]

/** The options. */
export interface Options {
  readonly rpcUrl: string
  /** Sends the transactions. */
  readonly sender: Signers["signer"]
  /** Authorizes claims; sends nothing. */
  readonly authorizer: NonNullable<Signers["authorizer"]>["signer"]
  readonly crypto: EvmCrypto.Shape
  /** The folder of its files. */
  readonly folder: string
}

/** The facilitator, with its defaults, and its records, which a service over it needs. */
export const layer = ({
  authorizer,
  crypto,
  folder,
  rpcUrl,
  sender
}: Options): Layer.Layer<
  Facilitator | PaymentStore.PaymentStore | FacilitatorSchemeRegistry.FacilitatorSchemeRegistry,
  ChainUnavailable | Misconfigured
> => {
  const scheme = channelEvm.facilitator({ signer: sender, rpcUrl, authorizer: { signer: authorizer } })
  const records = Layer.merge(
    SqlitePaymentStore.layer({ filename: join(folder, "records.sqlite") }),
    SqliteChannelStore.layer({ filename: join(folder, "channels.sqlite") })
  )
  return LocalFacilitator.layer({}).pipe(
    Layer.provideMerge(records),
    Layer.provideMerge(FacilitatorSchemeRegistry.layer([scheme])),
    Layer.provide(Layer.succeed(EvmCrypto.EvmCrypto, crypto))
  )
}
