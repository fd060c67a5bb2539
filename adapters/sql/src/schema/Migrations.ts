/**
 * The path of the tables through all releases: the first migration makes the first schema, each other continues the one
 * before. The list is frozen, since databases have gone through it; `test/schema/Migrations.test.ts` checks that.
 */
import { chargedVouchers } from "../migrations/ChargedVouchers.ts"
import { deliveries } from "../migrations/Deliveries.ts"
import { keptResponses } from "../migrations/KeptResponses.ts"
import { laneExits } from "../migrations/LaneExits.ts"
import { noticeQueues } from "../migrations/NoticeQueues.ts"
import { paymentChannels } from "../migrations/PaymentChannels.ts"
import { probeTable } from "../migrations/ProbeTable.ts"
import { sentRefunds } from "../migrations/SentRefunds.ts"
import { settlementTables } from "../migrations/SettlementTables.ts"
import { stockDraws } from "../migrations/StockDraws.ts"
import type { Migration } from "./Migration.ts"

/** Every migration, in order. A new one goes to the end. */
export const all: ReadonlyArray<Migration> = [
  settlementTables,
  probeTable,
  noticeQueues,
  laneExits,
  keptResponses,
  paymentChannels,
  deliveries,
  chargedVouchers,
  stockDraws,
  sentRefunds
]
