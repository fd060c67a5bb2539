/**
 * Self-test of a cryptographic library on known signatures and hashes, before any payment depends on it: a build for
 * another machine, or a broken one, is found at start.
 */
import { Misconfigured } from "@pontage/core"
import * as Effect from "effect/Effect"

import * as EvmHex from "../primitives/EvmHex.ts"
import type * as EvmCrypto from "./EvmCrypto.ts"

const bytes = EvmHex.toBytes
const word = (last: number): Uint8Array => {
  const made = new Uint8Array(32)
  made[31] = last
  return made
}

/** Hashes of the empty input, of `abc` (both from the algorithm's authors), and of 200 bytes of 0xa3, which are two blocks. */
const hashes: ReadonlyArray<readonly [Uint8Array, EvmHex.Hex]> = [
  [new Uint8Array(0), "0xc5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470"],
  [Uint8Array.of(97, 98, 99), "0x4e03657aea45a94fc7d47ba826c8d667c0d1e6e33a64a036ec44f58fa12d6c45"],
  [new Uint8Array(200).fill(0xa3), "0x3a57666b048777f2c953dc4456f45a2588e1cb6f2da760122d530ac2ce607d4a"]
]

/** An authorization for 0.01 USDC on Base Sepolia and the account that signed it, from the x402 specification, version 2. */
const payment = {
  digest: bytes("0xf256992871671abcb27ff92885a7afa46218724e5fc0bac35d050115aa1d22e6"),
  signature: bytes(
    "0x2d6a7588d6acca505cbf0d9a4a227e0c52c6c34008c8e8986a1283259764173608a2ce6496642e377d6da8dbbf5836e9bd15092f9ecab05ded3d6293af148b57"
  ),
  recovery: 1,
  signer: "0x857b06519e91e3a54538791bdbb0e22373e36b66"
}

/** The same signature with s in the upper half of the order; with the other recovery bit it would recover to the same signer. */
const malleated = bytes(
  "0x2d6a7588d6acca505cbf0d9a4a227e0c52c6c34008c8e8986a12832597641736f75d319b699bd1c88292572440a7c914fd99d3b7107defddd294fbf92121b5ea"
)

/** RFC 6979 on secp256k1: the key 1 signs the SHA-256 of "Satoshi Nakamoto". */
const signing = {
  digest: bytes("0xa0dc65ffca799873cbea0ac274015b9526505daaaed385155425f7337704883e"),
  signature:
    "0x934b1ea10a4b3c1757e2b0c017d0b6143ce3c9a7e6a4a49860d7a6ab210ee3d82442ce9d2b916064108014783e923ec36b49743e2ffa1c4496f01a512aafd9e5"
}

const failure = (crypto: EvmCrypto.Shape): string | undefined => {
  if (hashes.some(([input, hash]) => EvmHex.fromBytes(crypto.keccak256(input)) !== hash)) return "hash"
  const { digest, recovery, signature, signer } = payment
  const key = crypto.recoverPublicKey(digest, signature, recovery)
  if (key === undefined || !EvmHex.fromBytes(crypto.keccak256(key.subarray(1))).endsWith(signer.slice(2)))
    return "recover"
  const forged = [0, 1].map((bit) => crypto.recoverPublicKey(digest, malleated, bit))
  if (forged.some((found) => found !== undefined)) return "refuse a malleated signature"
  const signed = crypto.sign(signing.digest, word(1))
  if (signed === undefined || EvmHex.fromBytes(signed.subarray(0, 64)) !== signing.signature) return "sign"
  const own = crypto.recoverPublicKey(signing.digest, signed.subarray(0, 64), signed[64] ?? 255)
  return own === undefined || !EvmHex.fromBytes(own).startsWith(generator) ? "recover what it signed" : undefined
}

/** The key 1's public key begins with 4 and the generator's x. */
const generator = "0x0479be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"

/**
 * The given cryptography, if it passes; else `Misconfigured`, whose message names the failed operation.
 */
export const verify = (crypto: EvmCrypto.Shape): Effect.Effect<EvmCrypto.Shape, Misconfigured> =>
  Effect.try({ try: () => failure(crypto), catch: (cause) => wrong(crypto, `throws: ${String(cause)}`) }).pipe(
    Effect.flatMap((what) =>
      what === undefined ? Effect.succeed(crypto) : Effect.fail(wrong(crypto, `does not ${what}`))
    )
  )

const wrong = ({ name }: EvmCrypto.Shape, what: string) =>
  new Misconfigured({ message: `the self-test of the cryptography by ${name} failed: it ${what}` })
