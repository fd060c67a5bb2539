/** The right to draw on payment channels, which callers have whose claims the facilitator authorizes. */
import { CurrentCaller, type PaymentRequirements, type SchemeFacilitator } from "@pontage/core"
import * as Effect from "effect/Effect"

import { Forbidden } from "../http/FacilitatorFault.ts"

/** Refuses a caller whose claims are not authorized here: it has no key of its own, or no registered payee. */
export const demand = Effect.fnUntraced(function* (
  schemes: ReadonlyArray<SchemeFacilitator>,
  { network, scheme: name }: PaymentRequirements.PaymentRequirements
): Effect.fn.Return<void, Forbidden> {
  const found = schemes.find(({ network: own, scheme }) => scheme.name === name && scheme.network(network) === own)
  const isFor = found?.channels?.draws?.isFor
  if (isFor?.((yield* CurrentCaller).name) !== false) return
  return yield* new Forbidden({
    message: `draws on payment channels on ${network} need an API key whose payees are registered there: the facilitator authorizes claims for no other caller`
  })
})
