/**
 * Endpoints of the records, and of the supported schemes and networks.
 */
import { CurrentCaller, Facilitator, maySee, PaymentId, PaymentStore, X402ServerApiKinds } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"

import { Discovery } from "../discovery/Discovery.ts"
import { UnknownPayment } from "../http/FacilitatorFault.ts"
import * as PaymentExport from "../http/PaymentExport.ts"
import { FacilitatorHttpApi } from "./FacilitatorHttpApi.ts"
import * as FacilitatorVerdict from "./FacilitatorVerdict.ts"

/** `GET /payments/{id}` and `GET /payments`. */
export const layerRecords = HttpApiBuilder.group(
  FacilitatorHttpApi,
  "records",
  Effect.fnUntraced(function* (handlers) {
    const store = yield* PaymentStore.PaymentStore
    return handlers.handleAll({
      payment: ({ params }) => payment(store, params.id),
      payments: ({ query }) => payments(store, query)
    })
  })
)

/** `GET /supported`; `pending` are the networks that the service is configured for and runs without. */
export const layerOffers = (pending: ReadonlyArray<string>) =>
  HttpApiBuilder.group(
    FacilitatorHttpApi,
    "offers",
    Effect.fnUntraced(function* (handlers) {
      const facilitator = yield* Facilitator
      const { page } = yield* Discovery
      const supported = Effect.map(facilitator.supported, (known) => {
        const response = X402ServerApiKinds.fromSupported(
          pending.length === 0 ? known : { ...known, pending: [...new Set(pending)] }
        )
        return page === undefined ? response : { ...response, extensions: [...response.extensions, "bazaar"] }
      })
      return handlers.handleAll({ supported: () => Effect.catch(supported, FacilitatorVerdict.unavailable) })
    })
  )

type Store = PaymentStore.PaymentStore["Service"]

/** Another caller's payment is as unknown as a missing one. */
const payment = Effect.fnUntraced(function* (store: Store, id: string) {
  const stored = PaymentId.isPaymentId(id)
    ? yield* Effect.catch(store.find(id), FacilitatorVerdict.unavailable)
    : undefined
  if (stored !== undefined && maySee(yield* CurrentCaller, stored)) {
    return PaymentStore.toRecord(stored, yield* store.now)
  }
  return yield* new UnknownPayment({ message: "this payment is unknown here" })
})

/** A serial below all records; the first page begins after it. */
const beforeAll = -1n

const payments = Effect.fnUntraced(function* (
  store: Store,
  { after, limit = PaymentExport.standardLimit }: { readonly after?: string; readonly limit?: number }
) {
  const { name, seesAll = false } = yield* CurrentCaller
  const start = after === undefined ? beforeAll : BigInt(after)
  const found = yield* Effect.catch(
    store.page(start, limit, seesAll ? undefined : name),
    FacilitatorVerdict.unavailable
  )
  return PaymentExport.toPage(found, limit, yield* store.now)
})
