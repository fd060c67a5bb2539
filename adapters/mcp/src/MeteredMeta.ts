/** The words of metered tools in MCP: the need of a voucher and the receipt in `_meta`, and the request that brings a voucher. */

/** The key of a progress notification's `_meta` with the voucher that the call waits for. */
export const needKey = "payment/need-voucher"

/** The key of a result's `_meta` with the sum that the whole call was charged. */
export const receiptKey = "payment/receipt"

/** The request that brings a voucher. */
export const voucherMethod = "payment/voucher"
