/**
 * The facilitator as a measured process: the service over one EVM chain, its questions to the RPC counted.
 */
import { LocalFacilitator } from "@pontage/core"
import { EvmCrypto, exactEvm } from "@pontage/evm"
import * as BestCrypto from "@pontage/evm/crypto"
import * as FacilitatorService from "@pontage/facilitator"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import "effect/schema/SchemaJITCompiler/enable"

import { report } from "./MeasuredProcess.ts"

const [rpcUrl = "", key = ""] = process.argv.slice(2)
const rpc: Record<string, number> = {}
const onRequest = (method: string) => {
  rpc[method] = (rpc[method] ?? 0) + 1
}

const program = Effect.gen(function* () {
  const crypto = yield* BestCrypto.make
  const schemes = [exactEvm.facilitator({ signer: exactEvm.localSigner(key, crypto), rpcUrl, onRequest })]
  const local = LocalFacilitator.layerMemory({ schemes })
  const facilitator = yield* Layer.build(Layer.provide(local, Layer.succeed(EvmCrypto.EvmCrypto, crypto)))
  const { url } = yield* FacilitatorService.serve({ port: 0 }).pipe(Effect.provide(facilitator))
  report(url, rpc)
  return yield* Effect.never
})

await Effect.runPromise(Effect.scoped(program))
