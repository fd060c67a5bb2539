/**
 * The laws of a payment store: the properties that "one authorization, one transfer, one execution" relies on, in one
 * process or in several that share the records. Each law uses its own payments and lanes, so the laws can run one after
 * another on one store, or each on a new one.
 */
import { type StoreLaw, type StoreSubject, Subject } from "./PaymentStoreTrial.ts"
import * as StoreAllowanceLaws from "./StoreAllowanceLaws.ts"
import * as StoreBookLaws from "./StoreBookLaws.ts"
import * as StoreClaimLaws from "./StoreClaimLaws.ts"
import * as StoreDeliveryLaws from "./StoreDeliveryLaws.ts"
import * as StoreFenceLaws from "./StoreFenceLaws.ts"
import * as StoreForgetLaws from "./StoreForgetLaws.ts"
import * as StoreLaneLaws from "./StoreLaneLaws.ts"
import * as StoreNoticeLaws from "./StoreNoticeLaws.ts"
import * as StoreRefusedLaws from "./StoreRefusedLaws.ts"
import * as StoreReservationLaws from "./StoreReservationLaws.ts"
import * as StoreStockLaws from "./StoreStockLaws.ts"
import * as StoreWriteLaws from "./StoreWriteLaws.ts"

export { type StoreLaw, type StoreSubject, Subject }

/** All laws of a payment store. */
export const all: ReadonlyArray<StoreLaw> = [
  ...StoreClaimLaws.laws,
  ...StoreRefusedLaws.laws,
  ...StoreReservationLaws.laws,
  ...StoreLaneLaws.laws,
  ...StoreWriteLaws.laws,
  ...StoreFenceLaws.laws,
  ...StoreBookLaws.laws,
  ...StoreNoticeLaws.laws,
  ...StoreAllowanceLaws.laws,
  ...StoreForgetLaws.laws,
  ...StoreDeliveryLaws.laws,
  ...StoreStockLaws.laws
]
