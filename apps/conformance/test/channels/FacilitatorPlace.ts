/** Where the facilitator with the ledger of a test's shop runs: in the shop's process, or behind HTTP with an API key for the payee. */
import type {
  ChainUnavailable,
  Facilitator,
  FacilitatorSchemeRegistry,
  Misconfigured,
  PaymentStore
} from "@pontage/core"
import * as FacilitatorService from "@pontage/facilitator"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

/** The place of a test's facilitator. */
export const FacilitatorPlace = Context.Reference<"in its process" | "by URL">("FacilitatorPlace", {
  defaultValue: () => "in its process"
})

/** A layer for each place. */
export const everywhere = <A, E>(
  shared: Layer.Layer<A, E>
): ReadonlyArray<{ readonly place: string; readonly shared: Layer.Layer<A, E> }> =>
  (["in its process", "by URL"] as const).map((place) => ({
    place,
    shared: Layer.merge(shared, Layer.succeed(FacilitatorPlace, place))
  }))

type Local = Layer.Layer<
  Facilitator | PaymentStore.PaymentStore | FacilitatorSchemeRegistry.FacilitatorSchemeRegistry,
  Misconfigured | ChainUnavailable
>

/** The callers for whom the authorizer's key signs: the one shop, where the facilitator has callers. */
export const lending = Effect.map(FacilitatorPlace, (place) =>
  place === "by URL" ? { callers: (name: string) => name === caller } : {}
)

const caller = "shop"
const key = "key-of-the-shop-that-sells"

/** The shop's option `facilitator` for a facilitator of this payee. */
export const at = Effect.fnUntraced(function* (local: Local, payee: string) {
  if ((yield* FacilitatorPlace) === "in its process") return local
  const callers = [
    { name: caller, keys: [FacilitatorService.ApiKey.digestOf(key)], registrations: [{ payees: [payee] }] }
  ]
  const { url } = yield* Effect.provide(FacilitatorService.serve({ port: 0, callers }), yield* Layer.build(local))
  return { url, headers: { authorization: `Bearer ${key}` } }
})
