/**
 * Authorizations as typed data: one with a wallet's signature, and arbitrary ones.
 */
import * as Schema from "effect/Schema"
import * as fc from "fast-check"
import { bytesToHex } from "viem"
import { mnemonicToAccount } from "viem/accounts"

import * as EvmAddress from "../src/primitives/EvmAddress.ts"
import { EvmTestAccounts } from "../src/testing/index.ts"
import * as Eip3009 from "../src/transfer/Eip3009.ts"

const address = Schema.decodeSync(EvmAddress.FromText)
/** The account that signed {@link arbitrum}. */
export const known = mnemonicToAccount(EvmTestAccounts.mnemonic)

/** Signed by a wallet that hashes for itself. */
export const arbitrum = {
  data: Eip3009.typedData(
    {
      name: "USD₮0",
      version: "1",
      chainId: 42_161,
      verifyingContract: address("0xFd086bC7CD5C481DCC9C85ebE478A1C0b69FCbb9")
    },
    {
      from: address(known.address),
      to: address("0x70997970C51812dc3A010C7d01b50e0d17dc79C8"),
      value: 10_000n,
      validAfter: 0n,
      validBefore: 1_740_672_154n,
      nonce: "0xf3746613c2d920b5fdabc0856f2aeb2d4f88ee6037b8cc5d04a71a4462f13480"
    }
  ),
  signature:
    "0xf844ae322b054712da5c89f147327721e7a789bc1f9f447689d05a8c4731348a0655690883dc6b85e2e6114ad5f4d3f526bcdd80e3d0f78dcb444a38b44e30c71c"
}

const addresses = fc.uint8Array({ minLength: 20, maxLength: 20 }).map((bytes) => EvmAddress.fromTail(bytesToHex(bytes)))
const numbers = fc.oneof(fc.bigInt(0n, 2n ** 64n), fc.bigInt(0n, 2n ** 256n - 1n))
/** Any authorization under any domain. */
export const typedData = fc
  .tuple(
    fc.record({
      name: fc.string({ unit: "binary" }),
      version: fc.string({ minLength: 1 }),
      chainId: fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
      verifyingContract: addresses
    }),
    fc.record({
      from: addresses,
      to: addresses,
      value: numbers,
      validAfter: numbers,
      validBefore: numbers,
      nonce: fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => bytesToHex(bytes))
    })
  )
  .map(([domain, message]) => Eip3009.typedData(domain, message))
