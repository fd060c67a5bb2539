/**
 * Reasons why a token reverted a transfer authorization. Tokens give them as revert strings (the dollar tokens in circulation
 * and the first EIP-3009 implementations) or as custom errors (OpenZeppelin); this module has the table of both. A reason
 * explains and proves nothing: a simulation holds only for the state that it ran on.
 */
import type { ChainUnavailable } from "@pontage/core"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

import type * as EvmLagGuard from "../node/EvmLagGuard.ts"
import type * as EvmRpc from "../node/EvmRpc.ts"
import * as EvmHex from "../primitives/EvmHex.ts"

/** The reason. `Other` carries the token's own message, or the data where there is none. */
export type EvmRevert =
  | {
      readonly _tag:
        | "UsedOrCanceled"
        | "Expired"
        | "NotYetValid"
        | "InvalidSignature"
        | "InsufficientBalance"
        | "Blacklisted"
        | "Paused"
        | "NotDeployed"
        | "DeployedBefore"
        | "TransferFromFailed"
        | "MessagePrice"
    }
  | { readonly _tag: "Other"; readonly message: string }

type Reason = Exclude<EvmRevert["_tag"], "Other">

const phrases: ReadonlyArray<readonly [Reason, RegExp]> = [
  ["UsedOrCanceled", /^AA25|authorization (?:is |was |has been |already )*(?:used|canceled|cancelled)/i],
  ["DeployedBefore", /^AA10/],
  ["NotYetValid", /not yet valid/i],
  ["Expired", /^AA22|authorization (?:is |has |has been )?expired/i],
  ["InvalidSignature", /^AA24|invalid signature|signature is invalid/i],
  ["InsufficientBalance", /exceeds balance|insufficient[ -]balance/i],
  ["Blacklisted", /blacklist|blocklist|denylist|blocked|frozen/i],
  ["Paused", /\bpaused\b/i],
  ["TransferFromFailed", /^TRANSFER_FROM_FAILED$/]
]

/** Custom errors whose selector alone gives the reason: those of OpenZeppelin, and two that many tokens declare. */
const selectors: Readonly<Record<string, Reason>> = {
  // ERC3009UsedAuthorization(address authorizer, bytes32 nonce)
  "0x8f7808c1": "UsedOrCanceled",
  // ERC3009InvalidSignature()
  "0x77c207f4": "InvalidSignature",
  // ECDSAInvalidSignature()
  "0xf645eedf": "InvalidSignature",
  // ECDSAInvalidSignatureLength(uint256 length)
  "0xfce698f7": "InvalidSignature",
  // ECDSAInvalidSignatureS(bytes32 s)
  "0xd78bce0c": "InvalidSignature",
  // InvalidSignature()
  "0x8baa579f": "InvalidSignature",
  // ERC20InsufficientBalance(address sender, uint256 balance, uint256 needed)
  "0xe450d38c": "InsufficientBalance",
  // InsufficientBalance()
  "0xf4d678b8": "InsufficientBalance",
  // ERC20Blocked(address user)
  "0xbfe39372": "Blacklisted",
  // ERC20UserRestricted(address user)
  "0xba858f16": "Blacklisted",
  // EnforcedPause()
  "0xd93c0665": "Paused",
  // InvalidNonce(), SignatureExpired(uint256), InvalidSigner(), InvalidContractSignature() of Permit2
  "0x756688fe": "UsedOrCanceled",
  "0xcd21db4f": "Expired",
  "0x815e1d64": "InvalidSignature",
  "0xb0669cbc": "InvalidSignature",
  // PaymentTooEarly() of x402's proxy
  "0xa65539fa": "NotYetValid",
  // LZ_InsufficientFee(uint256,uint256,uint256,uint256), of LayerZero's endpoint
  "0x4f3ec0d3": "MessagePrice",
  // NotDeployed(), of our counterfactual settler
  "0x77482513": "NotDeployed"
}

const errorString = "0x08c379a0"
const panic = "0x4e487b71"
/** ERC3009InvalidAuthorizationTime(uint256 validAfter, uint256 validBefore) */
const invalidAuthorizationTime = "0x4a931c17"
/** InvalidAccountNonce(address account, uint256 currentNonce) */
const invalidAccountNonce = "0x752d88c0"

/** FailedOp(uint256 opIndex, string reason) of an EntryPoint, and FailedOpWithRevert(uint256, string, bytes). */
const failedOperations: ReadonlySet<string> = new Set(["0x220266b6", "0x65c8fd4d"])

const longestText = 500

const word = (data: EvmHex.Hex, index: number): bigint | undefined => {
  const digits = data.slice(10 + 64 * index, 74 + 64 * index)
  return digits.length === 64 ? BigInt(`0x${digits}`) : undefined
}

const utf8 = new TextDecoder()

const other = (text: string): EvmRevert => ({ _tag: "Other", message: text.slice(0, longestText) })

const fromMessage = (text: string): EvmRevert => {
  const known = phrases.find(([, phrase]) => phrase.test(text))
  return known === undefined ? other(text) : { _tag: known[0] }
}

/** The string of `Error(string)`; `undefined` for data of another layout. */
const decodeString = (data: EvmHex.Hex): string | undefined => {
  const length = word(data, 1)
  if (word(data, 0) !== 32n || length === undefined || length * 2n > BigInt(data.length - 138)) return undefined
  const bytes = Math.min(Number(length), longestText)
  return utf8.decode(EvmHex.toBytes(`0x${data.slice(138, 138 + 2 * bytes)}`))
}

/** The reason that an EntryPoint gives, the second of the error's words. */
const failedOperation = (data: EvmHex.Hex): EvmRevert => {
  const at = Number(word(data, 1) ?? 0n)
  const length = Number(word(data, at / 32) ?? 0n)
  const begin = 10 + 2 * at + 64
  if (!Number.isSafeInteger(at) || length > longestText) return other(data)
  return fromMessage(utf8.decode(EvmHex.toBytes(`0x${data.slice(begin, begin + 2 * length)}`)))
}

/** This error stands for both ends of the validity. Without the time it is taken as `NotYetValid`, which passes by itself. */
const outsideWindow = (data: EvmHex.Hex, time: bigint | undefined): EvmRevert => {
  const validBefore = word(data, 1)
  const expired = time !== undefined && validBefore !== undefined && time >= validBefore
  return { _tag: expired ? "Expired" : "NotYetValid" }
}

/** Keyed sequential nonces: the low 64 bits count the uses of the key, so a count above zero means that it was used. */
const sequentialNonce = (data: EvmHex.Hex): EvmRevert => {
  const uses = BigInt.asUintN(64, word(data, 1) ?? 0n)
  return uses > 0n ? { _tag: "UsedOrCanceled" } : other("the token requires nonces whose last 64 bits count from zero")
}

/**
 * Reads a revert. `data` is the call's return data, `message` the node's text, used without data. `time` is the
 * chain's, in seconds since 1970: some tokens need it, to tell an expired authorization from one that is not valid yet.
 */
export const fromCall = (revert: { readonly data: EvmHex.Hex; readonly message: string }, time?: bigint): EvmRevert => {
  const { data, message } = revert
  const selector = data.slice(0, 10)
  const reason = selectors[selector]
  if (reason !== undefined) return { _tag: reason }
  if (failedOperations.has(selector)) return failedOperation(data)
  switch (selector) {
    case errorString:
      return fromMessage(decodeString(data) ?? message)
    case panic:
      return other(`Panic 0x${(word(data, 0) ?? 0n).toString(16)}`)
    case invalidAuthorizationTime:
      return outsideWindow(data, time)
    case invalidAccountNonce:
      return sequentialNonce(data)
    default:
      return data === "0x" ? fromMessage(message) : other(data)
  }
}

/**
 * The reason why a simulated transfer reverts. Some tokens have one error for both ends of the validity; our clock decides
 * which end it is.
 */
export const explain = (revert: Parameters<typeof fromCall>[0]): Effect.Effect<EvmRevert> =>
  Effect.map(Clock.currentTimeMillis, (now) => fromCall(revert, BigInt(Math.floor(now / 1000))))

/** The reason why a call would fail now; `undefined` if it would not. A node that lags is not believed. */
export const refusal = Effect.fnUntraced(function* (
  { judge, rpc }: EvmLagGuard.EvmLagGuard,
  call: Parameters<EvmRpc.Shape["call"]>[0]
): Effect.fn.Return<string | undefined, ChainUnavailable> {
  const outcome = yield* judge(
    (block) => rpc.call(call, block),
    ({ _tag }) => _tag === "Reverted"
  )
  if (outcome._tag === "Returned") return undefined
  const reason = yield* explain(outcome)
  return reason._tag === "Other" ? reason.message : reason._tag
})
