/**
 * The charge for a transaction's bandwidth: stake first, then the free allowance, then sun; each covers all of it or nothing.
 */
import * as Effect from "effect/Effect"

import * as NodeRefusal from "../node/NodeRefusal.ts"
import type { NodeTransaction } from "../node/NodeTransaction.ts"
import * as TronAccount from "./TronAccount.ts"
import type { TronLedger } from "./TronLedger.ts"

/** The bandwidth used and the sun burnt. */
export interface NetBill {
  /** Bytes. */
  readonly netUsage: bigint
  /** Sun. */
  readonly netFee: bigint
  /** Sun for a memo and for further signatures. */
  readonly extraFee: bigint
}

/** `MAX_RESULT_SIZE_IN_TX`: bytes for the result, charged to every transaction. */
const resultBytes = 64n

const createsAccount = (ledger: TronLedger, { contract }: NodeTransaction): boolean =>
  contract?._tag === "AccountCreateContract" ||
  (contract?._tag === "TransferContract" && ledger.accounts.get(contract.to_address) === undefined)

/** Pays from stake or the allowance; `undefined` if neither suffices. */
const free = (
  ledger: TronLedger,
  account: TronAccount.TronAccount,
  bytes: bigint,
  now: number,
  isCreation: boolean
): TronAccount.TronAccount | undefined => {
  const { parameters } = ledger
  if (TronAccount.leftOf(account, "BANDWIDTH", parameters, now) >= bytes) {
    return TronAccount.spending(account, "BANDWIDTH", bytes, now)
  }
  const left = parameters.freeNetLimit - TronAccount.usedAt(account.freeNet, now)
  if (isCreation || left < bytes) return undefined
  return { ...account, freeNet: TronAccount.using(account.freeNet, bytes, now) }
}

/** Charges the owner for bandwidth, a memo and further signatures. */
export const charge = Effect.fnUntraced(function* (
  ledger: TronLedger,
  transaction: NodeTransaction,
  account: TronAccount.TronAccount,
  now: number
) {
  const { parameters } = ledger
  const bytes = BigInt(transaction.size) + resultBytes
  const isCreation = createsAccount(ledger, transaction)
  const covered = free(ledger, account, bytes, now, isCreation)
  const netFee =
    covered !== undefined ? 0n : isCreation ? parameters.createAccountFee : bytes * parameters.transactionFee
  const extraFee =
    (transaction.signatures.length > 1 ? parameters.multiSignFee : 0n) + (transaction.hasMemo ? parameters.memoFee : 0n)
  const balance = account.balance - netFee - extraFee
  if (balance < 0n) return yield* NodeRefusal.insufficient()
  ledger.accounts.set(account.address, { ...(covered ?? account), balance })
  const bill: NetBill = { netUsage: covered === undefined ? 0n : bytes, netFee, extraFee }
  return bill
})
