/**
 * Schema 8's columns: the highest charged voucher of a channel (`used`), the maximum up to which its vouchers are public, and the
 * voucher of each draw. Money is text. Rows of programs of the previous release have none.
 */
import { column, type Migration } from "../schema/Migration.ts"

/** The columns of vouchers that are charged. */
export const chargedVouchers: Migration = {
  name: "charged_vouchers",
  serves: 1,
  changes: () => [
    column("payment_channel", "used", "TEXT"),
    column("payment_channel", "used_voucher", "TEXT"),
    column("payment_channel", "published", "TEXT"),
    column("channel_draw", "maximum", "TEXT"),
    column("channel_draw", "voucher", "TEXT")
  ]
}
