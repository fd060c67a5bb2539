/**
 * The peer's facilitator class behind HTTP. The peer publishes the class and no server: this is the three routes of its own
 * example, with both versions of its protocol registered.
 */
import { createServer } from "node:http"

import * as BaseSepolia from "@pontage/devnet/BaseSepolia"
import { listen } from "@pontage/devnet/LoopbackServer"
import { x402Facilitator } from "@x402/core/facilitator"
import type { SchemeNetworkFacilitator } from "@x402/core/types"
import type { FacilitatorEvmSigner } from "@x402/evm"
import { ExactEvmScheme } from "@x402/evm/exact/facilitator"
import { ExactEvmSchemeV1 } from "@x402/evm/exact/v1/facilitator"
import * as Effect from "effect/Effect"

import type { FacilitatorOptions } from "../RoleOptions.ts"
import * as FacilitatorRoutes from "./FacilitatorRoutes.ts"
import { settler } from "./ViemSettler.ts"

/** Makes a scheme of the signer that settles. */
export type MakeScheme = (signer: FacilitatorEvmSigner) => SchemeNetworkFacilitator

/** Runs it as long as the scope, with more schemes beside `exact`. */
export const start = Effect.fnUntraced(function* (options: FacilitatorOptions, more: ReadonlyArray<MakeScheme> = []) {
  const signer = settler(options)
  const facilitator = new x402Facilitator()
    .register(BaseSepolia.network, new ExactEvmScheme(signer))
    .registerV1(legacyNetwork, new ExactEvmSchemeV1(signer))
  for (const scheme of more) facilitator.register(BaseSepolia.network, scheme(signer))
  const app = FacilitatorRoutes.make({
    verify: ({ paymentPayload, paymentRequirements }) => facilitator.verify(paymentPayload, paymentRequirements),
    settle: ({ paymentPayload, paymentRequirements }) => facilitator.settle(paymentPayload, paymentRequirements),
    supported: () => facilitator.getSupported()
  })
  return { url: yield* listen(createServer(app), options.port) }
})

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- newer network names contain a colon, older ones do not
const legacyNetwork = BaseSepolia.legacyNetwork as `${string}:${string}`
