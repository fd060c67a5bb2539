/**
 * Endpoint of the list of resources.
 */
import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"

import { Discovery } from "../discovery/Discovery.ts"
import { NoDiscovery } from "../http/FacilitatorFault.ts"
import { FacilitatorHttpApi } from "./FacilitatorHttpApi.ts"

/** `GET /discovery/resources`. */
export const layerDiscovery = HttpApiBuilder.group(
  FacilitatorHttpApi,
  "discovery",
  Effect.fnUntraced(function* (handlers) {
    const { page } = yield* Discovery
    return handlers.handleAll({
      resources: ({ query }) => (page === undefined ? Effect.fail(none) : page(query))
    })
  })
)

const none = new NoDiscovery({
  message: "this facilitator lists no resources; its operator names the origins in PONTAGE_DISCOVERY_ORIGINS"
})
