import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as fc from "fast-check"
import { TronWeb, utils } from "tronweb"

import type { MessageMalformed } from "../../../src/testing/messages/TronMessage.ts"
import * as NodeTransaction from "../../../src/testing/node/NodeTransaction.ts"
import * as TronTestAccounts from "../../../src/testing/TronTestAccounts.ts"

const address = fc
  .uint8Array({ minLength: 20, maxLength: 20 })
  .map((bytes) => `41${Buffer.from(bytes).toString("hex")}`)
const hex = (minLength: number, maxLength: number) =>
  fc.uint8Array({ minLength, maxLength }).map((bytes) => Buffer.from(bytes).toString("hex"))
const sun = fc.integer({ min: 1, max: 2 ** 52 })

const contracts = fc.oneof(
  fc.record({
    type: fc.constant("TriggerSmartContract"),
    value: fc.record({ owner_address: address, contract_address: address, data: hex(1, 200) })
  }),
  fc.record({
    type: fc.constant("TransferContract"),
    value: fc.record({ owner_address: address, to_address: address, amount: sun })
  }),
  fc.record({
    type: fc.constant("DelegateResourceContract"),
    value: fc.record({
      owner_address: address,
      receiver_address: address,
      balance: sun,
      resource: fc.constant("ENERGY")
    })
  })
)

const transactions = fc.record({
  contract: contracts,
  ref_block_bytes: hex(2, 2),
  ref_block_hash: hex(8, 8),
  expiration: sun,
  timestamp: sun,
  fee_limit: sun
})

/** A transaction as tronweb's protocol buffers write it. */
const written = ({ contract, ...raw }: typeof transactions extends fc.Arbitrary<infer A> ? A : never) => {
  const { type, value } = contract
  const type_url = `type.googleapis.com/protocol.${type}`
  const json = { visible: false, raw_data: { ...raw, contract: [{ type, parameter: { value, type_url } }] } }
  const pb = utils.transaction.txJsonToPb(json)
  return {
    json,
    id: utils.transaction.txPbToTxID(pb).replace(/^0x/, ""),
    rawHex: utils.transaction.txPbToRawDataHex(pb).toLowerCase()
  }
}

const wrapped = (rawHex: string) => {
  const size = rawHex.length / 2
  const length = size < 128 ? [size] : [(size & 127) | 128, size >> 7]
  return `0a${Buffer.from(length).toString("hex")}${rawHex}`
}

const endingOf = (reading: Effect.Effect<unknown, MessageMalformed>): "read" | "refused" | "crashed" => {
  const exit = Effect.runSyncExit(reading)
  if (exit._tag === "Success") return "read"
  return exit.cause.reasons.every(({ _tag }) => _tag === "Fail") ? "refused" : "crashed"
}

describe("a transaction", () => {
  it("is read from bytes and from JSON as tronweb writes them", () => {
    fc.assert(
      fc.property(transactions, (given) => {
        const { id, json, rawHex } = written(given)
        const fromBytes = Effect.runSync(NodeTransaction.fromHex(wrapped(rawHex)))
        const fromJson = Effect.runSync(NodeTransaction.fromJson(json))
        for (const read of [fromBytes, fromJson]) {
          assert.strictEqual(read.id, id)
          assert.strictEqual(read.rawHex, rawHex)
          assert.strictEqual(read.contract?._tag, given.contract.type)
          assert.strictEqual(read.contract?.owner_address, given.contract.value.owner_address)
        }
        const shown: unknown = JSON.parse(
          JSON.stringify(NodeTransaction.toJson(fromBytes, false), (_, value: unknown) =>
            typeof value === "bigint" ? Number(value) : value
          )
        )
        assert.deepInclude(shown as object, { raw_data: json.raw_data, txID: id, raw_data_hex: rawHex })
      })
    )
  })

  it("keeps unknown fields, so that its id is that of its bytes", () => {
    fc.assert(
      fc.property(transactions, hex(1, 8), (given, content) => {
        const { rawHex } = written(given)
        const extended = `${rawHex}fa01${Buffer.from([content.length / 2]).toString("hex")}${content}`
        const read = Effect.runSync(NodeTransaction.fromHex(wrapped(extended)))
        assert.strictEqual(read.rawHex, extended)
      })
    )
  })

  it("of any bytes is read or refused without a crash", () => {
    const { rawHex } = written({
      contract: {
        type: "TransferContract",
        value: { owner_address: `41${"00".repeat(20)}`, to_address: `41${"11".repeat(20)}`, amount: 5 }
      },
      ref_block_bytes: "0001",
      ref_block_hash: "00".repeat(8),
      expiration: 1,
      timestamp: 1,
      fee_limit: 1
    })
    const whole = wrapped(rawHex)
    const endings = new Set<string>()
    const damaged = fc
      .tuple(fc.nat(whole.length / 2 - 1), fc.nat(255), fc.nat(whole.length / 2))
      .map(([place, byte, end]) => {
        const bytes = Buffer.from(whole, "hex")
        bytes[place] = byte
        return bytes.subarray(0, end).toString("hex")
      })
    fc.assert(
      fc.property(fc.oneof(hex(0, 300), damaged), (bytes) => {
        endings.add(endingOf(NodeTransaction.fromHex(bytes)))
      }),
      { numRuns: 2_000 }
    )
    assert.deepStrictEqual([...endings].toSorted(), ["read", "refused"])
  })

  it("of any JSON is read or refused without a crash", () => {
    const contract = fc.record({
      type: fc.oneof(fc.constant("TransferContract"), fc.constant("CreateSmartContract"), fc.string()),
      parameter: fc.oneof(fc.record({ value: fc.oneof(fc.object(), fc.jsonValue()) }), fc.jsonValue())
    })
    const json = fc.oneof(
      fc.jsonValue(),
      fc.record({ raw_data: fc.record({ contract: fc.array(contract, { maxLength: 3 }), expiration: fc.jsonValue() }) })
    )
    const endings = new Set<string>()
    fc.assert(
      fc.property(json, (given) => {
        endings.add(endingOf(NodeTransaction.fromJson(given)))
      })
    )
    assert.notInclude([...endings], "crashed")
  })
})

describe("an account's address", () => {
  it("equals tronweb's", () => {
    const { address: mine, privateKey } = TronTestAccounts.named("anybody")
    assert.strictEqual(TronWeb.address.fromPrivateKey(privateKey), mine)
  })
})
