import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import * as fc from "fast-check"

import * as TronHex from "../../src/primitives/TronHex.ts"
import * as TronTransaction from "../../src/transfer/TronTransaction.ts"
import { byTronWeb, transfer, transfersBelow } from "../TronTransfers.ts"

const mutations = 60_000

/** Asserts that bytes that are read are written back unchanged, so that nothing has a second encoding. */
const isCanonical = (raw: Uint8Array): boolean => {
  const decoded = TronTransaction.decodeTransfer(raw)
  return (
    Result.isFailure(decoded) ||
    TronHex.fromBytes(TronTransaction.encodeTransfer(decoded.success)) === TronHex.fromBytes(raw)
  )
}

describe("TronTransaction", () => {
  it("reads its own encoding", () => {
    fc.assert(
      fc.property(transfersBelow(63n), (made) => {
        assert.deepStrictEqual(
          TronTransaction.decodeTransfer(TronTransaction.encodeTransfer(made)),
          Result.succeed(made)
        )
      })
    )
  })

  it("writes as tronweb does", () => {
    fc.assert(
      fc.property(transfersBelow(53n), (made) => {
        const { raw_data_hex, txID, ...json } = TronTransaction.unsignedTransfer(made)
        assert.deepStrictEqual(byTronWeb(json), { txID, raw_data_hex })
      })
    )
  })

  it(`accepts no second encoding among ${mutations} payments with one changed byte, and crashes on none`, () => {
    const raw = TronTransaction.encodeTransfer(transfer)
    let accepted = 0
    const check = (mutated: Uint8Array) => {
      if (!isCanonical(mutated)) assert.fail(`two encodings: ${TronHex.fromBytes(mutated)}`)
      if (Result.isSuccess(TronTransaction.decodeTransfer(mutated))) accepted++
    }
    let count = 0
    for (let at = 0; at < raw.length; at++) {
      for (let byte = 0; byte < 256; byte++, count++) check(raw.with(at, byte))
    }
    for (; count < mutations; count++) {
      const at = count % raw.length
      const inserted = new Uint8Array([...raw.subarray(0, at), count & 255, ...raw.subarray(at)])
      check(count % 2 === 0 ? inserted : new Uint8Array([...raw.subarray(0, at), ...raw.subarray(at + 1)]))
    }
    assert.isAbove(accepted, 1_000)
  })

  it("crashes on no bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 600 }), (bytes) => assert.isTrue(isCanonical(bytes))),
      { numRuns: 2_000 }
    )
  })
})
