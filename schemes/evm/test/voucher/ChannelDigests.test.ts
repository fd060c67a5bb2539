import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { encodeAbiParameters, hashStruct, hashTypedData, keccak256 } from "viem"
import { mnemonicToAccount, privateKeyToAccount } from "viem/accounts"

import { exactEvm } from "../../src/index.ts"
import * as EvmHex from "../../src/primitives/EvmHex.ts"
import { EvmTestAccounts } from "../../src/testing/index.ts"
import * as ChannelConfig from "../../src/voucher/ChannelConfig.ts"
import * as ChannelContract from "../../src/voucher/ChannelContract.ts"
import * as ChannelDeposit from "../../src/voucher/ChannelDeposit.ts"
import * as ChannelRefund from "../../src/voucher/ChannelRefund.ts"
import * as ClaimBatch from "../../src/voucher/ClaimBatch.ts"
import * as Voucher from "../../src/voucher/Voucher.ts"
import type { EvmSigner, TypedData } from "../../src/wallet/EvmSigner.ts"
import * as TestChannel from "./TestChannel.ts"

const { config } = TestChannel
const base = 8453
const account = (addressIndex: number): EvmSigner => mnemonicToAccount(EvmTestAccounts.mnemonic, { addressIndex })
const channelId = "0xfe548fd9b67759cd40a12bf9cc2af7893f235f500e382ad71faf92707444bba1"
const text = EvmHex.fromBytes
const separator = (chainId: number) => text(ChannelContract.domainSeparator(chainId))
const batchDigest = (chainId: number, claims: ReadonlyArray<ClaimBatch.ClaimEntry>) =>
  text(ClaimBatch.digest(chainId, claims))

describe("the vectors of x402's package", () => {
  it("name the domain and the channels", () => {
    assert.strictEqual(separator(base), "0xd8d982716899b0e20cf2c1e706a37b8a892c83fdd4ac9b540cfeec11f9c73a39")
    assert.strictEqual(separator(31_337), "0xbf720f8d28a5c76a2f7743512598984fa4b90dd1efdb19af73f64cc6587d68af")
    const ids: ReadonlyArray<readonly [number, Partial<ChannelConfig.ChannelConfig>, EvmHex.Hex]> = [
      [base, {}, channelId],
      [84_532, {}, "0x4f914d704ecddedb01fe05a9bff13586f9d77410da9af1e92ba6d3f90014b412"],
      [31_337, {}, "0x27e980c91df6983ece8c4a30645831a8bb07151dccddc90c632c1f72d80873f8"],
      [
        base,
        { payerAuthorizer: TestChannel.address("0x0000000000000000000000000000000000000000") },
        "0x23f3f03f9e2029181053aac875fa2f6afcd81d284e8a91e298248aa974734040"
      ],
      [base, { salt: TestChannel.word(1) }, "0xb0d8ce384e12278b38c46cbb10b7c6d9654f3891cfcdca7d71df2c8c73abbbab"]
    ]
    for (const [chainId, change, expected] of ids) {
      assert.strictEqual(ChannelConfig.id(chainId, { ...config, ...change }), expected)
    }
    // A comment in the contract's source says so; the contract's code does not.
    assert.strictEqual(
      keccak256(`0x${ChannelConfig.words(config)}`),
      "0x514b02ee0e6913baeb0052b4319ff4a1891ab78c94b5e69f34182db74db46f5b"
    )
  })

  it("sign vouchers, refunds and claims", async () => {
    const voucher = (maxClaimableAmount: bigint) => ({ channelId, maxClaimableAmount }) as const
    const refund = { channelId, nonce: 0n, amount: 1500n } as const
    const row = { channelId, maxClaimableAmount: 5000n, totalClaimed: 3200n } as const
    const vectors = [
      {
        digest: Voucher.digest(base, voucher(1000n)),
        data: Voucher.typedData(base, voucher(1000n)),
        signer: account(0),
        expected: "0x7230c667b6283c44a9d25ff26e6f0c92d1b0b218c7b8dafd3c0e5c3be892f887",
        signature:
          "0x575f440a0476b26161b74f8dcc5429cfdf4223f9386a9f6ac013b554d4cea424271ca1994ab0a17dbd34128e7623e1254a0a638641297ee1eb65981aa121f9ad1b"
      },
      {
        digest: Voucher.digest(base, voucher(5000n)),
        data: Voucher.typedData(base, voucher(5000n)),
        signer: account(0),
        expected: "0x5de89145a4171e2ab77a5d2c70c9f5830e7a48f66a7fed94548fb26e4303931a",
        signature:
          "0xaa719da855c829b35271c102281914540881f3ff7e9825e66d4f99f0c84dd675697dbea603d1317953c57eb9f282493f5ae2e23f918a1e22530999ac478cec8b1c"
      },
      {
        digest: ChannelRefund.digest(base, refund),
        data: ChannelRefund.typedData(base, refund),
        signer: account(1),
        expected: "0x0f737736856a400d0acb6f077bd4ec590fc6a9b90f76f66e507986acf1c7a6cc",
        signature:
          "0xdddd3b30f95e3d07419f0ffe2f7cee439a08d719298ba2c2d0a1e7706fe64515100b279a3642b0ed05aab0056492b166aefacd75c89badd5623ae05d2456443d1b"
      },
      {
        digest: ClaimBatch.digest(base, [row]),
        data: ClaimBatch.typedData(base, [row]),
        signer: account(1),
        expected: "0x5731d7f108361e43bd863a947d47c388b099f583f809bbb9d76322b86d8f20cc",
        signature:
          "0x8a9eaf91410857415bb5ba3d998589be4e618dd006a54bce57246f0a6e6d2ab47a102149f097e7183f8a9658179f19a060e08b4f4756ecf6c42daf0d4cf51aa01c"
      }
    ] as const
    const signatures = await Promise.all(vectors.map(({ data, signer }) => signer.signTypedData(data)))
    for (const [at, { digest, expected, signature }] of vectors.entries()) {
      assert.strictEqual(text(digest), expected)
      assert.strictEqual(signatures[at], signature)
    }
  })

  it("hash batches of several rows, of none, and on another chain", () => {
    const first = { channelId, maxClaimableAmount: 5000n, totalClaimed: 3200n } as const
    const second = {
      channelId: ChannelConfig.id(base, { ...config, salt: TestChannel.word(1) }),
      maxClaimableAmount: 1000n,
      totalClaimed: 1000n
    } as const
    assert.strictEqual(
      batchDigest(base, [first, second]),
      "0x394a29d2fc40b7412d58e745ff40499eac0b8c8d28671ee36aa472c1f30431b7"
    )
    assert.strictEqual(batchDigest(base, []), "0x3483bc42d4cc5a5e79820fd6d896640faee52a1d3fc9efe3896bfd7a149ec340")
    const theirs = {
      channelId: "0x5aa0c653042e33ac01a3e944daa7f9a9db4153a203423551757927bca6a8fc93",
      maxClaimableAmount: 1000n,
      totalClaimed: 500n
    } as const
    assert.strictEqual(
      batchDigest(84_532, [theirs]),
      "0xfecd0b3504fb3b63b76003ba280d5303975ed18f1e0332b42b2428389b3569e4"
    )
  })

  it("authorize deposits", async () => {
    const nonce = "0xd10f2b5532b6cd9e231cc0ee73314e38ee65deede426301259bca10aef653365"
    assert.strictEqual(ChannelDeposit.nonce(channelId, TestChannel.word(1)), nonce)
    const domain = { name: "USD Coin", version: "2", chainId: base, verifyingContract: config.token }
    const authorization = ChannelDeposit.authorization(channelId, config.payer, 100_000n, {
      salt: TestChannel.word(1),
      validAfter: 0n,
      validBefore: 1_770_000_000n
    })
    assert.strictEqual(
      text(ChannelDeposit.receiveDigest(domain, authorization)),
      "0xb454833700e5f3650b3e3273799d4fb9db37924b254bbda1355dffc33304976b"
    )
    assert.strictEqual(
      await account(0).signTypedData(ChannelDeposit.receiveTypedData(domain, authorization)),
      "0x2e2f4200e5d8adfc09cf19580bb4c1bf0c78a1799ac42b8a802da21311db6b7242946d39dcf3ea5f360f6502c9d545f15f4fd67196ab32f6d69d7f652936180a1b"
    )
    const permit = {
      permitted: { token: config.token, amount: 100_000n },
      spender: ChannelContract.permit2Collector,
      nonce: 1n,
      deadline: 1_770_000_000n,
      witness: { channelId }
    } as const
    assert.strictEqual(
      text(ChannelDeposit.permitDigest(base, permit)),
      "0x6dee0f53deaf07211e86cd5572e290f6d59bd6763f5159a3275f3ba6ea228798"
    )
  })
})

describe("the digests of channels", () => {
  const privateKey = `0x${"17".repeat(32)}` as const
  const local = exactEvm.localSigner(privateKey)
  const viemsAccount: EvmSigner = privateKeyToAccount(privateKey)
  const hashOf: (data: TypedData) => EvmHex.Hex = hashTypedData
  const { amounts, chainIds, configs, numbers, words } = TestChannel
  const digests = fc.record({
    chainId: chainIds,
    config: configs,
    voucher: fc.record({ channelId: words, maxClaimableAmount: amounts }),
    refund: fc.record({ channelId: words, nonce: numbers, amount: amounts }),
    claims: fc.array(fc.record({ channelId: words, maxClaimableAmount: amounts, totalClaimed: amounts }), {
      maxLength: 4
    }),
    authorization: fc.record({ salt: words, validAfter: numbers, validBefore: numbers }),
    permit: fc.record({
      permitted: fc.record({ token: TestChannel.addresses, amount: amounts }),
      spender: TestChannel.addresses,
      nonce: numbers,
      deadline: numbers,
      witness: fc.record({ channelId: words })
    })
  })

  it("are those that viem computes, and the local signer signs them", async () => {
    await fc.assert(
      fc.asyncProperty(digests, async ({ authorization, chainId, claims, config, permit, refund, voucher }) => {
        const domain = { name: "Test Dollar", version: "1", chainId, verifyingContract: config.token }
        const deposit = ChannelDeposit.authorization(
          voucher.channelId,
          config.payer,
          voucher.maxClaimableAmount,
          authorization
        )
        const signed = [
          [Voucher.typedData(chainId, voucher), Voucher.digest(chainId, voucher)],
          [ChannelRefund.typedData(chainId, refund), ChannelRefund.digest(chainId, refund)],
          [ClaimBatch.typedData(chainId, claims), ClaimBatch.digest(chainId, claims)],
          [ChannelDeposit.receiveTypedData(domain, deposit), ChannelDeposit.receiveDigest(domain, deposit)],
          [ChannelDeposit.permitTypedData(chainId, permit), ChannelDeposit.permitDigest(chainId, permit)]
        ] as const
        for (const [data, digest] of signed) assert.strictEqual(text(digest), hashOf(data))
        const signedBy = (signer: EvmSigner) => Promise.all(signed.map(([data]) => signer.signTypedData(data)))
        assert.deepStrictEqual(await signedBy(local), await signedBy(viemsAccount))
        const salted = encodeAbiParameters(
          [{ type: "bytes32" }, { type: "uint256" }],
          [voucher.channelId, BigInt(authorization.salt)]
        )
        assert.strictEqual(deposit.nonce, keccak256(salted))
        assert.strictEqual(deposit.to, ChannelContract.erc3009Collector)
      }),
      { numRuns: 50 }
    )
  })

  it("make a channel's id another one for each term and chain", () => {
    fc.assert(
      fc.property(chainIds, configs, (chainId, config) => {
        const types = {
          ChannelConfig: [
            { name: "payer", type: "address" },
            { name: "payerAuthorizer", type: "address" },
            { name: "receiver", type: "address" },
            { name: "receiverAuthorizer", type: "address" },
            { name: "token", type: "address" },
            { name: "withdrawDelay", type: "uint40" },
            { name: "salt", type: "bytes32" }
          ]
        } as const
        const domain = ChannelContract.domain(chainId)
        const expected = hashTypedData({ domain, types, primaryType: "ChannelConfig", message: config })
        const id = ChannelConfig.id(chainId, config)
        assert.strictEqual(id, expected)
        assert.notStrictEqual(id, hashStruct({ data: config, primaryType: "ChannelConfig", types }))
        const others = [
          ChannelConfig.id(chainId + 1, config),
          ChannelConfig.id(chainId, { ...config, salt: TestChannel.word(77) }),
          ChannelConfig.id(chainId, { ...config, withdrawDelay: config.withdrawDelay ^ 1 }),
          ChannelConfig.id(chainId, { ...config, receiver: config.token })
        ]
        assert.notInclude(others, id)
      }),
      { numRuns: 50 }
    )
  })
})
