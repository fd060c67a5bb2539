/**
 * Our facilitator: the service over one EVM chain, with its records in memory.
 */
import { LocalFacilitator } from "@pontage/core"
import { EvmCrypto, exactEvm } from "@pontage/evm"
import * as BestCrypto from "@pontage/evm/crypto"
import * as FacilitatorService from "@pontage/facilitator"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"

import type { FacilitatorOptions } from "../RoleOptions.ts"

/** Settings of the scheme beyond the defaults. */
export type More = Omit<Partial<Parameters<typeof exactEvm.facilitator>[0]>, "signer" | "rpcUrl">

/** Runs it as long as the scope. */
export const start = Effect.fnUntraced(function* (
  { key, port = 0, rpcUrl }: FacilitatorOptions,
  more: More = {},
  service: FacilitatorService.Options = {}
) {
  // The output is the table, so the choice of cryptography is not logged.
  const crypto = yield* Effect.provide(BestCrypto.make, Logger.layer([]))
  const schemes = [exactEvm.facilitator({ signer: exactEvm.localSigner(key, crypto), rpcUrl, ...more })]
  const local = LocalFacilitator.layerMemory({ schemes })
  const facilitator = yield* Layer.build(Layer.provide(local, Layer.succeed(EvmCrypto.EvmCrypto, crypto)))
  const { url } = yield* FacilitatorService.serve({ port, stopTimeoutMillis: 1, ...service }).pipe(
    Effect.provide(facilitator)
  )
  return { url }
})
