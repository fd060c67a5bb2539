/**
 * The cryptographies that are measured against each other: those that this machine has.
 */
import { EvmCrypto } from "@pontage/evm"
import * as NativeCrypto from "@pontage/evm/native"
import * as WasmCrypto from "@pontage/evm/wasm"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"

/** One of them, and how many offline verifications it is meant to do in a second of CPU. */
export interface Measured {
  readonly crypto: EvmCrypto.Shape
  readonly target: number
}

/** Fastest first. */
export const all: Effect.Effect<ReadonlyArray<Measured>> = Effect.map(Effect.option(NativeCrypto.make), (native) => [
  ...Option.toArray(native).map((crypto) => ({ crypto, target: 12_000 })),
  { crypto: WasmCrypto.wasm, target: 3_000 },
  { crypto: EvmCrypto.javaScript, target: 500 }
])
