/** The call data of payments, and the hashes of operations, beside those of another library. */
import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { type Address, bytesToHex, encodeFunctionData, type Hex, pad, parseAbi } from "viem"
import { getUserOperationHash, toPackedUserOperation } from "viem/account-abstraction"

import * as EvmAddress from "../../src/primitives/EvmAddress.ts"
import * as AccountCalls from "../../src/transfer/AccountCalls.ts"
import * as UserOperation from "../../src/transfer/UserOperation.ts"

const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length }).map((one) => bytesToHex(one))
const addresses = bytes(20).map((hex) => EvmAddress.fromTail(hex))
const words = fc.bigInt(0n, 2n ** 256n - 1n)

const payments = fc.record({
  token: addresses,
  payTo: addresses,
  amount: words,
  guard: fc.record({ address: addresses, validBefore: words, tag: bytes(32) })
})

const abi = parseAbi([
  "struct Call { address target; uint256 value; bytes data; }",
  "function executeBatch(Call[] calls)",
  "function check(uint256 validBefore, bytes32 tag)",
  "function transfer(address to, uint256 value)",
  "function executeUserOp(address to, uint256 value, bytes data, uint8 operation)"
])
const listsAbi = parseAbi(["function executeBatch(address[] targets, uint256[] values, bytes[] datas)"])

const callsOf = ({ amount, guard, payTo, token }: typeof payments extends fc.Arbitrary<infer A> ? A : never) => [
  {
    target: guard.address,
    value: 0n,
    data: encodeFunctionData({ abi, functionName: "check", args: [guard.validBefore, guard.tag] })
  },
  { target: token, value: 0n, data: encodeFunctionData({ abi, functionName: "transfer", args: [payTo, amount] }) }
]

describe("AccountCalls", () => {
  it("reads the terms from another library's encodings", () => {
    fc.assert(
      fc.property(payments, (payment) => {
        const calls = callsOf(payment)
        const batch = encodeFunctionData({ abi, functionName: "executeBatch", args: [calls] })
        assert.deepStrictEqual(AccountCalls.read(batch), payment)
        const lists = encodeFunctionData({
          abi: listsAbi,
          args: [calls.map(({ target }) => target), [0n, 0n], calls.map(({ data }) => data)]
        })
        assert.deepStrictEqual(AccountCalls.read(lists), payment)
        const [, transfer] = calls
        const single = encodeFunctionData({
          abi,
          functionName: "executeUserOp",
          args: [payment.token, 0n, transfer?.data ?? "0x", 0]
        })
        assert.deepStrictEqual(AccountCalls.read(single), { ...payment, guard: undefined })
      })
    )
  })

  it("refuses call data in which any byte outside of the terms is changed, left out or added", () => {
    const payment: AccountCalls.PaymentCalls = {
      token: EvmAddress.fromTail(`0x${"11".repeat(20)}`),
      payTo: EvmAddress.fromTail(`0x${"22".repeat(20)}`),
      amount: 10_000n,
      guard: { address: EvmAddress.fromTail(`0x${"33".repeat(20)}`), validBefore: 99n, tag: pad("0x44") }
    }
    const { guard, ...transfer } = payment
    if (guard === undefined) return assert.fail("it is guarded")
    const good = encodeFunctionData({ abi, functionName: "executeBatch", args: [callsOf({ ...transfer, guard })] })
    assert.deepStrictEqual(AccountCalls.read(good), payment)
    let changed = 0
    for (let at = 2; at < good.length; at++) {
      const text = `${good.slice(0, at)}${good[at] === "7" ? "8" : "7"}${good.slice(at + 1)}` as Hex
      const found = AccountCalls.read(text)
      assert.notDeepEqual(found, payment)
      if (found !== undefined) changed++
    }
    // The digits of three addresses and of three words are terms.
    assert.strictEqual(changed, 3 * 40 + 3 * 64)
    for (const text of ["0x", `${good}00`, good.slice(0, -2), `${good}${"00".repeat(32)}`])
      assert.isUndefined(AccountCalls.read(text as Hex))
  })
})

describe("UserOperation", () => {
  it("hashes and packs as another library", () => {
    const operations = fc.record(
      {
        sender: addresses,
        nonce: words,
        callData: fc.uint8Array({ maxLength: 100 }).map((one) => bytesToHex(one)),
        verificationGasLimit: fc.bigInt(0n, 2n ** 100n),
        callGasLimit: fc.bigInt(0n, 2n ** 100n),
        signature: fc.uint8Array({ maxLength: 100 }).map((one) => bytesToHex(one)),
        factory: addresses,
        factoryData: fc.uint8Array({ maxLength: 100 }).map((one) => bytesToHex(one))
      },
      { requiredKeys: ["sender", "nonce", "callData", "verificationGasLimit", "callGasLimit", "signature"] }
    )
    const handleAbi = parseAbi([
      "struct Packed { address sender; uint256 nonce; bytes initCode; bytes callData; bytes32 accountGasLimits; uint256 preVerificationGas; bytes32 gasFees; bytes paymasterAndData; bytes signature; }",
      "function handleOps(Packed[] ops, address beneficiary)"
    ])
    fc.assert(
      fc.property(operations, fc.nat(), addresses, (operation, chainId, beneficiary) => {
        if (operation.factory === undefined) delete operation.factoryData
        else operation.factoryData ??= "0x"
        const full = { ...operation, preVerificationGas: 0n, maxFeePerGas: 0n, maxPriorityFeePerGas: 0n }
        for (const entryPoint of UserOperation.entryPoints) {
          const expected = getUserOperationHash({
            chainId,
            entryPointAddress: entryPoint.address,
            entryPointVersion: entryPoint.version,
            userOperation: full
          })
          assert.strictEqual(UserOperation.hash(operation, entryPoint, chainId), expected)
        }
        const packed = toPackedUserOperation(full)
        const args = [[packed, packed], beneficiary] as const
        assert.strictEqual(
          UserOperation.handleOps([operation, operation], beneficiary),
          encodeFunctionData({ abi: handleAbi, args })
        )
      })
    )
  })

  it("names the contracts by which EntryPoints call factories", () => {
    const creators: ReadonlyArray<Address> = UserOperation.entryPoints.map(({ senderCreator }) => senderCreator)
    assert.deepStrictEqual(creators, [
      "0xefc2c1444ebcc4db75e7613d20c6a62ff67a167c",
      "0x449ed7c3e6fee6a97311d4b55475df59c44add33",
      "0x0a630a99df908a81115a3022927be82f9299987e"
    ])
  })
})
