/**
 * `npm run bench`: what a request costs, ours and the published peers' in one run on one machine. CPU time is read from each
 * role's own process, since wall time on a shared machine says little. Prints a table, and after it the same as one line of
 * JSON. `npm run bench -- --only paid,unpaid` runs some parts alone, `--streams 500` opens fewer streams in the part `streams`.
 */
import { EvmTestChain } from "@pontage/evm/testing"
import { PostgresServer } from "@pontage/sql/testing"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

import * as BenchSettings from "./BenchSettings.ts"
import * as AccountPayments from "./parts/AccountPayments.ts"
import * as BatchGas from "./parts/BatchGas.ts"
import * as BundleSize from "./parts/BundleSize.ts"
import * as ClaimGas from "./parts/channels/ClaimGas.ts"
import * as DurableDraws from "./parts/channels/DurableDraws.ts"
import * as FacilitatedDraws from "./parts/channels/FacilitatedDraws.ts"
import * as HttpDraws from "./parts/channels/HttpDraws.ts"
import * as OpenStreams from "./parts/channels/OpenStreams.ts"
import * as ClientComparison from "./parts/ClientComparison.ts"
import * as DurableClaims from "./parts/DurableClaims.ts"
import * as FacilitatorComparison from "./parts/FacilitatorComparison.ts"
import * as JettonPayments from "./parts/JettonPayments.ts"
import * as KeptResponses from "./parts/KeptResponses.ts"
import * as OfflineVerification from "./parts/OfflineVerification.ts"
import * as InventoryPayments from "./parts/onward/InventoryPayments.ts"
import * as RoutedPayments from "./parts/onward/RoutedPayments.ts"
import * as PageSize from "./parts/PageSize.ts"
import * as PaidComparison from "./parts/PaidComparison.ts"
import * as PaidRequests from "./parts/PaidRequests.ts"
import * as PermitPayments from "./parts/PermitPayments.ts"
import * as SettlementThroughput from "./parts/SettlementThroughput.ts"
import * as Signing from "./parts/Signing.ts"
import * as TransactionSigning from "./parts/TransactionSigning.ts"
import * as TronPayments from "./parts/TronPayments.ts"
import * as UnpaidRequests from "./parts/UnpaidRequests.ts"
import * as Verification from "./parts/Verification.ts"
import * as WebhookDelivery from "./parts/WebhookDelivery.ts"
import * as PeerChain from "./PeerChain.ts"
import type { Row } from "./Row.ts"
import * as RowTable from "./RowTable.ts"

type Part = Effect.Effect<ReadonlyArray<Row>, unknown, Scope.Scope>

const onTestChain = (measure: (chain: EvmTestChain.Shape) => Effect.Effect<ReadonlyArray<Row>, unknown, Scope.Scope>) =>
  Effect.flatMap(EvmTestChain.make({ payers: 16 }), measure)
const onPeerChain = (measure: (chain: PeerChain.PeerChain) => Promise<ReadonlyArray<Row>>) =>
  Effect.flatMap(PeerChain.make, (chain) => Effect.promise(() => measure(chain)))

/** The parts that `--only` names, in the order of the table. */
const parts: Readonly<Record<string, Part>> = {
  unpaid: onPeerChain(UnpaidRequests.measure),
  paid: PaidComparison.measure,
  facilitators: FacilitatorComparison.measure,
  clients: onPeerChain(ClientComparison.measure),
  roles: onTestChain((chain) => Effect.promise(() => PaidRequests.measure(chain))),
  verify: onTestChain(Verification.measure),
  gas: Effect.all([BatchGas.measure, onTestChain(ClaimGas.measure)]).pipe(Effect.map((rows) => rows.flat())),
  accounts: AccountPayments.measure,
  permit2: PermitPayments.measure,
  routes: RoutedPayments.measure,
  inventory: InventoryPayments.measure,
  settlement: Effect.flatMap(PostgresServer.make, SettlementThroughput.measure),
  claims: Effect.flatMap(PostgresServer.make, DurableClaims.measure),
  draws: Effect.all([Effect.orDie(DurableDraws.measure), onTestChain(FacilitatedDraws.measure)]).pipe(
    Effect.map((rows) => rows.flat())
  ),
  "draws-http": HttpDraws.measure,
  streams: Effect.suspend(() => OpenStreams.measure(settings.streams)),
  responses: Effect.orDie(KeptResponses.measure),
  webhooks: Effect.flatMap(PostgresServer.make, WebhookDelivery.measure),
  offline: onTestChain(OfflineVerification.measure),
  ton: Effect.suspend(() => JettonPayments.measure()),
  signing: onTestChain((chain) =>
    Effect.all([TransactionSigning.measure(chain), Effect.promise(() => Signing.measure(chain))]).pipe(
      Effect.map((rows) => rows.flat())
    )
  ),
  tron: TronPayments.measure,
  bundle: Effect.map(
    Effect.promise(() => BundleSize.measure()),
    (rows) => [...rows, ...PageSize.measure()]
  )
}

/** The settings of a run: its parts, and the number of open streams. */
const settings = BenchSettings.read(process.argv.slice(2), Object.keys(parts), OpenStreams.usual)

const program = Effect.gen(function* () {
  const rows: Array<Row> = []
  for (const name of settings.parts) {
    rows.push(...(yield* Effect.scoped(parts[name] ?? Effect.succeed([]))))
  }
  yield* Console.log(RowTable.toText(rows))
  yield* Console.log(JSON.stringify({ rows }))
})

await Effect.runPromise(program)
