/** The tokens of the module's options and of the decorator's configuration. */

/** The options of `PaymentModule`, as a provider. */
export const PAYMENT_OPTIONS = Symbol("@pontage/nestjs/PaymentOptions")

/** The metadata key of the configuration of `@Paid`. */
export const PAID_METADATA = "@pontage/nestjs/paid"
