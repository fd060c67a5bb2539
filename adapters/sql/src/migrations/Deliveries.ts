/**
 * Schema 7's columns: the delivery of a payment whose money goes on to another network, as JSON, and whether it is still to be watched.
 * Rows of programs of the previous release have none: they take no such payments.
 */
import { column, index, type Migration } from "../schema/Migration.ts"

/** Schema 7. */
export const deliveries: Migration = {
  name: "deliveries",
  serves: 1,
  changes: () => [
    column("payment", "delivery", "TEXT"),
    column("payment", "delivering", "BOOLEAN NOT NULL DEFAULT FALSE"),
    index("payment_delivering", "payment (network, serial) WHERE delivering")
  ]
}
