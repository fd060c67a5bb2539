/**
 * Schema 9's columns: the operator's own stock that a delivery is paid from, and what it draws. `stock_until` is the time when it was paid
 * for good, and a time that never comes before that: one index finds the open draws and those of the last day. Rows of programs of the
 * previous release have none: they take no such payments.
 */
import { column, index, type Migration } from "../schema/Migration.ts"

/** Schema 9. */
export const stockDraws: Migration = {
  name: "stock_draws",
  serves: 1,
  changes: () => [
    column("payment", "stock", "TEXT"),
    column("payment", "stock_pair", "TEXT"),
    column("payment", "stock_amount", "TEXT"),
    column("payment", "stock_at", "BIGINT"),
    column("payment", "stock_until", "BIGINT"),
    index("payment_stock", "payment (stock, stock_until) WHERE stock IS NOT NULL")
  ]
}
