/**
 * The dollar token of the tests (`DollarToken.sol`) as a model: the same selectors, checks in the same order, events, and words
 * of refusal. A call that the contract has and the model lacks is a defect, never an answer.
 */
import { Eip3009, type EvmAddress, type EvmCrypto, EvmHex, EvmSignature } from "@pontage/evm"

import { type AbiWords, addressWord, errorData, read } from "./AbiWords.ts"
import type { ModelCode, StateDraft } from "./EvmModelState.ts"
import type { GasMeter } from "./GasMeter.ts"

/** A token: where it is, what its signatures are made under, who may mint. */
export interface ModelToken {
  readonly domain: Eip3009.Domain
  readonly decimals: number
  readonly owner: EvmAddress.Address
}

/** The environment of a call. */
export interface CallSetting {
  readonly draft: StateDraft
  readonly gas: GasMeter
  readonly caller: EvmAddress.Address
  /** The block's time, in seconds since 1970. */
  readonly time: bigint
  /** The value of a slot when the transaction began. */
  readonly original: (name: string) => bigint
  readonly code: ModelCode
  readonly crypto: EvmCrypto.Shape
}

/**
 * The result of a call: its data, and whether it reverted. A call that reverts leaves its draft to be thrown away.
 */
export interface CallEnd {
  readonly reverted: boolean
  readonly data: EvmHex.Hex
}

/** The names under which a token's storage is in the state. */
export const slots = {
  balance: (token: string, account: string) => `${token} balance ${account}`,
  used: (token: string, authorizer: string, nonce: string) => `${token} used ${authorizer} ${nonce}`,
  blocked: (token: string, account: string) => `${token} blocked ${account}`,
  paused: (token: string) => `${token} paused`,
  supply: (token: string) => `${token} supply`
}

/** Calls a token. */
export const call = (token: ModelToken, setting: CallSetting, data: EvmHex.Hex): CallEnd => {
  const handler = functions[data.slice(2, 10)]
  if (handler === undefined) {
    const missing = unmodelled[data.slice(2, 10)]
    if (missing !== undefined) throw new Error(`the modelled token has no ${missing}`)
    return { reverted: true, data: "0x" }
  }
  const end = handler(onToken(token, setting), read(data.slice(10)))
  return typeof end === "string" ? { reverted: false, data: end } : { reverted: true, data: end.revert }
}

/** The return or revert data of a function. */
type End = EvmHex.Hex | { readonly revert: EvmHex.Hex }

type Handler = (on: OnToken, words: AbiWords) => End

const revert = (words: string): End => ({ revert: errorData(words) })

/** Solidity's decoder refuses arguments without words. */
const malformed: End = { revert: "0x" }

/** Storage, signatures and events of one token in one call. */
interface OnToken extends CallSetting {
  readonly token: ModelToken
  readonly address: EvmAddress.Address
  readonly load: (slot: string) => bigint
  readonly store: (slot: string, value: bigint) => void
  readonly log: (topics: ReadonlyArray<EvmHex.Hex>, data: EvmHex.Hex) => void
}

const onToken = (token: ModelToken, setting: CallSetting): OnToken => {
  const { draft, gas, original } = setting
  const address = token.domain.verifyingContract
  return {
    ...setting,
    token,
    address,
    load: (slot) => {
      gas.load(slot)
      return draft.get(slot)
    },
    store: (slot, value) => {
      gas.store(slot, original(slot), draft.get(slot), value)
      draft.set(slot, value)
    },
    log: (topics, data) => {
      gas.burn(375n * BigInt(1 + topics.length) + 8n * BigInt(data.length / 2 - 1))
      draft.emit({ address, topics, data })
    }
  }
}

const word = (value: bigint): EvmHex.Hex => `0x${EvmHex.toWord(value)}`

const none: EvmHex.Hex = "0x"

/** Whether it is paused, or one of these is blocked: the words of the first that is. */
const barred = ({ address, load }: OnToken, ...accounts: ReadonlyArray<EvmAddress.Address>): End | undefined => {
  if (load(slots.paused(address)) !== 0n) return revert("Pausable: paused")
  return accounts.some((account) => load(slots.blocked(address, account)) !== 0n)
    ? revert("Blacklistable: account is blacklisted")
    : undefined
}

const zeroAddress = `0x${"0".repeat(40)}`

const moved = (on: OnToken, from: EvmAddress.Address, to: EvmAddress.Address, value: bigint): End | undefined => {
  on.gas.burn(instructions.movement)
  if (from === zeroAddress) return revert("ERC20: transfer from the zero address")
  if (to === zeroAddress) return revert("ERC20: transfer to the zero address")
  const [source, target] = [slots.balance(on.address, from), slots.balance(on.address, to)]
  const balance = on.load(source)
  if (value > balance) return revert("ERC20: transfer amount exceeds balance")
  on.store(source, balance - value)
  on.store(target, on.load(target) + value)
  on.log([Eip3009.transferTopic, Eip3009.addressTopic(from), Eip3009.addressTopic(to)], word(value))
  return undefined
}

/** Gas for the instructions of each part, as a real node counts it; storage, events and calls come on top. */
const instructions = {
  short: 500n,
  transfer: 1_000n,
  authorized: 1_180n,
  digest: 1_650n,
  cancellation: 700n,
  length: 300n,
  recovery: 3_620n,
  mark: 550n,
  movement: 350n
}

/** Why a signature is not its account's: an account with code would be asked, and no code here answers. */
const misSigned = (on: OnToken, account: EvmAddress.Address, digest: Uint8Array, signature: EvmHex.Hex) => {
  on.gas.touch(account)
  on.gas.burn(instructions.length)
  const refused = "FiatTokenV2: invalid signature"
  if (on.code.has(account)) return revert(refused)
  const read = EvmSignature.fromText(signature)
  if (read._tag !== "Ecdsa") return revert(`ECRecover: ${flaws[flawOf(read)]}`)
  on.gas.burn(instructions.recovery)
  const signer = EvmSignature.recoverAddress(digest, read, on.crypto)
  if (signer === undefined) return revert("ECRecover: invalid signature")
  return signer === account ? undefined : revert(refused)
}

const flaws = {
  compact: "invalid signature length",
  length: "invalid signature length",
  high_s: "invalid signature 's' value",
  recovery_id: "invalid signature 'v' value"
}

/** The contract looks at the length, then at s, then at v. */
const flawOf = (read: Exclude<EvmSignature.EvmSignature, EvmSignature.Ecdsa>): keyof typeof flaws => {
  if (read._tag !== "ContractOnly") return "length"
  if (read.irregularity !== "recovery_id") return read.irregularity
  const twin = EvmSignature.fromText(`${read.hex.slice(0, 130)}1b`)
  return twin._tag === "ContractOnly" ? twin.irregularity : "recovery_id"
}

const ended = (on: OnToken, authorizer: EvmAddress.Address, nonce: EvmHex.Hex): End | undefined =>
  on.load(slots.used(on.address, authorizer, nonce)) === 0n
    ? undefined
    : revert("FiatTokenV2: authorization is used or canceled")

/** The contract makes its domain separator anew for every signature, of the name and version in its storage. */
const hashed = ({ address, gas }: OnToken): void => {
  gas.burn(instructions.digest)
  for (const part of ["name", "version"]) gas.load(`${address} ${part}`)
}

/** The six words that all authorized transfers begin with. */
const authorizationOf = (words: AbiWords): Eip3009.TransferWithAuthorization | undefined => {
  const [from, to, nonce] = [words.address(0), words.address(1), words.bytes32(5)]
  const [value, validAfter, validBefore] = [words.number(2), words.number(3), words.number(4)]
  if (from === undefined || to === undefined || nonce === undefined) return undefined
  if (value === undefined || validAfter === undefined || validBefore === undefined) return undefined
  return { from, to, value, validAfter, validBefore, nonce }
}

const transferBySignature = (on: OnToken, words: AbiWords, signature: EvmHex.Hex | undefined): End => {
  const authorization = authorizationOf(words)
  if (authorization === undefined || signature === undefined) return malformed
  const { from, nonce, to, validAfter, validBefore, value } = authorization
  on.gas.burn(instructions.authorized)
  const bar = barred(on, from, to)
  if (bar !== undefined) return bar
  hashed(on)
  if (on.time <= validAfter) return revert("FiatTokenV2: authorization is not yet valid")
  if (on.time >= validBefore) return revert("FiatTokenV2: authorization is expired")
  const digest = () => Eip3009.digest(on.token.domain, authorization, on.crypto.keccak256)
  const wrong = ended(on, from, nonce) ?? misSigned(on, from, digest(), signature)
  if (wrong !== undefined) return wrong
  on.gas.burn(instructions.mark)
  on.store(slots.used(on.address, from, nonce), 1n)
  on.log([Eip3009.authorizationUsedTopic, Eip3009.addressTopic(from), nonce], none)
  return moved(on, from, to, value) ?? none
}

/** v, r and s in words of their own, as the bytes that they make. */
const joined = (words: AbiWords, first: number): EvmHex.Hex | undefined => {
  const [v, r, s] = [words.number(first, 8), words.bytes32(first + 1), words.bytes32(first + 2)]
  if (v === undefined || r === undefined || s === undefined) return undefined
  return `${r}${s.slice(2)}${v.toString(16).padStart(2, "0")}`
}

/** Keccak-256 of `CancelAuthorization(address authorizer,bytes32 nonce)`. */
const cancelTypeHash = "158b0a9edf7a828aad02f63cd515c68ef2f50ba807396f6d12842833a1597429"

/** The digest that a payer signs to cancel an authorization, as 32 bytes. */
export const cancellationDigest = (
  { domain }: ModelToken,
  authorizer: EvmAddress.Address,
  nonce: EvmHex.Hex,
  { keccak256 }: EvmCrypto.Shape
): Uint8Array => {
  const message = keccak256(EvmHex.toBytes(`0x${cancelTypeHash}${addressWord(authorizer)}${nonce.slice(2)}`))
  const separator = EvmHex.fromBytes(Eip3009.domainSeparator(domain)).slice(2)
  return keccak256(EvmHex.toBytes(`0x1901${separator}${EvmHex.fromBytes(message).slice(2)}`))
}

const cancelBySignature = (on: OnToken, words: AbiWords, signature: EvmHex.Hex | undefined): End => {
  const [authorizer, nonce] = [words.address(0), words.bytes32(1)]
  if (authorizer === undefined || nonce === undefined || signature === undefined) return malformed
  on.gas.burn(instructions.cancellation)
  const gone = barred(on) ?? ended(on, authorizer, nonce)
  if (gone !== undefined) return gone
  hashed(on)
  const wrong = misSigned(on, authorizer, cancellationDigest(on.token, authorizer, nonce, on.crypto), signature)
  if (wrong !== undefined) return wrong
  on.store(slots.used(on.address, authorizer, nonce), 1n)
  on.log([Eip3009.authorizationCanceledTopic, Eip3009.addressTopic(authorizer), nonce], none)
  return none
}

const onlyOwner =
  (run: Handler): Handler =>
  (on, words) =>
    on.caller === on.token.owner ? run(on, words) : revert("Ownable: caller is not the owner")

const getter =
  (slot: (address: string, account: EvmAddress.Address) => string): Handler =>
  ({ address, load }, words) => {
    const account = words.address(0)
    return account === undefined ? malformed : word(load(slot(address, account)))
  }

/** First topics of the events that only an owner causes. */
const blacklistedTopic = "0xffa4e6181777692565cf28528fc88fd1516ea86b56da075235fa575af6a4b855"
const unBlacklistedTopic = "0x117e3210bb9aa7d9baff172026820255c6f6c30ba8999d1c2fd88e2848137c4e"
const pauseTopic = "0x6985a02210a168e66602d3235cb6db0e70f92b3ba4d376a33c0f3d9434bff625"
const unpauseTopic = "0x7805862f689e2f13df9f062ff482ad3ad112aca9e0847911ed832e158c525b33"

const blocking = (value: bigint, topic: EvmHex.Hex) =>
  onlyOwner((on, words) => {
    const account = words.address(0)
    if (account === undefined) return malformed
    on.gas.burn(instructions.short)
    on.store(slots.blocked(on.address, account), value)
    on.log([topic, Eip3009.addressTopic(account)], none)
    return none
  })

const pausing = (value: bigint, topic: EvmHex.Hex) =>
  onlyOwner((on) => {
    on.store(slots.paused(on.address), value)
    on.log([topic], none)
    return none
  })

const mint: Handler = (on, words) => {
  const [to, value] = [words.address(0), words.number(1)]
  if (to === undefined || value === undefined) return malformed
  on.gas.burn(instructions.transfer)
  for (const slot of [slots.supply(on.address), slots.balance(on.address, to)]) on.store(slot, on.load(slot) + value)
  on.log([Eip3009.transferTopic, word(0n), Eip3009.addressTopic(to)], word(value))
  return none
}

const transfer: Handler = (on, words) => {
  const [to, value] = [words.address(0), words.number(1)]
  if (to === undefined || value === undefined) return malformed
  on.gas.burn(instructions.transfer)
  return barred(on, on.caller, to) ?? moved(on, on.caller, to, value) ?? word(1n)
}

const authorizationState: Handler = ({ address, load }, words) => {
  const [authorizer, nonce] = [words.address(0), words.bytes32(1)]
  return authorizer === undefined || nonce === undefined
    ? malformed
    : word(load(slots.used(address, authorizer, nonce)))
}

/** By selector. */
const functions: Readonly<Record<string, Handler>> = {
  "313ce567": ({ token }) => word(BigInt(token.decimals)),
  "3644e515": ({ token }) => EvmHex.fromBytes(Eip3009.domainSeparator(token.domain)),
  "18160ddd": ({ address, load }) => word(load(slots.supply(address))),
  "5c975abb": ({ address, load }) => word(load(slots.paused(address))),
  "8da5cb5b": ({ token }) => `0x${addressWord(token.owner)}`,
  "70a08231": getter(slots.balance),
  fe575a87: getter(slots.blocked),
  e94a0102: authorizationState,
  a9059cbb: transfer,
  "40c10f19": onlyOwner(mint),
  f9f92be4: blocking(1n, blacklistedTopic),
  "1a895266": blocking(0n, unBlacklistedTopic),
  "8456cb59": pausing(1n, pauseTopic),
  "3f4ba83a": pausing(0n, unpauseTopic),
  e3ee160e: (on, words) => transferBySignature(on, words, joined(words, 6)),
  cf092995: (on, words) => transferBySignature(on, words, words.bytes(6)),
  "5a049a70": (on, words) => cancelBySignature(on, words, joined(words, 2)),
  b7b72899: (on, words) => cancelBySignature(on, words, words.bytes(2))
}

/** The contract's other functions, which nothing here calls. */
const unmodelled: Readonly<Record<string, string>> = {
  "06fdde03": "name",
  "95d89b41": "symbol",
  "54fd4d50": "version",
  "7ecebe00": "nonces",
  dd62ed3e: "allowance",
  "095ea7b3": "approve",
  "23b872dd": "transferFrom",
  d505accf: "permit",
  "9fd5a6cf": "permit (bytes)",
  ef55bec6: "receiveWithAuthorization",
  "88b7ab63": "receiveWithAuthorization (bytes)",
  a0cc6a68: "TRANSFER_WITH_AUTHORIZATION_TYPEHASH",
  "7f2eecc3": "RECEIVE_WITH_AUTHORIZATION_TYPEHASH",
  d9169487: "CANCEL_AUTHORIZATION_TYPEHASH",
  "30adf81f": "PERMIT_TYPEHASH"
}
