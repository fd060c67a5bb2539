import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import * as fc from "fast-check"
import {
  bytesToHex,
  domainSeparator,
  encodeFunctionData,
  hashTypedData,
  parseAbi,
  toEventSelector,
  toFunctionSelector
} from "viem"
import { mnemonicToAccount } from "viem/accounts"

import { javaScript } from "../../src/crypto/EvmCrypto.ts"
import * as EvmSignature from "../../src/crypto/EvmSignature.ts"
import * as EvmAddress from "../../src/primitives/EvmAddress.ts"
import * as EvmHex from "../../src/primitives/EvmHex.ts"
import { DollarToken, EvmTestAccounts } from "../../src/testing/index.ts"
import * as Eip3009 from "../../src/transfer/Eip3009.ts"
import * as CryptoTable from "../CryptoTable.ts"

const address = (text: string) => Schema.decodeSync(EvmAddress.FromText)(text)
const decode = Schema.decodeUnknownSync(Eip3009.TransferWithAuthorization)

const recover = (domain: Eip3009.Domain, authorization: Eip3009.TransferWithAuthorization, hex: string) => {
  const signature = EvmSignature.fromText(hex)
  assert(signature._tag === "Ecdsa")
  return EvmSignature.recoverAddress(Eip3009.digest(domain, authorization), signature, javaScript)
}

const nonce = "0xf3746613c2d920b5fdabc0856f2aeb2d4f88ee6037b8cc5d04a71a4462f13480"

const baseSepolia = {
  domain: {
    name: "USDC",
    version: "2",
    chainId: 84_532,
    verifyingContract: address("0x036CbD53842c5426634e7929541eC2318f3dCF7e")
  },
  authorization: decode({
    from: "0x857b06519E91e3A54538791bDbb0E22373e36b66",
    to: "0x209693Bc6afc0C5328bA36FaF03C514EF312287C",
    value: "10000",
    validAfter: "1740672089",
    validBefore: "1740672154",
    nonce
  }),
  digest: "0xf256992871671abcb27ff92885a7afa46218724e5fc0bac35d050115aa1d22e6",
  signature:
    "0x2d6a7588d6acca505cbf0d9a4a227e0c52c6c34008c8e8986a1283259764173608a2ce6496642e377d6da8dbbf5836e9bd15092f9ecab05ded3d6293af148b571c"
}

const arbitrum = {
  domain: {
    name: "USD₮0",
    version: "1",
    chainId: 42_161,
    verifyingContract: address("0xFd086bC7CD5C481DCC9C85ebE478A1C0b69FCbb9")
  },
  authorization: decode({
    from: "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266",
    to: "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
    value: "10000",
    validAfter: "0",
    validBefore: "1740672154",
    nonce
  }),
  separator: "0x566af68fb471b22d6421762f84aa7bd761c670a2e4d5c8a47d4085d5957b127c",
  signature:
    "0xf844ae322b054712da5c89f147327721e7a789bc1f9f447689d05a8c4731348a0655690883dc6b85e2e6114ad5f4d3f526bcdd80e3d0f78dcb444a38b44e30c71c"
}

/** Bytes of a length, some of them all zero, all ones, or beginning with zeros. */
const bytesOf = (length: number) =>
  fc
    .tuple(fc.uint8Array({ minLength: length, maxLength: length }), fc.constantFrom(0, 0, 0, 1, 8, 9, length))
    .chain(([bytes, zeros]) => fc.constantFrom(bytes.fill(0, 0, zeros), new Uint8Array(length).fill(255)))
const addresses = bytesOf(20).map((bytes) => EvmAddress.fromTail(bytesToHex(bytes)))
const edges = [64n, 128n, 192n, 256n].flatMap((bits) => [2n ** (bits - 1n), 2n ** bits - 1n, 2n ** bits % 2n ** 256n])
const words = fc.oneof(
  fc.constantFrom(0n, 1n, ...edges),
  fc.bigInt(0n, 2n ** 64n),
  fc.bigInt(0n, 2n ** 192n),
  fc.bigInt(0n, 2n ** 256n - 1n)
)
const nonces = bytesOf(32).map((bytes) => bytesToHex(bytes))
const authorizations = fc.record({
  from: addresses,
  to: addresses,
  value: words,
  validAfter: words,
  validBefore: words,
  nonce: nonces
})
const domains = fc.record({
  name: fc.string({ unit: "binary" }),
  version: fc.string({ minLength: 1 }),
  chainId: fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
  verifyingContract: addresses
})
const signatures = fc.uint8Array({ minLength: 65, maxLength: 65 }).map((bytes) => bytesToHex(bytes))

const broken = () => {
  throw new Error("no memory is left")
}

describe("Eip3009", () => {
  it("knows a signature made for USDC on Base Sepolia", () => {
    const { authorization, digest, domain, signature } = baseSepolia
    assert.strictEqual(EvmHex.fromBytes(Eip3009.digest(domain, authorization)), digest)
    assert.strictEqual(recover(domain, authorization, signature), authorization.from)
  })

  it("makes the right digests after a hash that threw in the middle of one", () => {
    const { authorization, domain } = baseSepolia
    const digests = () =>
      [Eip3009.digest, Eip3009.receiveDigest].map((make) => EvmHex.fromBytes(make(domain, authorization)))
    const before = digests()
    for (const make of [Eip3009.receiveDigest, Eip3009.digest]) {
      assert.throws(() => make(domain, authorization, broken), "no memory is left")
      assert.strictEqual(EvmHex.fromBytes(Eip3009.digest(domain, authorization)), baseSepolia.digest)
      assert.deepStrictEqual(digests(), before)
    }
  })

  it("recovers another account under the wrong domain name", () => {
    const { authorization, domain, signature } = baseSepolia
    assert.notStrictEqual(recover({ ...domain, name: "USD Coin" }, authorization, signature), authorization.from)
  })

  it("recovers another account when any field is another", () => {
    const { authorization, domain, signature } = baseSepolia
    const other = arbitrum.authorization
    for (const key of ["to", "value", "validAfter", "validBefore"] as const) {
      const changed = { ...authorization, [key]: key === "value" ? 10_001n : other[key] }
      if (changed[key] === authorization[key]) continue
      assert.notStrictEqual(recover(domain, changed, signature), authorization.from, key)
    }
    const changed = { ...authorization, nonce: EvmHex.fromBytes(new Uint8Array(32)) }
    assert.notStrictEqual(recover(domain, changed, signature), authorization.from)
  })

  it("knows the domain of USD₮0 on Arbitrum, and a wallet's signature for it", () => {
    const { authorization, domain, separator, signature } = arbitrum
    assert.strictEqual(EvmHex.fromBytes(Eip3009.domainSeparator(domain)), separator)
    assert.strictEqual(recover(domain, authorization, signature), authorization.from)
  })

  it("makes typed data that a viem account signs to the same bytes", async () => {
    const account = mnemonicToAccount(EvmTestAccounts.mnemonic)
    const data = Eip3009.typedData(arbitrum.domain, arbitrum.authorization)
    assert.strictEqual(await account.signTypedData(data), arbitrum.signature)
    assert.strictEqual(hashTypedData(JSON.parse(Eip3009.toJson(data))), hashTypedData(data))
  })

  it("hashes as viem does", () => {
    fc.assert(
      fc.property(domains, authorizations, (domain, authorization) => {
        const expected = hashTypedData(Eip3009.typedData(domain, authorization))
        assert.strictEqual(EvmHex.fromBytes(Eip3009.digest(domain, authorization)), expected)
        for (const { keccak256, name } of CryptoTable.all) {
          assert.strictEqual(EvmHex.fromBytes(Eip3009.digest(domain, authorization, keccak256)), expected, name)
        }
        assert.strictEqual(EvmHex.fromBytes(Eip3009.domainSeparator(domain)), domainSeparator({ domain }))
      }),
      { numRuns: 300 }
    )
  })

  it("hashes small numbers after large ones, as viem does", () => {
    const { domain } = arbitrum
    for (const value of [2n ** 256n - 1n, 0n, 2n ** 64n, 1n, 2n ** 255n, 2n ** 64n - 1n]) {
      const authorization = { ...arbitrum.authorization, value, validAfter: value, validBefore: value }
      const digest = EvmHex.fromBytes(Eip3009.digest(domain, authorization))
      assert.strictEqual(digest, hashTypedData(Eip3009.typedData(domain, authorization)))
    }
  })

  it("gives digests that the next digest does not change", () => {
    const first = Eip3009.digest(baseSepolia.domain, baseSepolia.authorization)
    Eip3009.digest(arbitrum.domain, arbitrum.authorization)
    assert.strictEqual(EvmHex.fromBytes(first), baseSepolia.digest)
  })

  it("keeps domains apart that only look alike when joined", () => {
    const { domain } = arbitrum
    const left = Eip3009.domainSeparator({ ...domain, name: "a:1", version: "2" })
    const right = Eip3009.domainSeparator({ ...domain, name: "a", version: "1:2" })
    assert.notDeepEqual(left, right)
  })

  it("encodes calls as viem does", () => {
    fc.assert(
      fc.property(authorizations, signatures, fc.uint8Array({ maxLength: 200 }), (authorization, parts, bytes) => {
        const { abi } = DollarToken
        const { from, nonce, to, validAfter, validBefore, value } = authorization
        const struct = [from, to, value, validAfter, validBefore, nonce] as const
        const [r, s, v] = [parts.slice(2, 66), parts.slice(66, 130), Number.parseInt(parts.slice(130), 16)]
        const functionName = "transferWithAuthorization"
        const byParts = encodeFunctionData({ abi, functionName, args: [...struct, v, `0x${r}`, `0x${s}`] })
        assert.strictEqual(Eip3009.encodeTransferByParts(authorization, parts), byParts)
        const byBytes = encodeFunctionData({ abi, functionName, args: [...struct, bytesToHex(bytes)] })
        assert.strictEqual(Eip3009.encodeTransferByBytes(authorization, bytesToHex(bytes)), byBytes)
        const state = encodeFunctionData({ abi, functionName: "authorizationState", args: [from, nonce] })
        assert.strictEqual(Eip3009.encodeAuthorizationState(from, nonce), state)
      })
    )
  })

  it("names selectors and topics by the standard's signatures", () => {
    const [byParts, used, canceled, transfer] = parseAbi([
      "function transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)",
      "event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce)",
      "event AuthorizationCanceled(address indexed authorizer, bytes32 indexed nonce)",
      "event Transfer(address indexed from, address indexed to, uint256 value)"
    ])
    assert.strictEqual(toFunctionSelector(byParts), "0xe3ee160e")
    assert.strictEqual(toEventSelector(used), Eip3009.authorizationUsedTopic)
    assert.strictEqual(toEventSelector(canceled), Eip3009.authorizationCanceledTopic)
    assert.strictEqual(toEventSelector(transfer), Eip3009.transferTopic)
  })

  it("decodes one text for equal nonces and refuses numbers that do not fit", () => {
    const encoded = Schema.encodeSync(Eip3009.TransferWithAuthorization)(arbitrum.authorization)
    const upper = decode({ ...encoded, nonce: `0x${nonce.slice(2).toUpperCase()}` })
    assert.strictEqual(upper.nonce, nonce)
    for (const value of ["-1", "1.0", "0x1", "01", "", (2n ** 256n).toString(), 1]) {
      assert.throws(() => decode({ ...encoded, value }), undefined, undefined, String(value))
    }
  })
})
