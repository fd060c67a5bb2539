import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { bytesToHex, encodeAbiParameters, encodeFunctionData, encodeFunctionResult } from "viem"

import { ChannelSettlement } from "../../src/testing/index.ts"
import type * as Eip2612 from "../../src/transfer/Eip2612.ts"
import * as ChannelCall from "../../src/voucher/ChannelCall.ts"
import * as TestChannel from "./TestChannel.ts"

const { abi } = ChannelSettlement
const { addresses, amounts, configs, numbers, words } = TestChannel
const bytes = fc.uint8Array({ minLength: 1, maxLength: 140 }).map((value) => bytesToHex(value))
const rows = fc.array(
  fc.record({
    voucher: fc.record({ channel: configs, maxClaimableAmount: amounts }),
    signature: bytes,
    totalClaimed: amounts
  }),
  { maxLength: 4 }
)
const uint256 = { type: "uint256" } as const
const dynamic = { type: "bytes" } as const
const bytes32 = { type: "bytes32" } as const

describe("the calls of the channel contract", () => {
  it("are those that viem encodes", () => {
    fc.assert(
      fc.property(configs, amounts, addresses, bytes, rows, numbers, (config, amount, other, data, claims, nonce) => {
        const all = [
          [ChannelCall.deposit(config, amount, other, data), "deposit", [config, amount, other, data]],
          [ChannelCall.claim(claims), "claim", [claims]],
          [ChannelCall.claimWithSignature(claims, data), "claimWithSignature", [claims, data]],
          [ChannelCall.settle(config.receiver, other), "settle", [config.receiver, other]],
          [ChannelCall.refund(config, amount), "refund", [config, amount]],
          [
            ChannelCall.refundWithSignature(config, amount, nonce, data),
            "refundWithSignature",
            [config, amount, nonce, data]
          ],
          [ChannelCall.initiateWithdraw(config, amount), "initiateWithdraw", [config, amount]],
          [ChannelCall.finalizeWithdraw(config), "finalizeWithdraw", [config]],
          [ChannelCall.multicall([data, "0x", data]), "multicall", [[data, "0x", data]]],
          [ChannelCall.channels(config.salt), "channels", [config.salt]],
          [ChannelCall.pendingWithdrawals(config.salt), "pendingWithdrawals", [config.salt]],
          [ChannelCall.refundNonce(config.salt), "refundNonce", [config.salt]],
          [ChannelCall.receivers(config.receiver, other), "receivers", [config.receiver, other]]
        ] as const
        for (const [ours, functionName, args] of all) {
          assert.strictEqual(ours, encodeFunctionData({ abi, functionName, args }), functionName)
        }
      }),
      { numRuns: 100 }
    )
  })

  it("read the two numbers of a view, and nothing else", () => {
    fc.assert(
      fc.property(amounts, amounts, (balance, totalClaimed) => {
        const result = encodeFunctionResult({ abi, functionName: "channels", result: [balance, totalClaimed] })
        assert.deepStrictEqual(ChannelCall.readPair(result), [balance, totalClaimed])
        assert.isUndefined(ChannelCall.readPair(`${result}00`))
        assert.isUndefined(ChannelCall.readPair("0x"))
      })
    )
  })

  it("encode the collectors' data", () => {
    const approvals: fc.Arbitrary<Eip2612.SignedApproval> = fc.record({
      from: addresses,
      asset: addresses,
      spender: addresses,
      amount: numbers,
      nonce: numbers,
      deadline: numbers,
      signature: fc.uint8Array({ minLength: 65, maxLength: 65 }).map((value) => bytesToHex(value)),
      version: fc.constant("1")
    })
    fc.assert(
      fc.property(words, numbers, numbers, bytes, approvals, (salt, first, second, signature, approval) => {
        assert.strictEqual(
          ChannelCall.erc3009Data({ validAfter: first, validBefore: second, salt, signature }),
          encodeAbiParameters([uint256, uint256, uint256, dynamic], [first, second, BigInt(salt), signature])
        )
        const permit = {
          from: approval.from,
          permitted: { token: approval.asset, amount: first },
          spender: approval.spender,
          nonce: first,
          deadline: second,
          witness: { channelId: salt },
          signature
        }
        const collectors = [uint256, uint256, dynamic, dynamic] as const
        assert.strictEqual(
          ChannelCall.permit2Data(permit),
          encodeAbiParameters(collectors, [first, second, signature, "0x"])
        )
        const [r, s, v] = [
          `0x${approval.signature.slice(2, 66)}`,
          `0x${approval.signature.slice(66, 130)}`,
          Number(`0x${approval.signature.slice(130)}`)
        ] as const
        const terms = encodeAbiParameters(
          [uint256, uint256, { type: "uint8" }, bytes32, bytes32],
          [approval.amount, approval.deadline, v, r, s]
        )
        assert.strictEqual(
          ChannelCall.permit2Data(permit, approval),
          encodeAbiParameters(collectors, [first, second, signature, terms])
        )
      })
    )
  })
})
