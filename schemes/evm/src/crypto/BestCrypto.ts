/**
 * The fastest cryptography that works on this machine: the addons, else WebAssembly, else JavaScript. It is for
 * facilitators and has an entry point of its own, `@pontage/evm/crypto`, so that other bundles never look for addons.
 */
import { Misconfigured } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

import * as CryptoSelfTest from "./CryptoSelfTest.ts"
import * as EvmCrypto from "./EvmCrypto.ts"

/** A cryptography that may be missing or compute wrongly: then it fails. */
export type Candidate = Effect.Effect<EvmCrypto.Shape, Misconfigured>

const missing = (what: string) => (cause: unknown) =>
  new Misconfigured({ message: `${what} cannot be loaded here: ${String(cause)}` })

const native: Candidate = Effect.flatMap(
  Effect.tryPromise({ try: () => import("./NativeCrypto.ts"), catch: missing("native cryptography") }),
  ({ make }) => make
)

const wasm: Candidate = Effect.flatMap(
  Effect.tryPromise({ try: () => import("./WasmCrypto.ts"), catch: missing("the package tiny-secp256k1") }),
  ({ wasm }) => CryptoSelfTest.verify(wasm)
)

/**
 * The first candidate that loads and passes its self-test. Logs the choice, and the reason against each candidate before it.
 */
export const choose = ([first, ...others]: readonly [Candidate, ...ReadonlyArray<Candidate>]): Candidate =>
  others
    .reduce(
      (better, next) =>
        Effect.catchTag(better, "Misconfigured", ({ message }) =>
          Effect.andThen(Effect.logInfo(`falling back to slower cryptography: ${message}`), next)
        ),
      first
    )
    .pipe(Effect.tap(({ name }) => Effect.logInfo(`EVM signatures use cryptography by ${name}`)))

/** Addons, else WebAssembly, else JavaScript; `Misconfigured` only where all three fail their self-test. */
export const make: Candidate = choose([native, wasm, CryptoSelfTest.verify(EvmCrypto.javaScript)])

/** Provides the fastest candidate as the cryptography in use. */
export const layer: Layer.Layer<never, Misconfigured> = Layer.effect(EvmCrypto.EvmCrypto, make)
