/**
 * `npm run bench`: what a request costs. CPU time is read from each role's own process, since wall time on a shared machine
 * says little. Prints a table, and after it the same as one line of JSON.
 */
import { EvmTestChain } from "@pontage/evm/testing"
import { PostgresServer } from "@pontage/sql/testing"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"

import * as BatchGas from "./BatchGas.ts"
import * as BundleSize from "./BundleSize.ts"
import * as DurableClaims from "./DurableClaims.ts"
import * as JettonPayments from "./JettonPayments.ts"
import * as OfflineVerification from "./OfflineVerification.ts"
import * as PaidRequests from "./PaidRequests.ts"
import type { Row } from "./Row.ts"
import * as SettlementThroughput from "./SettlementThroughput.ts"
import * as Signing from "./Signing.ts"
import * as TransactionSigning from "./TransactionSigning.ts"
import * as TronPayments from "./TronPayments.ts"
import * as UnpaidRequests from "./UnpaidRequests.ts"
import * as Verification from "./Verification.ts"

const table = (rows: ReadonlyArray<Row>): string => {
  const widest = Math.max(...rows.map(({ name }) => name.length))
  return rows
    .map(
      ({ name, note, unit, value }) =>
        `${name.padEnd(widest)}  ${value.toFixed(2).padStart(10)} ${unit.padEnd(12)} ${note ?? ""}`
    )
    .join("\n")
}

const program = Effect.gen(function* () {
  const chain = yield* EvmTestChain.make({ payers: 16 })
  const rows: Array<Row> = []
  const add = (more: ReadonlyArray<Row>) => void rows.push(...more)
  add(yield* Effect.promise(() => UnpaidRequests.measure(chain)))
  add(yield* Effect.promise(() => PaidRequests.measure(chain)))
  add(yield* Verification.measure(chain))
  add(yield* BatchGas.measure)
  const postgres = yield* PostgresServer.make
  add(yield* SettlementThroughput.measure(postgres))
  add(yield* DurableClaims.measure(postgres))
  add(yield* OfflineVerification.measure(chain))
  add(yield* JettonPayments.measure())
  add(yield* TransactionSigning.measure(chain))
  add(yield* Effect.promise(() => Signing.measure(chain)))
  add(yield* TronPayments.measure)
  const { gzipped, minified } = yield* Effect.promise(() => BundleSize.measure())
  add([
    { name: "client bundle with EVM, minified", value: minified / 1024, unit: "KB" },
    {
      name: "client bundle with EVM, min+gzip",
      value: gzipped / 1024,
      unit: "KB",
      note: "a third of the peer's is 36.8"
    }
  ])
  yield* Console.log(table(rows))
  yield* Console.log(JSON.stringify({ rows }))
})

await Effect.runPromise(Effect.scoped(program))
