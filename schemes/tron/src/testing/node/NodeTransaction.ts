/**
 * A transaction as the node reads it from bytes or JSON, with its id and size. The id is the hash of the signed part written again,
 * as in java-tron; for the encodings of all libraries that is the hash of the received bytes.
 */
import { sha256 } from "@noble/hashes/sha2.js"
import { bytesToHex, hexToBytes } from "@noble/hashes/utils.js"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

import * as TronContract from "../messages/TronContract.ts"
import * as TronMessage from "../messages/TronMessage.ts"
import * as TronMessageTable from "../messages/TronMessageTable.ts"

/** A transaction. */
export interface NodeTransaction {
  /** 32 bytes in hexadecimal. */
  readonly id: string
  readonly raw: TronMessage.Message
  /** The signed part in hexadecimal. */
  readonly rawHex: string
  /** Number of its contracts; an accepted transaction has exactly one. */
  readonly contracts: number
  readonly contract: TronContract.TronContract | undefined
  /** The contract's own message, to show it. */
  readonly parameter: TronMessage.Message
  readonly permissionId: number
  readonly signatures: ReadonlyArray<string>
  /** Bytes of the whole transaction. */
  readonly size: number
  /** Unix milliseconds. */
  readonly expiration: bigint
  /** Sun. */
  readonly feeLimit: bigint
  readonly referenceBytes: string
  readonly referenceHash: string
  /** Whether it has a memo, which costs a fee. */
  readonly hasMemo: boolean
}

const integer = Schema.BigInt.pipe(Schema.withDecodingDefaultKey(Effect.succeed(0n)))
const text = Schema.String.pipe(Schema.withDecodingDefaultKey(Effect.succeed("")))

const Contract = Schema.Struct({
  type: Schema.String.pipe(Schema.withDecodingDefaultKey(Effect.succeed("AccountCreateContract"))),
  parameter: Schema.Struct({ type_url: text, value: text }).pipe(Schema.withDecodingDefaultKey(Effect.succeed({}))),
  Permission_id: integer
})

const Raw = Schema.Struct({
  ref_block_bytes: text,
  ref_block_hash: text,
  expiration: integer,
  fee_limit: integer,
  data: text,
  contract: Schema.Array(Contract).pipe(Schema.withDecodingDefaultKey(Effect.succeed([])))
})

const decodeRaw = Schema.decodeUnknownEffect(Raw)

const malformed = (message: string) => new TronMessage.MessageMalformed({ message })

const readContract = Effect.fnUntraced(function* (contract: typeof Contract.Type) {
  const { type } = contract
  if (!TronMessageTable.isContractName(type))
    return yield* malformed(`the local node does not support the contract ${type}`)
  const table = TronMessageTable.contracts[type]
  const parameter = yield* TronMessage.fromBytes(table, hexToBytes(contract.parameter.value))
  return { parameter, contract: yield* TronContract.fromMessage(type, parameter) }
})

/** Makes a transaction from its signed part and its signatures. */
export const make = Effect.fnUntraced(function* (raw: TronMessage.Message, signatures: ReadonlyArray<string>) {
  const fields = yield* decodeRaw(raw).pipe(Effect.mapError(() => malformed("the raw data is invalid")))
  const [first] = fields.contract
  const read = first === undefined ? undefined : yield* readContract(first)
  const rawBytes = TronMessage.toBytes(TronMessageTable.raw, raw)
  const size = TronMessage.toBytes(TronMessageTable.transaction, { raw_data: raw, signature: signatures }).length
  const transaction: NodeTransaction = {
    id: bytesToHex(sha256(rawBytes)),
    raw,
    rawHex: bytesToHex(rawBytes),
    contracts: fields.contract.length,
    contract: read?.contract,
    parameter: read?.parameter ?? {},
    permissionId: Number(first?.Permission_id ?? 0n),
    signatures,
    size,
    expiration: fields.expiration,
    feeLimit: fields.fee_limit,
    referenceBytes: fields.ref_block_bytes,
    referenceHash: fields.ref_block_hash,
    hasMemo: fields.data !== ""
  }
  return transaction
})

const decodeSigned = Schema.decodeUnknownEffect(
  Schema.Struct({ signature: Schema.Array(Schema.String).pipe(Schema.withDecodingDefaultKey(Effect.succeed([]))) })
)

const fromMessage = Effect.fnUntraced(function* (message: TronMessage.Message) {
  const { signature } = yield* decodeSigned(message).pipe(
    Effect.mapError(() => malformed("the signatures are missing"))
  )
  const raw = message["raw_data"]
  return yield* make(TronMessage.isMessage(raw) ? raw : {}, signature)
})

/** Parses the bytes of `wallet/broadcasthex`. */
export const fromHex = Effect.fnUntraced(function* (hex: string) {
  const plain = hex.replace(/^0x/, "").toLowerCase()
  if (!/^(?:[0-9a-f]{2})+$/.test(plain)) return yield* malformed("hexadecimal was expected")
  return yield* fromMessage(yield* TronMessage.fromBytes(TronMessageTable.transaction, hexToBytes(plain)))
})

const JsonTransaction = Schema.Struct({
  raw_data: Schema.StructWithRest(
    Schema.Struct({
      contract: Schema.Array(
        Schema.Struct({
          type: Schema.String,
          parameter: Schema.Struct({ value: Schema.Unknown, type_url: Schema.optionalKey(Schema.String) }),
          Permission_id: Schema.optionalKey(Schema.Finite)
        })
      )
    }),
    [Schema.Record(Schema.String, Schema.Unknown)]
  ),
  signature: Schema.Array(Schema.String).pipe(Schema.withDecodingDefaultKey(Effect.succeed([])))
})

const decodeJson = Schema.decodeUnknownEffect(JsonTransaction)

/** Parses the JSON of `wallet/broadcasttransaction`, from `raw_data` alone: `raw_data_hex` and `txID` are ignored, as in java-tron. */
export const fromJson = Effect.fnUntraced(function* (json: unknown) {
  const { raw_data, signature } = yield* decodeJson(json).pipe(
    Effect.mapError(() => malformed("the JSON is not a transaction"))
  )
  const contract = yield* Effect.forEach(raw_data.contract, packContract)
  const raw = yield* TronMessage.fromJson(TronMessageTable.raw, { ...raw_data, contract })
  const signed = yield* TronMessage.fromJson(TronMessageTable.transaction, { signature })
  return yield* fromMessage({ ...signed, raw_data: raw })
})

const packContract = Effect.fnUntraced(function* (
  contract: (typeof JsonTransaction.Type)["raw_data"]["contract"][number]
) {
  const { parameter, type } = contract
  if (!TronMessageTable.isContractName(type))
    return yield* malformed(`the local node does not support the contract ${type}`)
  return {
    ...contract,
    parameter: pack(type, yield* TronMessage.fromJson(TronMessageTable.contracts[type], parameter.value))
  }
})

/** A contract's message as the parameter of a transaction. */
export const pack = (type: TronMessageTable.ContractName, message: TronMessage.Message) => ({
  type_url: `type.googleapis.com/protocol.${type}`,
  value: bytesToHex(TronMessage.toBytes(TronMessageTable.contracts[type], message))
})

/** The API's JSON of a transaction. */
export const toJson = (transaction: NodeTransaction, visible: boolean): Readonly<Record<string, unknown>> => {
  const { contract, id, parameter, permissionId, raw, rawHex, signatures } = transaction
  const contracts =
    contract === undefined
      ? []
      : [
          {
            parameter: {
              value: TronMessage.toJson(TronMessageTable.contracts[contract._tag], parameter, visible),
              type_url: `type.googleapis.com/protocol.${contract._tag}`
            },
            type: contract._tag,
            ...(permissionId !== 0 && { Permission_id: permissionId })
          }
        ]
  return {
    ...(signatures.length > 0 && { signature: signatures }),
    txID: id,
    raw_data: { ...TronMessage.toJson(TronMessageTable.raw, raw, visible), contract: contracts },
    raw_data_hex: rawHex
  }
}

/** The signed bytes in hexadecimal, as `wallet/broadcasthex` accepts them. */
export const toHex = ({ raw, signatures }: NodeTransaction): string =>
  bytesToHex(TronMessage.toBytes(TronMessageTable.transaction, { raw_data: raw, signature: signatures }))
