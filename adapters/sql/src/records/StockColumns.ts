/** The columns of a draw on an operator's own stock. */
import type { Delivery } from "@pontage/core"

import type { Columns, Value } from "../database/SqlDialect.ts"

/** The columns. */
export const drawing = {
  stock: "text",
  stock_pair: "text",
  stock_amount: "text",
  stock_at: "bigint",
  stock_until: "bigint"
} as const satisfies Columns

/** The end of a draw that is not paid for good: later than any clock. */
export const open = 9_007_199_254_740_991n

/** The values of `drawing`. */
export const toDrawing = (draw: Delivery.RecordedDraw | undefined): Readonly<Record<keyof typeof drawing, Value>> => ({
  stock: draw?.stock ?? null,
  stock_pair: draw?.pair ?? null,
  stock_amount: draw === undefined ? null : `${draw.amount}`,
  stock_at: draw?.at === undefined ? null : BigInt(draw.at),
  stock_until: draw === undefined ? null : draw.freedAt === undefined ? open : BigInt(draw.freedAt)
})
