/**
 * TRON transactions as bytes. A payer's transaction is read strictly: a payment has exactly one form, the call
 * `transfer(address,uint256)` of a token by the payer's own permission, without memo, value or unknown fields, and exactly one
 * encoding. The same module writes that form, and the few others that a sponsor sends.
 */
import { sha256 } from "@noble/hashes/sha2.js"
import * as Result from "effect/Result"

import * as TronAddress from "../primitives/TronAddress.ts"
import * as TronHex from "../primitives/TronHex.ts"
import * as StrictProtobuf from "./StrictProtobuf.ts"

/** The fields of every transaction beside its contract. */
export interface Header {
  /** The low 16 bits of the reference block's number: 4 hexadecimal digits. */
  readonly refBlockBytes: string
  /** Bytes 8 to 16 of the reference block's id: 16 hexadecimal digits. */
  readonly refBlockHash: string
  /** Unix milliseconds; a block whose predecessor has this time or a later one does not include the transaction. */
  readonly expiration: bigint
  /** Any number below 2^63; nodes ignore it. */
  readonly timestamp: bigint
}

/** A transfer of a token. */
export interface TokenTransfer extends Header {
  readonly owner: TronAddress.Address
  readonly token: TronAddress.Address
  readonly to: TronAddress.Address
  /** In the smallest unit of the token. */
  readonly amount: bigint
  /** Most that its energy may cost the payer, in sun. */
  readonly feeLimit: bigint
}

/** The failure to read bytes as a payment: they are not a transaction, or one with more than a payment may have. */
export interface DecodeFailure {
  readonly detail: "raw_data" | "contract" | "addresses" | "call_data" | "reference_block"
  readonly message: string
}

/** A type of contract, by number and name. */
export interface ContractKind {
  readonly type: bigint
  readonly name: string
}

/** The call of a contract. */
export const triggerSmartContract: ContractKind = { type: 31n, name: "TriggerSmartContract" }

/** Longest raw data that is read, in bytes; a payment has about 211. */
export const maximumBytes = 512

const rawFields: StrictProtobuf.FieldKinds = {
  1: "bytes",
  4: "bytes",
  8: "integer",
  11: "bytes",
  14: "integer",
  18: "integer"
}
const contractFields: StrictProtobuf.FieldKinds = { 1: "integer", 2: "bytes" }
const anyFields: StrictProtobuf.FieldKinds = { 1: "bytes", 2: "bytes" }
const callFields: StrictProtobuf.FieldKinds = { 1: "bytes", 2: "bytes", 4: "bytes" }

const transferSelector = "a9059cbb"
const callDataBytes = 68
/** The selector, and the twelve zero bytes before an address in its word. */
const callDataHead = `${transferSelector}${"00".repeat(12)}`

const typeUrl = (name: string): string => `type.googleapis.com/protocol.${name}`
const text = new TextEncoder()

/** Reads the raw data of a payment. */
export const decodeTransfer = (raw: Uint8Array): Result.Result<TokenTransfer, DecodeFailure> => {
  const data = raw.length > maximumBytes ? Result.fail("it is too long") : StrictProtobuf.decode(raw, rawFields)
  if (Result.isFailure(data)) return failed("raw_data", `the raw data is not a plain transaction: ${data.failure}`)
  const call = callIn(data.success.bytes(11))
  if (Result.isFailure(call)) return failed("contract", `the contract is not a plain call: ${call.failure}`)
  const owner = TronAddress.fromBytes(call.success.bytes(1))
  const token = TronAddress.fromBytes(call.success.bytes(2))
  if (owner === undefined || token === undefined)
    return failed("addresses", "an address is not 21 bytes that begin with 0x41")
  const callData = TronHex.fromBytes(call.success.bytes(4))
  if (callData.length !== 2 * callDataBytes || !callData.startsWith(callDataHead)) {
    return failed("call_data", "the call is not exactly transfer(address,uint256)")
  }
  const refBlockBytes = TronHex.fromBytes(data.success.bytes(1))
  const refBlockHash = TronHex.fromBytes(data.success.bytes(4))
  if (refBlockBytes.length !== 4 || refBlockHash.length !== 16) {
    return failed("reference_block", "the reference block is not 2 bytes of a number and 8 of a hash")
  }
  return Result.succeed({
    owner,
    token,
    to: TronAddress.fromTail(callData.slice(0, 72)),
    amount: BigInt(`0x${callData.slice(72)}`),
    feeLimit: data.success.integer(18),
    expiration: data.success.integer(8),
    timestamp: data.success.integer(14),
    refBlockBytes,
    refBlockHash
  })
}

const failed = (detail: DecodeFailure["detail"], message: string) => Result.fail<DecodeFailure>({ detail, message })

const callIn = (bytes: Uint8Array): Result.Result<StrictProtobuf.Fields, string> =>
  Result.flatMap(StrictProtobuf.decode(bytes, contractFields), (contract) =>
    contract.integer(1) === triggerSmartContract.type
      ? Result.flatMap(StrictProtobuf.decode(contract.bytes(2), anyFields), callOf)
      : Result.fail(`its type is ${contract.integer(1)}, not ${triggerSmartContract.type}`)
  )

const callOf = (any: StrictProtobuf.Fields): Result.Result<StrictProtobuf.Fields, string> =>
  TronHex.fromBytes(any.bytes(1)) === callUrl
    ? StrictProtobuf.decode(any.bytes(2), callFields)
    : Result.fail(`its type URL is not ${typeUrl(triggerSmartContract.name)}`)

const callUrl = /* @__PURE__ */ TronHex.fromBytes(
  /* @__PURE__ */ text.encode(/* @__PURE__ */ typeUrl(triggerSmartContract.name))
)

/** The call data of a transfer: `transfer(address,uint256)`, 68 bytes in hexadecimal. */
export const transferCallData = (to: TronAddress.Address, amount: bigint): string =>
  `${transferSelector}${TronAddress.toWord(to)}${TronHex.toWord(amount)}`

/** Writes the raw data of a payment, as `decodeTransfer` reads it. */
export const encodeTransfer = (transfer: TokenTransfer): Uint8Array =>
  encodeRaw(
    triggerSmartContract,
    StrictProtobuf.encode([
      [1, TronHex.toBytes(transfer.owner)],
      [2, TronHex.toBytes(transfer.token)],
      [4, TronHex.toBytes(transferCallData(transfer.to, transfer.amount))]
    ]),
    transfer,
    transfer.feeLimit
  )

/** Writes the raw data of a transaction with one contract. */
export const encodeRaw = (kind: ContractKind, contract: Uint8Array, header: Header, feeLimit = 0n): Uint8Array =>
  StrictProtobuf.encode([
    [1, TronHex.toBytes(header.refBlockBytes)],
    [4, TronHex.toBytes(header.refBlockHash)],
    [8, header.expiration],
    [
      11,
      StrictProtobuf.encode([
        [1, kind.type],
        [
          2,
          StrictProtobuf.encode([
            [1, text.encode(typeUrl(kind.name))],
            [2, contract]
          ])
        ]
      ])
    ],
    [14, header.timestamp],
    [18, feeLimit]
  ])

/** A transaction's id: the SHA-256 of its raw data, 32 bytes. Payers sign it, and the chain includes it once. */
export const idBytes = (raw: Uint8Array): Uint8Array => sha256(raw)

/** A transaction's id as 64 hexadecimal digits. */
export const id = (raw: Uint8Array): string => TronHex.fromBytes(idBytes(raw))

/** Writes the signed transaction in hexadecimal: the raw data as it was signed, and one signature of 65 bytes. */
export const signed = (rawHex: string, signatureHex: string): string =>
  TronHex.fromBytes(
    StrictProtobuf.encode([
      [1, TronHex.toBytes(rawHex)],
      [2, TronHex.toBytes(signatureHex)]
    ])
  )

/** The raw data inside a signed transaction in hexadecimal; `undefined` if it is not one that `signed` writes. */
export const rawInside = (signedHex: string): Uint8Array | undefined => {
  if (!TronHex.isHex(signedHex)) return undefined
  const fields = StrictProtobuf.decode(TronHex.toBytes(signedHex), { 1: "bytes", 2: "bytes" })
  return Result.isSuccess(fields) ? fields.success.bytes(1) : undefined
}

/**
 * A transaction before it is signed, as wallets of this chain accept it: the JSON form beside its bytes. A signer must sign exactly
 * `raw_data_hex`.
 */
export interface Unsigned {
  readonly visible: false
  readonly txID: string
  readonly raw_data: {
    readonly contract: ReadonlyArray<{
      readonly parameter: { readonly value: Readonly<Record<string, string | number>>; readonly type_url: string }
      readonly type: string
    }>
    readonly ref_block_bytes: string
    readonly ref_block_hash: string
    readonly expiration: number
    readonly timestamp: number
    readonly fee_limit?: number
  }
  readonly raw_data_hex: string
}

/** Builds the JSON form of wallets. Its numbers must be below 2^53, because wallets use JavaScript numbers. */
export const toUnsigned = (
  raw: Uint8Array,
  { name }: ContractKind,
  value: Readonly<Record<string, string | number>>,
  header: Header,
  feeLimit = 0n
): Unsigned => ({
  visible: false,
  txID: id(raw),
  raw_data: {
    contract: [{ parameter: { value, type_url: typeUrl(name) }, type: name }],
    ref_block_bytes: header.refBlockBytes,
    ref_block_hash: header.refBlockHash,
    expiration: Number(header.expiration),
    timestamp: Number(header.timestamp),
    ...(feeLimit !== 0n && { fee_limit: Number(feeLimit) })
  },
  raw_data_hex: TronHex.fromBytes(raw)
})

/** A payment before it is signed. */
export const unsignedTransfer = (transfer: TokenTransfer): Unsigned =>
  toUnsigned(
    encodeTransfer(transfer),
    triggerSmartContract,
    {
      owner_address: transfer.owner,
      contract_address: transfer.token,
      data: transferCallData(transfer.to, transfer.amount)
    },
    transfer,
    transfer.feeLimit
  )
