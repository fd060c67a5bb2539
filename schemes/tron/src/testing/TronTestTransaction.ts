/** Transactions of the local chain's own accounts, built on the newest block and signed with their keys. */
import { secp256k1 } from "@noble/curves/secp256k1.js"
import * as Effect from "effect/Effect"

import * as TronHex from "../primitives/TronHex.ts"
import * as DevBlock from "./ledger/DevBlock.ts"
import type { DevChain } from "./ledger/DevChain.ts"
import * as TronMessage from "./messages/TronMessage.ts"
import { type ContractName, contracts } from "./messages/TronMessageTable.ts"
import * as NodeTransaction from "./node/NodeTransaction.ts"
import type { TestAccount } from "./TronTestAccounts.ts"

/** A transaction to build, in terms of the HTTP API: a contract's name and its fields. The owner is the first signer. */
export interface TransactionRequest {
  readonly contract: ContractName
  readonly fields: Readonly<Record<string, unknown>>
  /** Sun; default 1,000 TRX. */
  readonly feeLimit?: bigint
  readonly permissionId?: number
  /** Unix milliseconds; default a minute from now. */
  readonly expiration?: number
  /** Default the chain's time, and always unique. */
  readonly timestamp?: bigint
}

const usualFeeLimit = 1_000_000_000n
const usualValidityMillis = 60_000

/** A transaction's signature: 65 bytes in hexadecimal. */
export const signatureOf = (id: string, { privateKey }: TestAccount): string => {
  const options = { prehash: false, format: "recovered" } as const
  const signature = secp256k1.sign(TronHex.toBytes(id), TronHex.toBytes(privateKey), options)
  return `${TronHex.fromBytes(signature.subarray(1))}${signature[0] === 0 ? "1b" : "1c"}`
}

let sequence = 0n

/** Builds a transaction with the signatures of all signers. */
export const make = Effect.fnUntraced(function* (
  chain: DevChain,
  request: TransactionRequest,
  signers: readonly [TestAccount, ...Array<TestAccount>]
) {
  const { contract, expiration, feeLimit = usualFeeLimit, fields, permissionId = 0, timestamp } = request
  const owned = { owner_address: signers[0].address, ...fields }
  const parameter = yield* TronMessage.fromJson(contracts[contract], owned)
  const reference = DevBlock.referenceOf(chain.head)
  sequence += 1n
  const raw: TronMessage.Message = {
    ref_block_bytes: reference.bytes,
    ref_block_hash: reference.hash,
    expiration: BigInt(expiration ?? Math.max(chain.now(), chain.head.timestamp) + usualValidityMillis),
    contract: [
      { type: contract, parameter: NodeTransaction.pack(contract, parameter), Permission_id: BigInt(permissionId) }
    ],
    timestamp: timestamp ?? BigInt(chain.now()) + sequence,
    fee_limit: contract === "TriggerSmartContract" || contract === "CreateSmartContract" ? feeLimit : 0n
  }
  const unsigned = yield* NodeTransaction.make(raw, [])
  const signatures = signers.map((each) => signatureOf(unsigned.id, each))
  return yield* NodeTransaction.make(raw, signatures)
})
