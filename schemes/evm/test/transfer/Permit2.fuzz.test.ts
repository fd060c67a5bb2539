import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { bytesToHex, encodeFunctionData, domainSeparator, hashTypedData, parseAbi } from "viem"
import { privateKeyToAccount } from "viem/accounts"

import { exactEvm } from "../../src/index.ts"
import * as EvmAddress from "../../src/primitives/EvmAddress.ts"
import * as EvmHex from "../../src/primitives/EvmHex.ts"
import * as Eip2612 from "../../src/transfer/Eip2612.ts"
import * as Permit2 from "../../src/transfer/Permit2.ts"

const addresses = fc.uint8Array({ minLength: 20, maxLength: 20 }).map((bytes) => EvmAddress.fromTail(bytesToHex(bytes)))
const numbers = fc.oneof(fc.bigInt(0n, 2n ** 64n), fc.bigInt(0n, 2n ** 256n - 1n))
const chainIds = fc.integer({ min: 1, max: 2 ** 40 })
const signatures = fc.uint8Array({ minLength: 1, maxLength: 200 }).map((bytes) => bytesToHex(bytes))

const transfers: fc.Arbitrary<Permit2.PermitTransfer> = fc.record({
  from: addresses,
  permitted: fc.record({ token: addresses, amount: numbers }),
  spender: addresses,
  nonce: numbers,
  deadline: numbers,
  witness: fc.record({ to: addresses, validAfter: numbers })
})

const approvals: fc.Arbitrary<Eip2612.SignedApproval> = fc.record({
  from: addresses,
  asset: addresses,
  spender: addresses,
  amount: numbers,
  nonce: numbers,
  deadline: numbers,
  signature: fc.uint8Array({ minLength: 65, maxLength: 65 }).map((bytes) => bytesToHex(bytes)),
  version: fc.constant("1")
})

const abi = parseAbi([
  "struct Permitted { address token; uint256 amount; }",
  "struct Permit { Permitted permitted; uint256 nonce; uint256 deadline; }",
  "struct Witness { address to; uint256 validAfter; }",
  "struct Approval { uint256 value; uint256 deadline; bytes32 r; bytes32 s; uint8 v; }",
  "function settle(Permit permit, address owner, Witness witness, bytes signature)",
  "function settleWithPermit(Approval approval, Permit permit, address owner, Witness witness, bytes signature)"
])

/** The proxy's call by viem. */
const callByViem = (
  { deadline, from, nonce, permitted, witness }: Permit2.PermitTransfer,
  signature: EvmHex.Hex,
  approval: Eip2612.SignedApproval | undefined
) => {
  const args = [{ permitted, nonce, deadline }, from, witness, signature] as const
  if (approval === undefined) return encodeFunctionData({ abi, functionName: "settle", args })
  const parts = {
    value: approval.amount,
    deadline: approval.deadline,
    r: `0x${approval.signature.slice(2, 66)}`,
    s: `0x${approval.signature.slice(66, 130)}`,
    v: Number(`0x${approval.signature.slice(130)}`)
  } as const
  return encodeFunctionData({ abi, functionName: "settleWithPermit", args: [parts, ...args] })
}

const account = privateKeyToAccount(`0x${"17".repeat(32)}`)
const signer = exactEvm.localSigner(`0x${"17".repeat(32)}`)

describe("a transfer by Permit2", () => {
  it("has the digest, the signature and the domain that viem computes", async () => {
    await fc.assert(
      fc.asyncProperty(chainIds, transfers, async (chainId, transfer) => {
        const data = Permit2.typedData(chainId, transfer)
        assert.strictEqual(EvmHex.fromBytes(Permit2.digest(chainId, transfer)), hashTypedData(data))
        assert.strictEqual(await signer.signTypedData(data), await account.signTypedData(data))
        assert.strictEqual(Permit2.domainSeparator(chainId), domainSeparator({ domain: data.domain }))
      }),
      { numRuns: 50 }
    )
  })

  it("is submitted by the call that viem encodes, and recognised in it and in no other", () => {
    fc.assert(
      fc.property(
        transfers,
        signatures,
        fc.option(approvals, { nil: undefined }),
        fc.constantFrom("amount", "nonce", "deadline", "from", "to", "validAfter"),
        (transfer, signature, approval, field) => {
          const input = Permit2.encodeSettle(transfer, signature, approval)
          assert.strictEqual(input, callByViem(transfer, signature, approval))
          assert.isTrue(Permit2.isSubmitted(transfer, { to: Permit2.proxy, input }))
          assert.isFalse(Permit2.isSubmitted(transfer, { to: transfer.from, input }))
          assert.isFalse(Permit2.isSubmitted(transfer, { to: null, input }))
          const { permitted, witness } = transfer
          const other: Permit2.PermitTransfer = {
            ...transfer,
            ...(field === "amount" && { permitted: { ...permitted, amount: permitted.amount ^ 1n } }),
            ...(field === "nonce" && { nonce: transfer.nonce ^ 1n }),
            ...(field === "deadline" && { deadline: transfer.deadline ^ 1n }),
            ...(field === "from" && { from: otherThan(transfer.from) }),
            ...(field === "to" && { witness: { ...witness, to: otherThan(witness.to) } }),
            ...(field === "validAfter" && { witness: { ...witness, validAfter: witness.validAfter ^ 1n } })
          }
          assert.isFalse(Permit2.isSubmitted(other, { to: Permit2.proxy, input }))
        }
      )
    )
  })

  it("consumes one bit of the nonce's word", () => {
    fc.assert(
      fc.property(numbers, (nonce) => {
        const { mask, word } = Permit2.bitOf({ nonce })
        assert.strictEqual((word << 8n) | BigInt(mask.toString(2).length - 1), nonce)
      })
    )
  })
})

const otherThan = (address: EvmAddress.Address) =>
  EvmAddress.fromTail(`0x${address.slice(2, -1)}${address.endsWith("0") ? "1" : "0"}`)

describe("an approval of Permit2 by signature", () => {
  it("has the digest and the signature that viem computes", async () => {
    const names = fc.string({ minLength: 1, maxLength: 20 })
    await fc.assert(
      fc.asyncProperty(chainIds, names, approvals, async (chainId, name, approval) => {
        const domain = { name, version: "2", chainId, verifyingContract: approval.asset }
        const data = Eip2612.typedData(domain, approval)
        assert.strictEqual(EvmHex.fromBytes(Eip2612.digest(domain, approval)), hashTypedData(data))
        assert.strictEqual(await signer.signTypedData(data), await account.signTypedData(data))
      }),
      { numRuns: 50 }
    )
  })
})
