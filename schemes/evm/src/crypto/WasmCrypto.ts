/**
 * Cryptography by libsecp256k1 in WebAssembly, five times as fast as the JavaScript one and as portable; hashing stays in
 * JavaScript. It needs the package `tiny-secp256k1` beside this one, and is imported from `@pontage/evm/wasm` so that nobody
 * loads it unasked.
 */
import { keccak_256 } from "@noble/hashes/sha3.js"
import type { Misconfigured } from "@pontage/core"
import * as Layer from "effect/Layer"
import { recover, signRecoverable } from "tiny-secp256k1"

import * as CryptoSelfTest from "./CryptoSelfTest.ts"
import * as EvmCrypto from "./EvmCrypto.ts"

/** WebAssembly, not proven yet. */
export const wasm: EvmCrypto.Shape = EvmCrypto.make("WebAssembly", {
  keccak256: (bytes) => keccak_256(bytes),
  recover: (digest, signature, recovery) => recover(digest, signature, recovery, false),
  sign: (digest, privateKey) => {
    const { recoveryId, signature } = signRecoverable(digest, privateKey)
    return { signature, recovery: recoveryId }
  }
})

/** Makes it the cryptography in use, proven on known answers. */
export const layer: Layer.Layer<never, Misconfigured> = Layer.effect(EvmCrypto.EvmCrypto, CryptoSelfTest.prove(wasm))
