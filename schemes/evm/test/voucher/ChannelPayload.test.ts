import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { mnemonicToAccount } from "viem/accounts"

import * as EvmCrypto from "../../src/crypto/EvmCrypto.ts"
import * as EvmAddress from "../../src/primitives/EvmAddress.ts"
import type * as EvmHex from "../../src/primitives/EvmHex.ts"
import { EvmTestAccounts } from "../../src/testing/index.ts"
import * as ChannelConfig from "../../src/voucher/ChannelConfig.ts"
import * as ChannelContract from "../../src/voucher/ChannelContract.ts"
import * as ChannelPayload from "../../src/voucher/ChannelPayload.ts"
import * as Voucher from "../../src/voucher/Voucher.ts"
import * as TestChannel from "./TestChannel.ts"

const chainId = 8453
const { config } = TestChannel
const channelId = ChannelConfig.id(chainId, config)
const account = mnemonicToAccount(EvmTestAccounts.mnemonic)
const sign = (maxClaimableAmount: bigint): Promise<EvmHex.Hex> =>
  account.signTypedData(Voucher.typedData(chainId, { channelId, maxClaimableAmount }))

/** A payload as it travels, before it is spoiled. */
const valid = async () => {
  const voucher = { channelId, maxClaimableAmount: "2000", signature: await sign(2000n) }
  return { type: "voucher", channelConfig: ChannelConfig.onWire(config), voucher }
}

const outcome = (json: unknown) =>
  Effect.runSync(
    Effect.result(ChannelPayload.decode(json).pipe(Effect.tap((one) => ChannelPayload.channelId(chainId, one))))
  )

const refusal = (json: unknown): string => {
  const result = outcome(json)
  return Result.isFailure(result) ? `${result.failure.reason}/${result.failure.detail}` : "accepted"
}

describe("the messages of a payer", () => {
  it("are read as x402's package writes them, with every case of an address and of an id", async () => {
    const payload = await valid()
    const { channelConfig, voucher } = payload
    assert.strictEqual(refusal(payload), "accepted")
    assert.strictEqual(refusal({ ...payload, type: "refund" }), "accepted")
    assert.strictEqual(refusal({ ...payload, type: "refund", amount: "10" }), "accepted")
    const upper = `0x${channelId.slice(2).toUpperCase()}`
    assert.strictEqual(refusal({ ...payload, voucher: { ...voucher, channelId: upper } }), "accepted")
    const lower = { ...channelConfig, payer: channelConfig.payer.toLowerCase() }
    assert.strictEqual(refusal({ ...payload, channelConfig: lower }), "accepted")
    const authorization = {
      erc3009Authorization: { validAfter: "0", validBefore: "9", salt: TestChannel.word(1), signature: "0x01" }
    }
    const deposit = { ...payload, type: "deposit", deposit: { amount: "9", authorization } }
    assert.strictEqual(refusal(deposit), "accepted")
  })

  it("are refused for every amount that is not plain decimal text of 128 bits", async () => {
    const payload = await valid()
    const amounts = ["0x7d0", " 2000 ", "2000 ", "+2000", "-1", "02000", "2e3", "2000.0", "", "2_000", `${2n ** 128n}`]
    for (const amount of [...amounts, 2000, null, undefined, ["2000"], 2n ** 64n]) {
      const voucher = { ...payload.voucher, maxClaimableAmount: amount }
      assert.strictEqual(refusal({ ...payload, voucher }), "malformed/payload_fields", String(amount))
      if (amount === undefined) continue
      const refund = { ...payload, type: "refund", amount }
      assert.strictEqual(refusal(refund), "malformed/payload_fields", String(amount))
    }
    const largest = { ...payload.voucher, maxClaimableAmount: `${2n ** 128n - 1n}` }
    assert.strictEqual(refusal({ ...payload, voucher: largest }), "accepted")
  })

  it("are refused for terms that are no channel's, and for the id of another", async () => {
    const payload = await valid()
    const spoiled: ReadonlyArray<readonly [object, string]> = [
      [{ withdrawDelay: "900" }, "payload_fields"],
      [{ withdrawDelay: 900.5 }, "payload_fields"],
      [{ withdrawDelay: -1 }, "payload_fields"],
      [{ withdrawDelay: 2 ** 40 }, "payload_fields"],
      [{ salt: "0x01" }, "payload_fields"],
      [{ payer: `${payload.channelConfig.payer}00` }, "payload_fields"],
      [{ receiver: "../../etc" }, "payload_fields"],
      [{ payer: payload.channelConfig.receiver }, "channel_id"],
      [{ salt: TestChannel.word(1) }, "channel_id"]
    ]
    for (const [change, detail] of spoiled) {
      const channelConfig = { ...payload.channelConfig, ...change }
      assert.strictEqual(refusal({ ...payload, channelConfig }), `malformed/${detail}`, JSON.stringify(change))
    }
    for (const id of ["../x", `${channelId}00`, "", 7]) {
      const voucher = { ...payload.voucher, channelId: id }
      assert.strictEqual(refusal({ ...payload, voucher }), "malformed/payload_fields")
    }
  })

  it("have exactly one authorization of a deposit, for this channel", async () => {
    const payload = await valid()
    const erc3009Authorization = { validAfter: "0", validBefore: "9", salt: TestChannel.word(1), signature: "0x01" }
    const permit2Authorization = {
      from: config.payer,
      permitted: { token: config.token, amount: "9" },
      spender: EvmAddress.checksum(ChannelContract.permit2Collector),
      nonce: "1",
      deadline: "9",
      witness: { channelId },
      signature: "0x01"
    }
    const deposit = (authorization: object) =>
      refusal({ ...payload, type: "deposit", deposit: { amount: "9", authorization } })
    assert.strictEqual(deposit({ erc3009Authorization }), "accepted")
    assert.strictEqual(deposit({ permit2Authorization }), "accepted")
    assert.strictEqual(deposit({}), "malformed/payload_fields")
    assert.strictEqual(deposit({ erc3009Authorization, permit2Authorization }), "malformed/payload_fields")
    const witness = { channelId: TestChannel.word(1) }
    assert.strictEqual(deposit({ permit2Authorization: { ...permit2Authorization, witness } }), "malformed/channel_id")
  })

  it("have a bounded signature, and a shop's message bounded claims", async () => {
    const payload = await valid()
    const withSignature = (signature: unknown) => refusal({ ...payload, voucher: { ...payload.voucher, signature } })
    for (const signature of ["0x", "", "0x1", "0xzz", 7, `0x${"00".repeat(4097)}`]) {
      assert.strictEqual(withSignature(signature), "malformed/payload_fields")
    }
    assert.strictEqual(withSignature(`0x${"00".repeat(4096)}`), "accepted")
    const row = {
      voucher: { channel: payload.channelConfig, maxClaimableAmount: "2000" },
      signature: payload.voucher.signature,
      totalClaimed: "1000"
    }
    const claim = (count: number) =>
      Effect.runSync(
        Effect.result(
          ChannelPayload.decodeForSettlement({ type: "claim", claims: Array.from({ length: count }, () => row) })
        )
      )
    assert.isTrue(Result.isSuccess(claim(ChannelPayload.mostClaims)))
    assert.isTrue(Result.isFailure(claim(ChannelPayload.mostClaims + 1)))
  })
})

const check = (signature: EvmHex.Hex, authorizer = config.payerAuthorizer) =>
  Voucher.check(chainId, { channelId, maxClaimableAmount: 2000n, signature }, authorizer, EvmCrypto.javaScript)

describe("a voucher's signature", () => {
  const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
  it("is accepted in the one form that the contract claims", async () => {
    const signature = await sign(2000n)
    const [r, s, v] = [signature.slice(2, 66), signature.slice(66, 130), signature.slice(130)]
    assert.strictEqual(check(signature), "valid")
    const other = v === "1b" ? "1c" : "1b"
    const twin = (order - BigInt(`0x${s}`)).toString(16).padStart(64, "0")
    const compact = (BigInt(`0x${s}`) | (v === "1c" ? 1n << 255n : 0n)).toString(16).padStart(64, "0")
    const spoiled: ReadonlyArray<EvmHex.Hex> = [
      `0x${r}${twin}${other}`,
      `0x${r}${s}0${v === "1b" ? 0 : 1}`,
      `0x${r}${s}02`,
      `0x${r}${s}${other}`,
      `0x${r}${compact}`,
      `0x${r}${s}${v}00`,
      `0x${"00".repeat(65)}`,
      await sign(2001n)
    ]
    for (const one of spoiled) assert.strictEqual(check(one), "invalid", one)
  })

  it("is of the authorizer, of this chain and of this channel", async () => {
    const signature = await sign(2000n)
    assert.strictEqual(check(signature, config.receiver), "invalid")
    const voucher = { channelId, maxClaimableAmount: 2000n, signature }
    assert.strictEqual(Voucher.check(84_532, voucher, config.payerAuthorizer), "invalid")
    const other = { ...voucher, channelId: TestChannel.word(1) }
    assert.strictEqual(Voucher.check(chainId, other, config.payerAuthorizer), "invalid")
    assert.strictEqual(check(signature, EvmAddress.zero), "contract")
  })
})
