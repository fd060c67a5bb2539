/**
 * The names under which the module's options and the decorator's configuration are kept.
 */

/** The options of `PaymentModule`, as a provider. */
export const PAYMENT_OPTIONS = Symbol("@pontage/nestjs/PaymentOptions")

/** The metadata key of what `@Paid` was given. */
export const PAID_METADATA = "@pontage/nestjs/paid"
