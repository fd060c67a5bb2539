/**
 * EIP-3009 transfer authorizations: the typed data that a payer signs (EIP-712), the calldata that a facilitator sends to the
 * token, and the events that the token logs. All of it is computed offline and without a chain library; the digest is laid
 * out by hand because a facilitator computes it for every payment.
 */
import { keccak_256 } from "@noble/hashes/sha3.js"
import * as Amount from "@pontage/core/Amount"
import * as Schema from "effect/Schema"

import type { Keccak256 } from "../crypto/EvmCrypto.ts"
import * as EvmAddress from "../primitives/EvmAddress.ts"
import * as EvmHex from "../primitives/EvmHex.ts"

/**
 * A payer's permission to move `value` to `to`, once, while `validAfter < time < validBefore` (EIP-3009). Decoded from the
 * wire's decimal strings; times are seconds since 1970, the value is in the token's smallest unit, all below 2^256.
 */
export const TransferWithAuthorization = /* @__PURE__ */ Schema.Struct({
  from: EvmAddress.FromText,
  to: EvmAddress.FromText,
  value: Amount.FromText,
  validAfter: Amount.FromText,
  validBefore: Amount.FromText,
  nonce: EvmHex.Bytes32
})

export type TransferWithAuthorization = typeof TransferWithAuthorization.Type

/**
 * The EIP-712 domain of an authorization: the token's name and version, its chain and its address. Under a wrong name the
 * signature recovers to another account.
 */
export interface Domain {
  readonly name: string
  readonly version: string
  /** The EIP-155 chain id. */
  readonly chainId: number
  /** The token. */
  readonly verifyingContract: EvmAddress.Address
}

/** An authorization on the wire: numbers are decimal strings, and addresses have their checksum. */
export const onWire = (authorization: TransferWithAuthorization) => ({
  from: EvmAddress.checksum(authorization.from),
  to: EvmAddress.checksum(authorization.to),
  value: `${authorization.value}`,
  validAfter: `${authorization.validAfter}`,
  validBefore: `${authorization.validBefore}`,
  nonce: authorization.nonce
})

/** The EIP-712 types of an authorization, in the order EIP-3009 fixes. */
export const types = {
  TransferWithAuthorization: [
    { name: "from", type: "address" },
    { name: "to", type: "address" },
    { name: "value", type: "uint256" },
    { name: "validAfter", type: "uint256" },
    { name: "validBefore", type: "uint256" },
    { name: "nonce", type: "bytes32" }
  ]
} as const

const domainTypes = [
  { name: "name", type: "string" },
  { name: "version", type: "string" },
  { name: "chainId", type: "uint256" },
  { name: "verifyingContract", type: "address" }
] as const

/** The same terms, signed for a recipient that has to submit them itself (EIP-3009, `receiveWithAuthorization`). */
export const receiveTypes = { ReceiveWithAuthorization: types.TransferWithAuthorization } as const

/** The input of a signer; a viem account's `signTypedData` takes it as it is. */
export interface TypedData {
  readonly domain: Domain
  readonly types: typeof types
  readonly primaryType: "TransferWithAuthorization"
  readonly message: TransferWithAuthorization
}

/** The authorization as the input of a signer. */
export const typedData = (domain: Domain, message: TransferWithAuthorization): TypedData => ({
  domain,
  types,
  primaryType: "TransferWithAuthorization",
  message
})

/** The input of a signer for an authorization that only its recipient may submit. */
export interface ReceiptTypedData {
  readonly domain: Domain
  readonly types: typeof receiveTypes
  readonly primaryType: "ReceiveWithAuthorization"
  readonly message: TransferWithAuthorization
}

/** The authorization of a recipient that submits it itself, as the input of a signer. */
export const typedReceipt = (domain: Domain, message: TransferWithAuthorization): ReceiptTypedData => ({
  domain,
  types: receiveTypes,
  primaryType: "ReceiveWithAuthorization",
  message
})

/**
 * The second parameter of an EIP-1193 provider's `eth_signTypedData_v4`: the typed data as JSON, with numbers as decimal
 * strings and with the domain's own type.
 */
export const toJson = (data: {
  readonly domain: Partial<Record<keyof Domain, unknown>>
  readonly types: object
  readonly primaryType: string
  readonly message: object
}): string => {
  const EIP712Domain = domainTypes.filter(({ name }) => data.domain[name] !== undefined)
  return JSON.stringify({ ...data, types: { EIP712Domain, ...data.types } }, (_, value: unknown) =>
    typeof value === "bigint" ? value.toString() : value
  )
}

const utf8 = new TextEncoder()
const hashText = (text: string): Uint8Array => keccak_256(utf8.encode(text))

// A payer needs nothing below: constants computed at load are marked pure, so that its bundle leaves them out.
const domainTypeHash = /* @__PURE__ */ hashText(
  "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"
)
const typeHash = /* @__PURE__ */ hashText(
  "TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)"
)
const receiveTypeHash = /* @__PURE__ */ hashText(
  "ReceiveWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)"
)

const separators = new WeakMap<Domain, Uint8Array>()

const computeSeparator = ({ name, version, chainId, verifyingContract }: Domain): Uint8Array => {
  const words = new Uint8Array(160)
  words.set(domainTypeHash)
  words.set(hashText(name), 32)
  words.set(hashText(version), 64)
  new DataView(words.buffer).setBigUint64(120, BigInt(chainId))
  EvmHex.write(verifyingContract, words, 140, 20)
  return keccak_256(words)
}

/**
 * The EIP-712 domain separator, 32 bytes, as a token's `DOMAIN_SEPARATOR()` returns it. It is cached as long as the domain
 * object lives; neither the domain nor these bytes may be changed after the first use.
 */
export const domainSeparator = (domain: Domain): Uint8Array => {
  const known = separators.get(domain)
  if (known !== undefined) return known
  const separator = computeSeparator(domain)
  separators.set(domain, separator)
  return separator
}

const startingWith = (head: ArrayLike<number>, length: number) => {
  const bytes = new Uint8Array(length)
  bytes.set(head)
  return bytes
}
const viewOf = ({ buffer }: Uint8Array<ArrayBuffer>) => new DataView(buffer)

const struct = /* @__PURE__ */ new Uint8Array(224)
const structView = /* @__PURE__ */ viewOf(struct)
const envelope = /* @__PURE__ */ startingWith([0x19, 0x01], 66)

const largestWord = 2n ** 64n - 1n

const writeNumber = (offset: number, value: bigint): void => {
  const small = value <= largestWord
  structView.setBigUint64(offset, small ? 0n : value >> 192n)
  structView.setBigUint64(offset + 8, small ? 0n : value >> 128n)
  structView.setBigUint64(offset + 16, small ? 0n : value >> 64n)
  structView.setBigUint64(offset + 24, value)
}

/**
 * The 32 bytes a payer signs (EIP-712). The authorization must be one that {@link TransferWithAuthorization} decodes: its
 * numbers are not checked again.
 */
export const digest = (
  domain: Domain,
  authorization: TransferWithAuthorization,
  keccak256: Keccak256 = keccak_256
): Uint8Array => digestAs(typeHash, domain, authorization, keccak256)

/** The 32 bytes that a payer signs for a recipient that submits the authorization itself. */
export const receiveDigest = (
  domain: Domain,
  authorization: TransferWithAuthorization,
  keccak256: Keccak256 = keccak_256
): Uint8Array => digestAs(receiveTypeHash, domain, authorization, keccak256)

/** Every field is written anew, the type's hash too: a call that throws leaves nothing to the next one. */
const digestAs = (
  type: Uint8Array,
  domain: Domain,
  authorization: TransferWithAuthorization,
  keccak256: Keccak256
): Uint8Array => {
  struct.set(type)
  EvmHex.write(authorization.from, struct, 44, 20)
  EvmHex.write(authorization.to, struct, 76, 20)
  writeNumber(96, authorization.value)
  writeNumber(128, authorization.validAfter)
  writeNumber(160, authorization.validBefore)
  EvmHex.write(authorization.nonce, struct, 192, 32)
  envelope.set(domainSeparator(domain), 2)
  envelope.set(keccak256(struct), 34)
  return keccak256(envelope)
}

const addressWord = (address: EvmAddress.Address): string => `000000000000000000000000${address.slice(2)}`

const encodeStruct = (authorization: TransferWithAuthorization): string =>
  addressWord(authorization.from) +
  addressWord(authorization.to) +
  EvmHex.toWord(authorization.value) +
  EvmHex.toWord(authorization.validAfter) +
  EvmHex.toWord(authorization.validBefore) +
  authorization.nonce.slice(2)

/**
 * Calldata of `transferWithAuthorization(…, uint8 v, bytes32 r, bytes32 s)`, selector 0xe3ee160e, a function of every
 * EIP-3009 token. `signature` is 65 bytes: r, s, v.
 */
export const encodeTransferByParts = (authorization: TransferWithAuthorization, signature: EvmHex.Hex): EvmHex.Hex =>
  `0xe3ee160e${encodeStruct(authorization)}${signature.slice(130).padStart(64, "0")}${signature.slice(2, 130)}`

/**
 * Calldata of `transferWithAuthorization(…, bytes signature)`, selector 0xcf092995, for signatures of contract accounts; a
 * function of newer tokens.
 */
export const encodeTransferByBytes = (authorization: TransferWithAuthorization, signature: EvmHex.Hex): EvmHex.Hex => {
  const bytes = signature.slice(2)
  const padded = bytes.padEnd(Math.ceil(bytes.length / 64) * 64, "0")
  return `0xcf092995${encodeStruct(authorization)}${EvmHex.toWord(224)}${EvmHex.toWord(bytes.length / 2)}${padded}`
}

/**
 * Calldata of `authorizationState(address, bytes32)`, selector 0xe94a0102, which returns whether the nonce is used or
 * canceled.
 */
export const encodeAuthorizationState = (authorizer: EvmAddress.Address, nonce: EvmHex.Hex): EvmHex.Hex =>
  `0xe94a0102${addressWord(authorizer)}${nonce.slice(2)}`

/** First topic of `AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce)`. */
export const authorizationUsedTopic = "0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5"

/** First topic of `AuthorizationCanceled(address indexed authorizer, bytes32 indexed nonce)`. */
export const authorizationCanceledTopic = "0x1cdd46ff242716cdaa72d159d339a485b3438398348d68f09d7c8c0a59353d81"

/** First topic of `Transfer(address indexed from, address indexed to, uint256 value)` (EIP-20). */
export const transferTopic = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"

/** An address as a topic or a word of calldata: 32 bytes. */
export const addressTopic = (address: EvmAddress.Address): EvmHex.Hex => `0x${addressWord(address)}`
