/** The signers of a transaction and their weight in an account's permission, as java-tron counts them. */
import { secp256k1 } from "@noble/curves/secp256k1.js"
import { keccak_256 } from "@noble/hashes/sha3.js"
import { bytesToHex, concatBytes, hexToBytes } from "@noble/hashes/utils.js"
import * as Effect from "effect/Effect"

import type { Permission } from "../messages/TronContract.ts"
import { type ContractName, numberOf } from "../messages/TronMessageTable.ts"
import * as NodeAddress from "../node/NodeAddress.ts"
import * as NodeRefusal from "../node/NodeRefusal.ts"
import type { NodeTransaction } from "../node/NodeTransaction.ts"
import type { TronAccount } from "./TronAccount.ts"

const signatureDigits = 130

/** The signer of a transaction's id, by a signature of at least 65 bytes; `undefined` if the signature is invalid. */
export const signerOf = (id: string, signature: string): string | undefined => {
  const bytes = hexToBytes(signature.slice(0, signatureDigits))
  const last = bytes[64] ?? 0
  const recovery = last >= 27 ? last - 27 : last
  if (recovery > 3) return undefined
  try {
    const recovered = secp256k1.Signature.fromBytes(
      concatBytes(Uint8Array.of(recovery), bytes.subarray(0, 64)),
      "recovered"
    )
    const key = recovered.recoverPublicKey(hexToBytes(id)).toBytes(false)
    return `41${bytesToHex(keccak_256(key.subarray(1)).subarray(12))}`
  } catch {
    return undefined
  }
}

/** An account's permission by id. Without permissions of its own it has the owner's and an active one, both with its own key. */
export const permissionOf = (owner: string, account: TronAccount | undefined, id: number): Permission | undefined => {
  const set = account?.permissions
  if (set !== undefined) return set.get(id)
  if (id !== 0 && id !== 2) return undefined
  const isOwner = id === 0
  return {
    type: isOwner ? "Owner" : "Active",
    id: BigInt(id),
    permission_name: isOwner ? "owner" : "active",
    threshold: 1n,
    operations: isOwner ? "" : everyday,
    keys: [{ address: owner, weight: 1n }]
  }
}

/** Every type of contract except the change of permissions, one bit each. */
const everyday = "7fff1fc0033efb0f000000000000000000000000000000000000000000000000"

const allows = ({ operations, type }: Permission, contract: ContractName): boolean => {
  if (type === "Owner") return true
  const number = numberOf(contract)
  const byte = Number.parseInt(operations.slice(2 * Math.floor(number / 8), 2 * Math.floor(number / 8) + 2), 16)
  return (byte & (1 << (number % 8))) !== 0
}

/** The signers in a permission, and their total weight. */
export interface Weight {
  readonly signers: ReadonlyArray<string>
  readonly weight: bigint
}

/** Counts the weight of a transaction's signatures. */
export const count = Effect.fnUntraced(function* (
  { id, signatures }: Pick<NodeTransaction, "id" | "signatures">,
  permission: Permission
) {
  const { keys } = permission
  if (signatures.length > keys.length) {
    const counts = `${signatures.length} more than key counts of permission : ${keys.length}`
    return yield* NodeRefusal.unsigned(`Signature count is ${counts}`)
  }
  const signers: Array<string> = []
  let weight = 0n
  for (const signature of signatures) {
    if (signature.length < signatureDigits) {
      return yield* NodeRefusal.unsigned(`Signature size is ${signature.length / 2}`)
    }
    const signer = signerOf(id, signature)
    if (signer === undefined) return yield* NodeRefusal.unsigned("Could not recover public key from signature")
    const key = keys.find(({ address }) => address === signer)
    const name = NodeAddress.toBase58(signer)
    if (key === undefined || key.weight === 0n) {
      const what = `${signature} is signed by ${name} but it is not contained of permission.`
      return yield* NodeRefusal.unsigned(what)
    }
    if (signers.includes(signer)) return yield* NodeRefusal.unsigned(`${name} has signed twice!`)
    signers.push(signer)
    weight += key.weight
  }
  const counted: Weight = { signers, weight }
  return counted
})

/** Checks that a transaction's signatures satisfy the owner's permission. */
export const check = Effect.fnUntraced(function* (transaction: NodeTransaction, account: TronAccount | undefined) {
  const { contract, id, permissionId, signatures } = transaction
  if (contract === undefined || signatures.length === 0) return yield* NodeRefusal.unsigned("miss sig or contract")
  const permission = permissionOf(contract.owner_address, account, permissionId)
  if (permission === undefined) return yield* NodeRefusal.unsigned("permission isn't exit")
  if (!allows(permission, contract._tag)) return yield* NodeRefusal.unsigned("Permission denied")
  const { weight } = yield* count({ id, signatures }, permission)
  if (weight < permission.threshold) return yield* NodeRefusal.unsigned(`trans sig validate failed, id: ${id}`)
})
