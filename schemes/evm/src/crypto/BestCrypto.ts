/**
 * The fastest cryptography that this machine has: the addons, else WebAssembly, else JavaScript. For facilitators; imported
 * from `@pontage/evm/crypto`, so that bundles without them never look for addons.
 */
import { Misconfigured } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

import * as CryptoSelfTest from "./CryptoSelfTest.ts"
import * as EvmCrypto from "./EvmCrypto.ts"

/** One that may turn out not to be there, or to be wrong. */
export type Candidate = Effect.Effect<EvmCrypto.Shape, Misconfigured>

const missing = (what: string) => (cause: unknown) =>
  new Misconfigured({ message: `${what} cannot be loaded here: ${String(cause)}` })

const native: Candidate = Effect.flatMap(
  Effect.tryPromise({ try: () => import("./NativeCrypto.ts"), catch: missing("native cryptography") }),
  ({ make }) => make
)

const wasm: Candidate = Effect.flatMap(
  Effect.tryPromise({ try: () => import("./WasmCrypto.ts"), catch: missing("the package tiny-secp256k1") }),
  ({ wasm }) => CryptoSelfTest.prove(wasm)
)

/**
 * The first candidate that is there and computes what it should. Says which one it is, and what was wrong with those before
 * it.
 */
export const choose = ([first, ...others]: readonly [Candidate, ...ReadonlyArray<Candidate>]): Candidate =>
  others
    .reduce(
      (better, next) =>
        Effect.catchTag(better, "Misconfigured", ({ message }) =>
          Effect.andThen(Effect.logInfo(`slower cryptography is tried: ${message}`), next)
        ),
      first
    )
    .pipe(Effect.tap(({ name }) => Effect.logInfo(`EVM signatures are recovered and made by ${name}`)))

/** Addons, else WebAssembly, else JavaScript; `Misconfigured` only where not even that computes what it should. */
export const make: Candidate = choose([native, wasm, CryptoSelfTest.prove(EvmCrypto.javaScript)])

/** Makes the fastest one the cryptography in use. */
export const layer: Layer.Layer<never, Misconfigured> = Layer.effect(EvmCrypto.EvmCrypto, make)
