/**
 * The first peer's facilitator class with the other peer's scheme classes in it, but for the name of the version's field.
 */
import { createServer } from "node:http"

import * as BaseSepolia from "@pontage/devnet/BaseSepolia"
import { listen } from "@pontage/devnet/LoopbackServer"
import type { SchemeNetworkFacilitator as T402Scheme } from "@t402/core/types"
import { ExactEvmScheme } from "@t402/evm/exact/facilitator"
import { ExactEvmSchemeV1 } from "@t402/evm/exact/v1/facilitator"
import { x402Facilitator } from "@x402/core/facilitator"
import type { PaymentPayload, SchemeNetworkFacilitator } from "@x402/core/types"
import * as Effect from "effect/Effect"

import type { FacilitatorOptions } from "../RoleOptions.ts"
import * as FacilitatorRoutes from "./FacilitatorRoutes.ts"
import { settler } from "./ViemSettler.ts"

/** Runs it as long as the scope. */
export const start = Effect.fnUntraced(function* (options: FacilitatorOptions) {
  const signer = settler(options)
  const facilitator = new x402Facilitator()
    .register(BaseSepolia.network, renamed(new ExactEvmScheme(signer)))
    .registerV1(legacyNetwork, renamed(new ExactEvmSchemeV1(signer)))
  const app = FacilitatorRoutes.make({
    verify: ({ paymentPayload, paymentRequirements }) => facilitator.verify(paymentPayload, paymentRequirements),
    settle: ({ paymentPayload, paymentRequirements }) => facilitator.settle(paymentPayload, paymentRequirements),
    supported: () => facilitator.getSupported()
  })
  return { url: yield* listen(createServer(app), options.port) }
})

const renamed = (scheme: T402Scheme): SchemeNetworkFacilitator => ({
  scheme: scheme.scheme,
  caipFamily: scheme.caipFamily,
  getExtra: (network) => scheme.getExtra(network),
  getSigners: (network) => scheme.getSigners(network),
  verify: (payload, requirements) => scheme.verify(inTheirs(payload), requirements),
  settle: (payload, requirements) => scheme.settle(inTheirs(payload), requirements)
})

/** Fields that their payloads always have, and that the first peer's may leave out. */
const inTheirs = ({ resource, x402Version, ...payment }: PaymentPayload): Parameters<T402Scheme["verify"]>[0] => ({
  ...payment,
  t402Version: x402Version,
  resource: { description: "", mimeType: "", url: "", ...resource }
})

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- newer network names contain a colon, older ones do not
const legacyNetwork = BaseSepolia.legacyNetwork as `${string}:${string}`
