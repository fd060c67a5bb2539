/**
 * The payments that one signer settles in a second, one by one and in batches, and their cost for the facilitator: on a
 * local node that mines at once, with the records in memory, in SQLite and in PostgreSQL. Without HTTP; a payer has one
 * pending payment.
 */
import { join } from "node:path"

import {
  Facilitator,
  LaneLeases,
  LocalFacilitator,
  FacilitatorSchemeRegistry,
  MemoryPaymentStore,
  type PaymentRequest,
  type PaymentStore
} from "@pontage/core"
import { deployBatchSettler, EvmCrypto, exactEvm } from "@pontage/evm"
import * as BestCrypto from "@pontage/evm/crypto"
import { EvmTestChain } from "@pontage/evm/testing"
import { PostgresPaymentStore } from "@pontage/sql/postgres"
import { SqlitePaymentStore } from "@pontage/sql/sqlite"
import type { PostgresServer } from "@pontage/sql/testing"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

import * as BenchFolder from "../BenchFolder.ts"
import * as BenchPayment from "../BenchPayment.ts"
import type { Row } from "../Row.ts"

const payers = 300
const warmUp = 300
const count = 900
const batch = { maximum: 50, windowMillis: 10 }

type Records = Layer.Layer<PaymentStore.PaymentStore | LaneLeases.LaneLeases, unknown>
type Batches = NonNullable<Parameters<typeof exactEvm.facilitator>[0]["batches"]>

/** All rows, on a chain of their own. */
export const measure = Effect.fnUntraced(function* (postgres: PostgresServer.PostgresServer["Service"]) {
  const chain = yield* EvmTestChain.make({ payers })
  const settler = yield* deployBatchSettler({ signer: chain.accounts.deployer, rpcUrl: chain.rpcUrl })
  const folder = yield* BenchFolder.make
  const rows: Array<Row> = []
  for (const batches of [undefined, { settler, ...batch }]) {
    const how = batches === undefined ? "one by one" : `in batches of up to ${batch.maximum}`
    const stores: ReadonlyArray<readonly [string, Records]> = [
      ["memory", Layer.merge(MemoryPaymentStore.layer, LaneLeases.layerSole)],
      ["SQLite", SqlitePaymentStore.layer({ filename: join(folder, `${how}.sqlite`) })],
      ["PostgreSQL", PostgresPaymentStore.layer({ url: yield* postgres.database })]
    ]
    for (const [name, records] of stores) {
      rows.push(...(yield* Effect.scoped(settling(chain, `settled ${how}, ${name}`, records, batches))))
    }
  }
  return rows
})

/** One facilitator's figures. The signer's transactions of an earlier one are over, so each begins where it ended. */
const settling = Effect.fnUntraced(function* (
  chain: EvmTestChain.Shape,
  name: string,
  records: Records,
  batches: Batches | undefined
) {
  const crypto = yield* BestCrypto.make
  const { privateKey } = chain.accounts.signers[0]
  const scheme = exactEvm.facilitator({
    signer: exactEvm.localSigner(privateKey, crypto),
    rpcUrl: chain.rpcUrl,
    ...(batches && { batches })
  })
  const context = yield* Layer.build(
    LocalFacilitator.layer({}).pipe(
      Layer.provide(FacilitatorSchemeRegistry.layer([scheme])),
      Layer.provide(records),
      Layer.provide(Layer.succeed(EvmCrypto.EvmCrypto, crypto))
    )
  )
  const facilitator = Context.get(context, Facilitator)
  const payments = yield* Effect.forEach(Array.from({ length: warmUp + count }), (_, index) =>
    BenchPayment.sign(chain, index)
  )
  const settleAll = (some: ReadonlyArray<PaymentRequest>) =>
    Effect.forEach(some, (request) => facilitator.settle(request), { concurrency: payers, discard: true })
  yield* settleAll(payments.slice(0, warmUp))
  const start = process.hrtime.bigint()
  const cpu = process.cpuUsage()
  yield* settleAll(payments.slice(warmUp))
  const { system, user } = process.cpuUsage(cpu)
  const seconds = Number(process.hrtime.bigint() - start) / 1e9
  return [
    { name, value: count / seconds, unit: "per second", note: "one signer, wall time, chain included" },
    { name: `${name}: facilitator`, value: (user + system) / 1000 / count, unit: "ms CPU", note: "target at most 1" }
  ] satisfies ReadonlyArray<Row>
})
