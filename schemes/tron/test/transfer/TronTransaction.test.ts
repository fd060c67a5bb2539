import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import { TronWeb } from "tronweb"

import * as TronHex from "../../src/primitives/TronHex.ts"
import * as StrictProtobuf from "../../src/transfer/StrictProtobuf.ts"
import * as TronTransaction from "../../src/transfer/TronTransaction.ts"
import { byTronWeb, transfer } from "../TronTransfers.ts"

type Entries = ReadonlyArray<readonly [number, bigint | Uint8Array]>

const bytes = TronHex.toBytes
const text = (words: string) => new TextEncoder().encode(words)
const sorted = (entries: Entries): Entries => entries.toSorted(([a], [b]) => a - b)
/** The fields of a message with some replaced or added; zero fields are left out. */
const changed = (entries: Entries, changes: Entries): Uint8Array =>
  StrictProtobuf.encode(
    sorted([...entries.filter(([number]) => !changes.some(([changing]) => changing === number)), ...changes])
  )

const callData = TronTransaction.transferCallData(transfer.to, transfer.amount)
const call: Entries = [
  [1, bytes(transfer.owner)],
  [2, bytes(transfer.token)],
  [4, bytes(callData)]
]
const typeUrl = "type.googleapis.com/protocol.TriggerSmartContract"
const contractOf = (changes: { call?: Entries; any?: Entries; contract?: Entries }): Uint8Array => {
  const any = changed(
    [
      [1, text(typeUrl)],
      [2, changed(call, changes.call ?? [])]
    ],
    changes.any ?? []
  )
  return changed(
    [
      [1, 31n],
      [2, any]
    ],
    changes.contract ?? []
  )
}
const rawOf = (changes: { call?: Entries; any?: Entries; contract?: Entries; raw?: Entries } = {}): Uint8Array =>
  changed(
    [
      [1, bytes(transfer.refBlockBytes)],
      [4, bytes(transfer.refBlockHash)],
      [8, transfer.expiration],
      [11, contractOf(changes)],
      [14, transfer.timestamp],
      [18, transfer.feeLimit]
    ],
    changes.raw ?? []
  )

const verdict = (raw: Uint8Array): string => {
  const decoded = TronTransaction.decodeTransfer(raw)
  return Result.isSuccess(decoded) ? "a payment" : decoded.failure.detail
}

/** A transaction that `transactionBuilder.triggerSmartContract` of tronweb 6.5.1 built without a node. */
const written = {
  txID: "73ce52d37ab1f5af2b2829343e1b15265d30f5a42f0193728ed624528686fff2",
  raw_data_hex:
    "0a02f80722088f3c0a1be2d4c5994080bb9ee79f345aae01081f12a9010a31747970652e676f6f676c65617069732e636f6d2f70726f746f636f" +
    "6c2e54726967676572536d617274436f6e747261637412740a15417e5f4552091a69125d5dfcb7b8c2659029395bdf121541a614f803b6fd7809" +
    "86a42c78ec9c7f77e6ded13c2244a9059cbb0000000000000000000000002b5ad5c4795c026514f8317c7a215e218dccd6cf0000000000000000" +
    "00000000000000000000000000000000000000000016e36070868a9098a02090018087a70e"
}

const owner20 = transfer.owner.slice(2)

/** Fields that a payment may not have, in otherwise valid bytes. */
const refused: Readonly<Record<string, readonly [string, Uint8Array]>> = {
  "a memo": ["raw_data", rawOf({ raw: [[10, text("thanks")]] })],
  "a reference block by its whole number": ["raw_data", rawOf({ raw: [[3, 71_234_567n]] })],
  authorities: ["raw_data", rawOf({ raw: [[9, text("x")]] })],
  scripts: ["raw_data", rawOf({ raw: [[12, text("x")]] })],
  "an unknown field": ["raw_data", rawOf({ raw: [[20, 1n]] })],
  "no contract": ["contract", rawOf({ raw: [[11, 0n]] })],
  "no reference block": ["reference_block", rawOf({ raw: [[1, 0n]] })],
  "a reference block of three bytes": ["reference_block", rawOf({ raw: [[1, bytes("00f807")]] })],
  "a short hash of the reference block": ["reference_block", rawOf({ raw: [[4, bytes("8f3c0a1be2d4c5")]] })],
  "another permission": ["contract", rawOf({ contract: [[5, 2n]] })],
  "a provider": ["contract", rawOf({ contract: [[3, text("x")]] })],
  "a contract's name": ["contract", rawOf({ contract: [[4, text("x")]] })],
  "a transfer of TRX": ["contract", rawOf({ contract: [[1, 1n]] })],
  "another type URL": ["contract", rawOf({ any: [[1, text("type.googleapis.com/protocol.TransferContract")]] })],
  "no parameter": ["contract", rawOf({ contract: [[2, 0n]] })],
  "a call value": ["contract", rawOf({ call: [[3, 1n]] })],
  "a token value": ["contract", rawOf({ call: [[5, 1n]] })],
  "a token id": ["contract", rawOf({ call: [[6, 1_000_001n]] })],
  "an owner of 20 bytes": ["addresses", rawOf({ call: [[1, bytes(owner20)]] })],
  "an owner of another kind of address": ["addresses", rawOf({ call: [[1, bytes(`a0${owner20}`)]] })],
  "a contract of another kind of address": ["addresses", rawOf({ call: [[2, bytes(`a0${owner20}`)]] })],
  "no contract address": ["addresses", rawOf({ call: [[2, 0n]] })],
  "an approval": ["call_data", rawOf({ call: [[4, bytes(`095ea7b3${callData.slice(8)}`)]] })],
  "appended call data": ["call_data", rawOf({ call: [[4, bytes(`${callData}00`)]] })],
  "cut call data": ["call_data", rawOf({ call: [[4, bytes(callData.slice(0, -2))]] })],
  "no call data": ["call_data", rawOf({ call: [[4, 0n]] })],
  "a recipient with bytes before it": ["call_data", rawOf({ call: [[4, bytes(callData.replace("00", "01"))]] })],
  "a recipient that keeps its 0x41": [
    "call_data",
    rawOf({ call: [[4, bytes(`${callData.slice(0, 30)}41${callData.slice(32)}`)]] })
  ],
  "more bytes than the maximum": ["raw_data", new Uint8Array(TronTransaction.maximumBytes + 1)],
  nothing: ["contract", new Uint8Array(0)]
}

describe("TronTransaction", () => {
  it("reads and writes a transfer as tronweb does", () => {
    const unsigned = TronTransaction.unsignedTransfer(transfer)
    assert.strictEqual(unsigned.raw_data_hex, written.raw_data_hex)
    assert.strictEqual(unsigned.txID, written.txID)
    assert.deepStrictEqual(byTronWeb(unsigned), { txID: unsigned.txID, raw_data_hex: unsigned.raw_data_hex })
    assert.deepStrictEqual(TronTransaction.decodeTransfer(bytes(unsigned.raw_data_hex)), Result.succeed(transfer))
  })

  it("reads a transaction of tronweb's builder", async () => {
    const tronWeb = new TronWeb({ fullHost: "http://127.0.0.1:1" })
    const { transaction } = await tronWeb.transactionBuilder.triggerSmartContract(
      TronWeb.address.fromHex(transfer.token),
      "transfer(address,uint256)",
      {
        txLocal: true,
        feeLimit: Number(transfer.feeLimit),
        blockHeader: {
          ref_block_bytes: transfer.refBlockBytes,
          ref_block_hash: transfer.refBlockHash,
          expiration: Number(transfer.expiration),
          timestamp: Number(transfer.timestamp)
        }
      },
      [
        { type: "address", value: TronWeb.address.fromHex(transfer.to) },
        { type: "uint256", value: `${transfer.amount}` }
      ],
      TronWeb.address.fromHex(transfer.owner)
    )
    assert.deepStrictEqual(TronTransaction.decodeTransfer(bytes(transaction.raw_data_hex)), Result.succeed(transfer))
    assert.strictEqual(TronTransaction.id(bytes(transaction.raw_data_hex)), transaction.txID)
    assert.deepStrictEqual(TronTransaction.unsignedTransfer(transfer).raw_data_hex, transaction.raw_data_hex)
  })

  it("accepts a valid payment built by hand, so that each refusal below has the named reason", () => {
    assert.strictEqual(verdict(rawOf()), "a payment")
    assert.strictEqual(verdict(rawOf({ raw: [[14, 0n]] })), "a payment")
  })

  for (const [name, [detail, raw]] of Object.entries(refused)) {
    it(`refuses ${name}`, () => assert.strictEqual(verdict(raw), detail))
  }

  it("wraps raw data and signature unchanged", () => {
    const raw = TronHex.fromBytes(rawOf())
    const signature = "ab".repeat(64).concat("1b")
    const signed = TronTransaction.signed(raw, signature)
    assert.strictEqual(signed, `0a${varint(raw.length / 2)}${raw}1241${signature}`)
    assert.strictEqual(TronHex.fromBytes(TronTransaction.rawInside(signed) ?? new Uint8Array(0)), raw)
    for (const other of ["", "zz", "0a02", signed.toUpperCase(), `${signed}00`]) {
      const inside = TronTransaction.rawInside(other)
      assert.isTrue(inside === undefined || inside.length === 0, other)
    }
  })
})

const varint = (value: number): string => TronHex.fromBytes(Uint8Array.of((value & 127) | 128, value >> 7))
