/**
 * Schema 10's column: the refunds of a channel that its receiver has authorized. Rows of programs of the previous release have none: they
 * make no refunds, and do not keep a draw from money that a refund of this release is about to take.
 */
import { column, type Migration } from "../schema/Migration.ts"

/** Schema 10. */
export const sentRefunds: Migration = {
  name: "sent_refunds",
  serves: 1,
  changes: () => [column("payment_channel", "refunds", "TEXT")]
}
