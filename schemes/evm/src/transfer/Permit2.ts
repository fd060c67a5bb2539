/**
 * Transfers by Permit2 with the proxy of x402 as their spender: the typed data that a payer signs (EIP-712), the call that
 * submits them, and the events of Permit2 and of the proxy. The payer has approved Permit2 in the token before; the
 * signature fixes token, amount, recipient and validity. Source: Permit2's `SignatureTransfer`, and the specification of
 * `exact` on EVM (x402, asset transfer method `permit2`).
 */
import { keccak_256 } from "@noble/hashes/sha3.js"
import * as Amount from "@pontage/core/Amount"
import * as Schema from "effect/Schema"

import type { Keccak256 } from "../crypto/EvmCrypto.ts"
import * as TypedDigest from "../crypto/TypedDigest.ts"
import * as AbiEncoding from "../primitives/AbiEncoding.ts"
import * as EvmAddress from "../primitives/EvmAddress.ts"
import * as EvmHex from "../primitives/EvmHex.ts"
import type * as Eip2612 from "./Eip2612.ts"

const parsed = (text: string): EvmAddress.Address => EvmAddress.fromTail(EvmHex.fromTrusted(text))

/** Permit2, at the same address on every chain. */
export const address = /* @__PURE__ */ parsed("0x000000000022D473030F116dDEE9F6B43aC78BA3")

/** The contract `x402ExactPermit2Proxy`, the spender of every transfer, at the same address on every chain. */
export const proxy = /* @__PURE__ */ parsed("0x402085c248EeA27D92E8b30b2C58ed07f9E20001")

/**
 * A payer's permission to move `permitted.amount` of `permitted.token` to `witness.to`, once, in a block whose time is from
 * `witness.validAfter` to `deadline` inclusive. Decoded from the wire's decimal strings; times are seconds since 1970. The
 * nonces have no order: Permit2 keeps a bit of each.
 */
export const PermitTransfer = /* @__PURE__ */ Schema.Struct({
  from: EvmAddress.FromText,
  permitted: /* @__PURE__ */ Schema.Struct({ token: EvmAddress.FromText, amount: Amount.FromText }),
  spender: EvmAddress.FromText,
  nonce: Amount.FromText,
  deadline: Amount.FromText,
  witness: /* @__PURE__ */ Schema.Struct({ to: EvmAddress.FromText, validAfter: Amount.FromText })
})

export type PermitTransfer = typeof PermitTransfer.Type

/** The EIP-712 types of a transfer, in the order that Permit2 and the proxy fix. */
export const types = {
  PermitWitnessTransferFrom: [
    { name: "permitted", type: "TokenPermissions" },
    { name: "spender", type: "address" },
    { name: "nonce", type: "uint256" },
    { name: "deadline", type: "uint256" },
    { name: "witness", type: "Witness" }
  ],
  TokenPermissions: [
    { name: "token", type: "address" },
    { name: "amount", type: "uint256" }
  ],
  Witness: [
    { name: "to", type: "address" },
    { name: "validAfter", type: "uint256" }
  ]
} as const

/** The input of a signer. */
export interface TypedData {
  readonly domain: {
    readonly name: "Permit2"
    readonly chainId: number
    readonly verifyingContract: EvmAddress.Address
  }
  readonly types: typeof types
  readonly primaryType: "PermitWitnessTransferFrom"
  readonly message: Omit<PermitTransfer, "from">
}

/** The transfer as the input of a signer. */
export const typedData = (
  chainId: number,
  { deadline, nonce, permitted, spender, witness }: PermitTransfer
): TypedData => ({
  domain: { name: "Permit2", chainId, verifyingContract: address },
  types,
  primaryType: "PermitWitnessTransferFrom",
  message: { permitted, spender, nonce, deadline, witness }
})

// A payer needs nothing below: constants computed at load are marked pure, so that its bundle leaves them out.
const permissionTypeHash = /* @__PURE__ */ TypedDigest.textHash("TokenPermissions(address token,uint256 amount)")
const witnessTypeHash = /* @__PURE__ */ TypedDigest.textHash("Witness(address to,uint256 validAfter)")
const typeHash = /* @__PURE__ */ TypedDigest.textHash(
  "PermitWitnessTransferFrom(TokenPermissions permitted,address spender,uint256 nonce,uint256 deadline,Witness witness)TokenPermissions(address token,uint256 amount)Witness(address to,uint256 validAfter)"
)
const domainHead = /* @__PURE__ */ (() =>
  TypedDigest.textHash("EIP712Domain(string name,uint256 chainId,address verifyingContract)") +
  TypedDigest.textHash("Permit2"))()

/** Permit2's EIP-712 domain separator on a chain, 32 bytes, as its `DOMAIN_SEPARATOR()` returns it. */
export const domainSeparator = (chainId: number, keccak256: Keccak256 = keccak_256): EvmHex.Hex =>
  `0x${TypedDigest.wordsHash(domainHead + EvmHex.toWord(chainId) + AbiEncoding.address(address), keccak256)}`

/** The terms that are signed; the signature names the payer. */
type SignedTerms = Omit<PermitTransfer, "from">

const termsOf = ({ deadline, nonce, permitted }: SignedTerms) => ({
  permission: AbiEncoding.address(permitted.token) + EvmHex.toWord(permitted.amount),
  times: EvmHex.toWord(nonce) + EvmHex.toWord(deadline)
})

const witnessOf = ({ witness: { to, validAfter } }: SignedTerms): string =>
  AbiEncoding.address(to) + EvmHex.toWord(validAfter)

/** The 32 bytes that a payer signs (EIP-712). */
export const digest = (chainId: number, permit: SignedTerms, keccak256: Keccak256 = keccak_256): Uint8Array => {
  const hashOf = (words: string): string => TypedDigest.wordsHash(words, keccak256)
  const { permission, times } = termsOf(permit)
  const struct = hashOf(
    typeHash +
      hashOf(permissionTypeHash + permission) +
      AbiEncoding.address(permit.spender) +
      times +
      hashOf(witnessTypeHash + witnessOf(permit))
  )
  return TypedDigest.of(domainSeparator(chainId, keccak256).slice(2), struct, keccak256)
}

/** settle(((address,uint256),uint256,uint256),address,(address,uint256),bytes) of the proxy */
const settleSelector = "0x13cd3b53"
/** settleWithPermit((uint256,uint256,bytes32,bytes32,uint8),…) of the proxy, the rest as in `settle` */
const settleWithPermitSelector = "0xfa340378"

/** The words of the proxy's call that name a transfer: all that the payer has signed. */
const wordsOf = (permit: PermitTransfer): string => {
  const { permission, times } = termsOf(permit)
  return permission + times + AbiEncoding.address(permit.from) + witnessOf(permit)
}

/** The digits of an approval's words, in front of those of the transfer. */
const approvalDigits = 5 * 64

/** The proxy's call that submits a transfer, behind the approval of Permit2 where there is one (EIP-2612). */
export const encodeSettle = (
  permit: PermitTransfer,
  signature: EvmHex.Hex,
  approval: Eip2612.SignedApproval | undefined
): EvmHex.Hex => {
  const digits = wordsOf(permit).match(/.{64}/g) ?? []
  if (approval === undefined)
    return `${settleSelector}${AbiEncoding.parameters([...digits, AbiEncoding.bytes(signature)])}`
  const { amount, deadline } = approval
  const [r, s, v] = [approval.signature.slice(2, 66), approval.signature.slice(66, 130), approval.signature.slice(130)]
  const words = [EvmHex.toWord(amount), EvmHex.toWord(deadline), r, s, v.padStart(64, "0")]
  return `${settleWithPermitSelector}${AbiEncoding.parameters([...words, ...digits, AbiEncoding.bytes(signature)])}`
}

/** Whether a transaction is a call of the proxy that submits exactly this transfer. */
export const isSubmitted = (
  permit: PermitTransfer,
  { input, to }: { readonly to: string | null; readonly input: EvmHex.Hex }
): boolean => {
  if (to !== proxy) return false
  const words = wordsOf(permit)
  const at = input.startsWith(settleSelector)
    ? 10
    : input.startsWith(settleWithPermitSelector)
      ? 10 + approvalDigits
      : undefined
  return at !== undefined && input.startsWith(words, at)
}

/** The word of Permit2's bitmap that has the bit of a nonce, and that bit. */
export const bitOf = ({ nonce }: Pick<PermitTransfer, "nonce">): { readonly word: bigint; readonly mask: bigint } => ({
  word: nonce >> 8n,
  mask: 1n << (nonce & 255n)
})

/** Calldata of `nonceBitmap(address,uint256)` of Permit2, which returns the word of a nonce's bit. */
export const encodeNonceBitmap = (permit: PermitTransfer): EvmHex.Hex =>
  `0x4fe02b44${AbiEncoding.address(permit.from)}${EvmHex.toWord(bitOf(permit).word)}`

/** First topics of `Settled()` and `SettledWithPermit()` of the proxy. */
export const settledTopics: ReadonlySet<string> = new Set([
  "0x97088ec3606cfe8cc112180570d03fcde05f9b8e1bfef8e27784eaf5dd5691b6",
  "0xde5b89d10fc800c459329c382fabfcad0be0ed7e5328e01fae04e507b09ef5d8"
])

/** First topic of `UnorderedNonceInvalidation(address indexed owner, uint256 word, uint256 mask)` of Permit2. */
export const invalidationTopic = "0x3704902f963766a4e561bbaab6e6cdc1b1dd12f6e9e99648da8843b3f46b918d"
