/**
 * Signature recovery by libsecp256k1 in WebAssembly, five times as fast as the JavaScript one and as portable. It needs the
 * package `tiny-secp256k1` beside this one, and is imported from `@pontage/evm/wasm` so that nobody loads it unasked.
 */
import * as Layer from "effect/Layer"
import { recover } from "tiny-secp256k1"

import { type RecoverPublicKey, SignatureRecovery } from "./SignatureRecovery.ts"

/**
 * Recovery by WebAssembly.
 *
 * @category constructors
 */
export const fromWasm: RecoverPublicKey = (digest, signature, recovery) => {
  try {
    return recover(digest, signature, recovery, false) ?? undefined
  } catch {
    return undefined
  }
}

/**
 * Makes it the recovery in use.
 *
 * @category layers
 */
export const layer: Layer.Layer<never> = Layer.succeed(SignatureRecovery, fromWasm)
