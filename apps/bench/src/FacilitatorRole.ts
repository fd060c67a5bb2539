/**
 * The facilitator as a measured process: the service over one EVM chain, its questions to the RPC counted.
 */
import { LocalFacilitator } from "@pontage/core"
import { exactEvm } from "@pontage/evm"
import * as WasmRecovery from "@pontage/evm/wasm"
import * as FacilitatorService from "@pontage/facilitator"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import "effect/schema/SchemaJITCompiler/enable"
import { isHex } from "viem"
import { privateKeyToAccount } from "viem/accounts"

import { report } from "./MeasuredProcess.ts"

const [rpcUrl = "", key = ""] = process.argv.slice(2)
const rpc: Record<string, number> = {}
const onRequest = (method: string) => {
  rpc[method] = (rpc[method] ?? 0) + 1
}

const program = Effect.gen(function* () {
  if (!isHex(key)) return yield* Effect.die(new Error("the signer's key is missing"))
  const schemes = [exactEvm.facilitator({ signer: privateKeyToAccount(key), rpcUrl, onRequest })]
  const facilitator = yield* Layer.build(Layer.provide(LocalFacilitator.layerMemory({ schemes }), WasmRecovery.layer))
  const { url } = yield* FacilitatorService.serve({ port: 0 }).pipe(Effect.provide(facilitator))
  report(url, rpc)
  return yield* Effect.never
})

await Effect.runPromise(Effect.scoped(program))
