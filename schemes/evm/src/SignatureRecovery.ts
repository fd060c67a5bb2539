/**
 * Who made an ECDSA signature: the one expensive step of verifying a payment, so it can be replaced. The default is pure
 * JavaScript and runs everywhere; a native secp256k1 is an order of magnitude faster.
 */
import { secp256k1 } from "@noble/curves/secp256k1.js"
import * as Context from "effect/Context"

/**
 * Recovers the public key of a signature over a 32-byte digest.
 *
 * @category models
 */
export interface RecoverPublicKey {
  /**
   * `signature` is r and s, 64 bytes; `recovery` says which of two points. Answers the uncompressed key, 65 bytes beginning
   * with 4, or `undefined` where there is none.
   */
  (digest: Uint8Array, signature: Uint8Array, recovery: 0 | 1): Uint8Array | undefined
}

/**
 * Recovery in pure JavaScript.
 *
 * @category constructors
 */
export const fromJavaScript: RecoverPublicKey = (digest, signature, recovery) => {
  try {
    return secp256k1.Signature.fromBytes(signature).addRecoveryBit(recovery).recoverPublicKey(digest).toBytes(false)
  } catch {
    return undefined
  }
}

/**
 * The recovery in use. Provide another to make verification faster.
 *
 * @category services
 */
export class SignatureRecovery extends Context.Reference<RecoverPublicKey>("@pontage/evm/SignatureRecovery", {
  defaultValue: () => fromJavaScript
}) {}
