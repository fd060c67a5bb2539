/**
 * Cryptography by libsecp256k1 in WebAssembly, five times as fast as the JavaScript one and as portable; hashing stays in
 * JavaScript. It needs the package `tiny-secp256k1`. Its entry point is `@pontage/evm/wasm`, so that it is loaded only on
 * request.
 */
import { keccak_256 } from "@noble/hashes/sha3.js"
import type { Misconfigured } from "@pontage/core"
import * as Layer from "effect/Layer"
import { recover, signRecoverable } from "tiny-secp256k1"

import * as CryptoSelfTest from "./CryptoSelfTest.ts"
import * as EvmCrypto from "./EvmCrypto.ts"

/** WebAssembly, not yet self-tested. */
export const wasm: EvmCrypto.Shape = EvmCrypto.make("WebAssembly", {
  keccak256: (bytes) => keccak_256(bytes),
  recover: (digest, signature, recovery) => recover(digest, signature, recovery, false),
  sign: (digest, privateKey) => {
    const { recoveryId, signature } = signRecoverable(digest, privateKey)
    return { signature, recovery: recoveryId }
  }
})

/** Provides it as the cryptography in use, self-tested on known answers. */
export const layer: Layer.Layer<never, Misconfigured> = Layer.effect(EvmCrypto.EvmCrypto, CryptoSelfTest.verify(wasm))
