/**
 * The channel of the vectors, which x402's package has made, and arbitrary channels.
 */
import * as Schema from "effect/Schema"
import * as fc from "fast-check"
import { bytesToHex } from "viem"

import * as EvmAddress from "../../src/primitives/EvmAddress.ts"
import type * as EvmHex from "../../src/primitives/EvmHex.ts"
import type * as ChannelConfig from "../../src/voucher/ChannelConfig.ts"

export const address = Schema.decodeSync(EvmAddress.FromText)

/** A salt's or a nonce's text. */
export const word = (value: number): EvmHex.Hex => `0x${value.toString(16).padStart(64, "0")}`

/** The terms of the vectors: accounts 0 and 1 of the test mnemonic, and USDC on Base. */
export const config: ChannelConfig.ChannelConfig = {
  payer: address("0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"),
  payerAuthorizer: address("0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"),
  receiver: address("0x70997970C51812dc3A010C7d01b50e0d17dc79C8"),
  receiverAuthorizer: address("0x70997970C51812dc3A010C7d01b50e0d17dc79C8"),
  token: address("0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"),
  withdrawDelay: 900,
  salt: word(0)
}

export const addresses = fc
  .uint8Array({ minLength: 20, maxLength: 20 })
  .map((bytes) => EvmAddress.fromTail(bytesToHex(bytes)))
export const words = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => bytesToHex(bytes))
export const amounts = fc.oneof(fc.bigInt(0n, 2n ** 64n), fc.bigInt(0n, 2n ** 128n - 1n))
export const numbers = fc.oneof(fc.bigInt(0n, 2n ** 64n), fc.bigInt(0n, 2n ** 256n - 1n))
export const chainIds = fc.integer({ min: 1, max: 2 ** 40 })

export const configs: fc.Arbitrary<ChannelConfig.ChannelConfig> = fc.record({
  payer: addresses,
  payerAuthorizer: addresses,
  receiver: addresses,
  receiverAuthorizer: addresses,
  token: addresses,
  withdrawDelay: fc.integer({ min: 0, max: 2 ** 40 - 1 }),
  salt: words
})
