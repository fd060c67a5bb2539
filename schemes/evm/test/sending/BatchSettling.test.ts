import { assert, describe, it } from "@effect/vitest"
import { encodeFunctionData, getContractAddress, parseAbi } from "viem"

import { BatchSettler } from "../../src/artifacts/BatchSettler.ts"
import { TransferProbe } from "../../src/artifacts/TransferProbe.ts"
import { batchSettlerAddress } from "../../src/index.ts"
import * as EvmAddress from "../../src/primitives/EvmAddress.ts"
import * as BatchSettling from "../../src/sending/BatchSettling.ts"
import * as PackedTransfers from "../../src/transfer/PackedTransfers.ts"
import * as TransferProbing from "../../src/transfer/TransferProbing.ts"

const settler = EvmAddress.fromTail(`0x${"9".repeat(40)}`)

const transfer = (index: number): PackedTransfers.PlainTransfer => ({
  token: EvmAddress.fromTail(`0x${(index % 2 === 0 ? "a" : "b").repeat(40)}`),
  authorization: {
    from: EvmAddress.fromTail(`0x${"c".repeat(40)}`),
    to: EvmAddress.fromTail(`0x${"d".repeat(40)}`),
    value: 2n ** 96n - 1n,
    validAfter: 2n ** 40n - 1n,
    validBefore: 2n ** 40n - 1n,
    nonce: `0x${"e".repeat(64)}`
  },
  signature: `0x${"11".repeat(64)}1b`
})

const many = Array.from({ length: PackedTransfers.maximumEntries }, (_, index) => transfer(index))

describe("BatchSettling", () => {
  it("calls settle(bytes) of the settler", () => {
    const { data, to } = BatchSettling.toCall(settler, many.slice(0, 3))
    const { runs } = PackedTransfers.pack(many.slice(0, 3))
    const abi = parseAbi(["function settle(bytes runs)"])
    assert.strictEqual(data, encodeFunctionData({ abi, functionName: "settle", args: [runs] }))
    assert.strictEqual(to, settler)
  })

  it("stays below the gas that one transaction may use, however many there are and however dear their bytes", () => {
    assert.isBelow(Number(BatchSettling.toCall(settler, many).gas), 16_777_216)
  })

  it("knows its address, which is the same on every chain", () => {
    const address = getContractAddress({
      opcode: "CREATE2",
      from: "0x4e59b44847b379578588920cA78FbF26c0B4956C",
      salt: `0x${"0".repeat(64)}`,
      bytecode: BatchSettler.bytecode
    })
    assert.strictEqual(batchSettlerAddress, address)
  })

  it("is made of code that no node takes for too long", () => {
    assert.isBelow(BatchSettler.runtime.length / 2, 24_576)
    const { data } = TransferProbing.toCall(many)
    assert.isTrue(data.startsWith(TransferProbe.bytecode))
    assert.isBelow(data.length / 2, 49_152)
  })
})
