/**
 * The fee that a rollup of the OP Stack takes for the data of a transaction, beside its gas: its contract `GasPriceOracle` has the price.
 * Other chains have none, or count it as gas.
 */
import { keccak_256 } from "@noble/hashes/sha3.js"
import { ChainUnavailable } from "@pontage/core"
import * as Effect from "effect/Effect"

import type * as EvmRpc from "../node/EvmRpc.ts"
import * as AbiEncoding from "../primitives/AbiEncoding.ts"
import * as EvmAddress from "../primitives/EvmAddress.ts"
import * as EvmHex from "../primitives/EvmHex.ts"
import * as OftCalls from "./OftCalls.ts"

/** The fee for a transaction with this calldata, in wei. */
export type DataFee = (data: EvmHex.Hex) => Effect.Effect<bigint, ChainUnavailable>

/** The predeployed oracle of the OP Stack. */
export const oracle = EvmAddress.fromTail("0x420000000000000000000000000000000000000f")

/** Bytes of a transaction beside its calldata: the signature, the fees, the value and the recipient. */
const restBytes = 150

/** Finds out whether the chain has such a fee, and makes the read of it. */
export const make = (rpc: EvmRpc.Shape): Effect.Effect<DataFee, ChainUnavailable> =>
  Effect.map(rpc.getCode(oracle), (code) => (code === "0x" ? () => Effect.succeed(0n) : read(rpc)))

const read =
  (rpc: EvmRpc.Shape): DataFee =>
  (data) => {
    const transaction: EvmHex.Hex = `${data}${sample(restBytes).slice(2)}`
    // getL1Fee(bytes)
    const asked: EvmHex.Hex = `0x49948e0e${AbiEncoding.parameters([AbiEncoding.bytes(transaction)])}`
    return Effect.flatMap(OftCalls.read(rpc, oracle, asked), (word) =>
      word === undefined
        ? Effect.fail(new ChainUnavailable({ network: rpc.network, message: "the fee for data cannot be read" }))
        : Effect.succeed(BigInt(word))
    )
  }

/** Bytes that cannot be compressed: a rollup's fee is for compressed data. */
export const sample = (length: number): EvmHex.Hex => {
  let bytes = ""
  for (let block = 0; bytes.length < 2 * length; block++) {
    bytes += EvmHex.fromBytes(keccak_256(new Uint8Array([block]))).slice(2)
  }
  return `0x${bytes.slice(0, 2 * length)}`
}
