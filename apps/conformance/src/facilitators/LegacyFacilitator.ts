/**
 * The functions of the peer's older package behind HTTP; they know only the protocol's first version. The clients are made
 * here: the package's own ask the public nodes.
 */
import { createServer } from "node:http"

import * as BaseSepolia from "@pontage/devnet/BaseSepolia"
import { listen } from "@pontage/devnet/LoopbackServer"
import * as Effect from "effect/Effect"
import { settle, verify } from "x402/facilitator"
import { PaymentPayloadSchema, PaymentRequirementsSchema } from "x402/types"

import type { FacilitatorOptions } from "../RoleOptions.ts"
import * as FacilitatorRoutes from "./FacilitatorRoutes.ts"
import { client } from "./ViemSettler.ts"

/** Runs it as long as the scope. */
export const start = Effect.fnUntraced(function* (options: FacilitatorOptions) {
  const viem = client(options)
  const app = FacilitatorRoutes.make({
    verify: async (body) => {
      const { payload, requirements } = read(body)
      return verify(viem, payload, requirements)
    },
    settle: async (body) => {
      const { payload, requirements } = read(body)
      return settle(viem, payload, requirements)
    },
    supported: () => ({ kinds: [{ x402Version: 1, scheme: "exact", network: BaseSepolia.legacyNetwork }] })
  })
  return { url: yield* listen(createServer(app), options.port) }
})

const read = (body: { readonly paymentPayload: unknown; readonly paymentRequirements: unknown }) => ({
  payload: PaymentPayloadSchema.parse(body.paymentPayload),
  requirements: PaymentRequirementsSchema.parse(body.paymentRequirements)
})
