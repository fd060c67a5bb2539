import { assert, describe, it } from "@effect/vitest"
import { encodeErrorResult, type Hex, parseAbi } from "viem"

import * as EvmHex from "../../src/primitives/EvmHex.ts"
import * as EvmRevert from "../../src/transfer/EvmRevert.ts"

const abi = parseAbi([
  "error Error(string)",
  "error Panic(uint256)",
  "error ERC3009UsedAuthorization(address authorizer, bytes32 nonce)",
  "error ERC3009InvalidSignature()",
  "error ERC3009InvalidAuthorizationTime(uint256 validAfter, uint256 validBefore)",
  "error InvalidAccountNonce(address account, uint256 currentNonce)",
  "error ECDSAInvalidSignature()",
  "error ECDSAInvalidSignatureLength(uint256 length)",
  "error ECDSAInvalidSignatureS(bytes32 s)",
  "error InvalidSignature()",
  "error ERC20InsufficientBalance(address sender, uint256 balance, uint256 needed)",
  "error InsufficientBalance()",
  "error ERC20Blocked(address user)",
  "error ERC20UserRestricted(address user)",
  "error EnforcedPause()"
])

const account = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"
const nonce: Hex = `0x${"ab".repeat(32)}`

const words = (...values: ReadonlyArray<bigint>) => values.map((value) => EvmHex.toWord(value)).join("")

const read = (data: Hex, time?: bigint) => EvmRevert.fromCall({ data, message: "execution reverted" }, time)
const readString = (text: string) => read(encodeErrorResult({ abi, errorName: "Error", args: [text] }))

describe("EvmRevert", () => {
  it.each([
    ["FiatTokenV2: authorization is used or canceled", "UsedOrCanceled"],
    ["EIP3009: authorization is used", "UsedOrCanceled"],
    ["FiatTokenV2: authorization is expired", "Expired"],
    ["EIP3009: authorization has expired", "Expired"],
    ["FiatTokenV2: authorization is not yet valid", "NotYetValid"],
    ["FiatTokenV2: invalid signature", "InvalidSignature"],
    ["ECRecover: invalid signature", "InvalidSignature"],
    ["ECRecover: invalid signature length", "InvalidSignature"],
    ["ECRecover: invalid signature 's' value", "InvalidSignature"],
    ["ECRecover: invalid signature 'v' value", "InvalidSignature"],
    ["ERC20: transfer amount exceeds balance", "InsufficientBalance"],
    ["Blacklistable: account is blacklisted", "Blacklisted"],
    ["Pausable: paused", "Paused"]
  ] as const)("%s", (text, tag) => {
    assert.deepStrictEqual(readString(text), { _tag: tag })
    const message = `execution reverted: ${text}`
    assert.deepStrictEqual(EvmRevert.fromCall({ data: "0x", message }), { _tag: tag })
  })

  it.each([
    ["UsedOrCanceled", encodeErrorResult({ abi, errorName: "ERC3009UsedAuthorization", args: [account, nonce] })],
    ["InvalidSignature", encodeErrorResult({ abi, errorName: "ERC3009InvalidSignature" })],
    ["InvalidSignature", encodeErrorResult({ abi, errorName: "ECDSAInvalidSignature" })],
    ["InvalidSignature", encodeErrorResult({ abi, errorName: "ECDSAInvalidSignatureLength", args: [64n] })],
    ["InvalidSignature", encodeErrorResult({ abi, errorName: "ECDSAInvalidSignatureS", args: [nonce] })],
    ["InvalidSignature", encodeErrorResult({ abi, errorName: "InvalidSignature" })],
    ["InsufficientBalance", encodeErrorResult({ abi, errorName: "ERC20InsufficientBalance", args: [account, 1n, 2n] })],
    ["InsufficientBalance", encodeErrorResult({ abi, errorName: "InsufficientBalance" })],
    ["Blacklisted", encodeErrorResult({ abi, errorName: "ERC20Blocked", args: [account] })],
    ["Blacklisted", encodeErrorResult({ abi, errorName: "ERC20UserRestricted", args: [account] })],
    ["Paused", encodeErrorResult({ abi, errorName: "EnforcedPause" })]
  ] as const)("%s by custom error %s", (tag, data) => {
    assert.deepStrictEqual(read(data), { _tag: tag })
  })

  it("tells by the chain's time which end of the window was missed", () => {
    const data = encodeErrorResult({ abi, errorName: "ERC3009InvalidAuthorizationTime", args: [100n, 200n] })
    assert.strictEqual(read(data, 100n)._tag, "NotYetValid")
    assert.strictEqual(read(data, 200n)._tag, "Expired")
    assert.strictEqual(read(data)._tag, "NotYetValid")
  })

  it("tells a used sequential nonce from one that does not count", () => {
    const used = encodeErrorResult({ abi, errorName: "InvalidAccountNonce", args: [account, (7n << 64n) | 1n] })
    const random = encodeErrorResult({ abi, errorName: "InvalidAccountNonce", args: [account, 7n << 64n] })
    assert.strictEqual(read(used)._tag, "UsedOrCanceled")
    assert.strictEqual(read(random)._tag, "Other")
  })

  it("keeps the words of everything else, within bounds", () => {
    assert.deepStrictEqual(readString("FiatTokenV2: caller must be the payee"), {
      _tag: "Other",
      message: "FiatTokenV2: caller must be the payee"
    })
    const long = readString("x".repeat(10_000))
    assert(long._tag === "Other")
    assert.strictEqual(long.message.length, 500)
    assert.deepStrictEqual(read(encodeErrorResult({ abi, errorName: "Panic", args: [17n] })), {
      _tag: "Other",
      message: "Panic 0x11"
    })
    assert.deepStrictEqual(read("0xdeadbeef"), { _tag: "Other", message: "0xdeadbeef" })
    assert.deepStrictEqual(read("0x"), { _tag: "Other", message: "execution reverted" })
  })

  it("is not led astray by data that lies about its layout", () => {
    for (const data of [
      "0x08c379a0",
      `0x08c379a0${words(32n)}`,
      `0x08c379a0${words(32n, 2n ** 256n - 1n)}`,
      `0x08c379a0${words(32n, 33n, 0n)}`,
      `0x08c379a0${words(64n, 1n, 0n)}`,
      "0x4a931c17",
      "0x752d88c0",
      "0x4e487b71"
    ] as const) {
      assert.include(["Other", "NotYetValid"], read(data)._tag)
    }
  })
})
