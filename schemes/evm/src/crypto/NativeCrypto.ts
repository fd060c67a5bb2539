/**
 * Cryptography by libsecp256k1 as a Node addon, twenty times as fast as the JavaScript one. It needs the package `secp256k1`,
 * and hashes natively too where `keccak` is installed. Both packages bring addons for common machines; elsewhere they
 * silently fall back to slow JavaScript, so this module loads the addons by name or not at all. Its entry point is
 * `@pontage/evm/native`, so that it is loaded only on request.
 */
import { createRequire } from "node:module"

import { Misconfigured } from "@pontage/core"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"

import * as CryptoSelfTest from "./CryptoSelfTest.ts"
import * as EvmCrypto from "./EvmCrypto.ts"

/** The functions in use of `secp256k1`. Both throw instead of returning no result. */
interface Secp256k1 {
  readonly ecdsaRecover: (signature: Uint8Array, recovery: 0 | 1, digest: Uint8Array, compressed: false) => Uint8Array
  readonly ecdsaSign: (
    digest: Uint8Array,
    privateKey: Uint8Array
  ) => { readonly signature: Uint8Array; readonly recid: number }
}

/** The sponge inside a hash of `keccak`. */
interface Sponge {
  readonly initialize: (rate: number, capacity: number) => void
  readonly absorb: (bytes: Uint8Array) => void
  readonly absorbLastFewBits: (bits: number) => void
  readonly squeeze: (length: number) => Uint8Array
}

const has =
  (...methods: ReadonlyArray<string>) =>
  (value: unknown): boolean =>
    typeof value === "object" &&
    value !== null &&
    methods.every((name) => typeof Reflect.get(value, name) === "function")

const isSecp256k1 = (value: unknown): value is Secp256k1 => has("ecdsaRecover", "ecdsaSign")(value)
const isSponge = (value: unknown): value is Sponge => has("initialize", "absorb", "absorbLastFewBits", "squeeze")(value)
const isCreateHash = (value: unknown): value is (algorithm: "keccak256") => unknown => typeof value === "function"

const decodeSecp256k1 = Schema.decodeUnknownSync(Schema.declare(isSecp256k1))
const decodeCreateHash = Schema.decodeUnknownSync(Schema.declare(isCreateHash))
const decodeHash = Schema.decodeUnknownSync(Schema.Struct({ _state: Schema.declare(isSponge) }))

/** Loads a module by its name; throws where it is missing. */
type Load = (name: string) => unknown

/** The sponge's rate and capacity in bits, and Keccak's padding bit: together they make it Keccak-256. */
const [rate, capacity, padding] = [1088, 512, 1]

const hashWith =
  (sponge: Sponge): EvmCrypto.Keccak256 =>
  (bytes) => {
    sponge.initialize(rate, capacity)
    sponge.absorb(bytes)
    sponge.absorbLastFewBits(padding)
    return new Uint8Array(sponge.squeeze(32))
  }

/**
 * The package's own interface makes a stream for every hash, which costs more than hashing in JavaScript; so this drives
 * the sponge inside one of them directly. The self-test covers it.
 */
const loadKeccak = (load: Load): EvmCrypto.Keccak256 =>
  hashWith(decodeHash(decodeCreateHash(load("keccak/bindings.js"))("keccak256"))._state)

const loadSecp256k1 = (load: Load): Pick<EvmCrypto.Primitives, "recover" | "sign"> => {
  const { ecdsaRecover, ecdsaSign } = decodeSecp256k1(load("secp256k1/bindings.js"))
  return {
    recover: (digest, signature, recovery) => ecdsaRecover(signature, recovery, digest, false),
    sign: (digest, privateKey) => {
      const { recid, signature } = ecdsaSign(digest, privateKey)
      return { signature, recovery: recid }
    }
  }
}

const loaded = <A>(name: string, from: () => A): Effect.Effect<A, Misconfigured> =>
  Effect.try({
    try: from,
    catch: (cause) =>
      new Misconfigured({ message: `the addon of the package ${name} cannot be used here: ${String(cause)}` })
  })

const tested = (name: string, primitives: EvmCrypto.Primitives) =>
  CryptoSelfTest.verify(EvmCrypto.make(name, primitives))

/**
 * The addons from a loader (of `secp256k1/bindings.js`, `keccak/bindings.js`), for programs that keep them in another
 * place. Self-tested and failing as {@link make}.
 */
export const fromLoader = (load: (name: string) => unknown): Effect.Effect<EvmCrypto.Shape, Misconfigured> =>
  Effect.flatMap(
    loaded("secp256k1", () => loadSecp256k1(load)),
    (curve) =>
      loaded("keccak", () => loadKeccak(load)).pipe(
        Effect.flatMap((keccak256) => tested("native secp256k1 and Keccak", { ...curve, keccak256 })),
        Effect.catchTag("Misconfigured", () =>
          tested("native secp256k1", { ...curve, keccak256: EvmCrypto.javaScript.keccak256 })
        )
      )
  )

/**
 * The addons, self-tested on known answers; `Misconfigured` where the one of secp256k1 is missing or wrong. Where only the
 * one of Keccak is, hashing stays in JavaScript.
 */
export const make: Effect.Effect<EvmCrypto.Shape, Misconfigured> = /* @__PURE__ */ fromLoader(
  createRequire(import.meta.url)
)

/** Provides the addons as the cryptography in use. */
export const layer: Layer.Layer<never, Misconfigured> = Layer.effect(EvmCrypto.EvmCrypto, make)
