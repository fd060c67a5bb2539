/**
 * Faults of payment channels. Each breaks one promise of `ChannelAudit`.
 */
import type { SourceMutation } from "../attacks/SourceMutation.ts"

const inBooks = (piece: string, instead: string): { readonly sources: SourceMutation } => ({
  sources: [{ module: "core/src/facilitator/channel/ChannelBooks", piece, instead }]
})

/** A claim is made by the highest voucher of all, also of a draw that runs and may fail. */
export const openDrawsClaimed = inBooks(
  "{ channelId, config, maximum: used, voucher: usedVoucher, total, urgent }",
  "{ channelId, config, maximum: standing.signed, voucher: standing.voucher, total: standing.signed, urgent }"
)

/** A draw is charged twice its price. */
export const chargedTwice = inBooks("least(wanted, draw.amount, covered)", "draw.amount * 2n")

/** A charge is not written. */
export const chargesLost = inBooks("charged: standing.charged + amount", "charged: standing.charged")

/** Vouchers count without a deposit behind them. */
export const depositsUnneeded = inBooks("draw.maximum > available(standing)", "draw.maximum < 0n")

/** Charges are never worth a claim. */
export const claimsForgotten = inBooks("unclaimed < policy.least", "unclaimed < 2n ** 100n")

/** A withdrawal makes no claim urgent. */
export const withdrawalsUnseen = inBooks(
  "const urgent = standing.withdrawRequestedAt !== undefined",
  "const urgent = standing.withdrawRequestedAt === 1"
)

/** A run that failed is charged as if it had served. */
export const failuresCharged: { readonly sources: SourceMutation } = {
  sources: [
    {
      module: "core/src/facilitator/local/ChannelDraws",
      piece: 'outcome === "served"',
      instead: "outcome !== undefined"
    }
  ]
}

/** The ledger is in memory alone. */
export const ledgerForgotten = { forgetsLedger: true as const }
