/** Transfers for tests: every edge of a number's encoding, and tronweb's encoding of them. */
import * as fc from "fast-check"
import { TronWeb, utils } from "tronweb"

import * as TronAddress from "../src/primitives/TronAddress.ts"
import * as TronHex from "../src/primitives/TronHex.ts"
import type * as TronTransaction from "../src/transfer/TronTransaction.ts"

const bits = (count: bigint, least = 1n) =>
  fc.oneof(
    fc.constantFrom(...[1n, 127n, 128n, 255n, 256n, 2n ** count - 1n].filter((edge) => edge >= least)),
    fc.bigInt(least, 2n ** count - 1n)
  )

const hex = (length: number) => fc.uint8Array({ minLength: length, maxLength: length }).map(TronHex.fromBytes)
const addresses = hex(20).map(TronAddress.fromTail)

/** Transfers with numbers below 2 to this power: 63 for the chain, 53 for tronweb, which uses JavaScript numbers. */
export const transfersBelow = (power: bigint): fc.Arbitrary<TronTransaction.TokenTransfer> =>
  fc.record({
    owner: addresses,
    token: addresses,
    to: addresses,
    amount: fc.oneof(fc.constant(0n), bits(256n)),
    feeLimit: bits(power),
    expiration: bits(power),
    timestamp: bits(power),
    refBlockBytes: hex(2),
    refBlockHash: hex(8)
  })

/** A transfer without a zero number. */
export const transfer: TronTransaction.TokenTransfer = {
  owner: TronAddress.fromTail("7e5f4552091a69125d5dfcb7b8c2659029395bdf"),
  token: TronAddress.fromText("TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t") ?? TronAddress.fromTail("0".repeat(40)),
  to: TronAddress.fromTail("2b5ad5c4795c026514f8317c7a215e218dccd6cf"),
  amount: 1_500_000n,
  feeLimit: 30_000_000n,
  expiration: 1_795_244_400_000n,
  timestamp: 0x0102_0304_0506n,
  refBlockBytes: "f807",
  refBlockHash: "8f3c0a1be2d4c599"
}

/** The raw data of an unsigned transaction as tronweb writes it, from the JSON form alone. */
export const byTronWeb = (unsigned: object): { readonly txID: string; readonly raw_data_hex: string } => {
  const bytes = utils.transaction.txJsonToPb(unsigned)
  return {
    txID: utils.transaction.txPbToTxID(bytes).replace(/^0x/, ""),
    raw_data_hex: utils.transaction.txPbToRawDataHex(bytes).toLowerCase()
  }
}

/** A tronweb without a node. */
export const tronWebOf = (privateKey: string): TronWeb => new TronWeb({ fullHost: "http://127.0.0.1:1", privateKey })
