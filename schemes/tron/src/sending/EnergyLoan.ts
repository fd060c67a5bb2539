/**
 * The two transactions of an energy loan: one delegates stake for energy to a payer's account, the other takes it back. Each is
 * built, signed and submitted here, and counts as done only when it is in a block.
 */
import { ChainUnavailable } from "@pontage/core"
import { Entropy } from "@pontage/core/Entropy"
import * as Effect from "effect/Effect"

import * as TronBlocks from "../node/TronBlocks.ts"
import type { Resources, TronRpc } from "../node/TronRpc.ts"
import * as ExactTron from "../payment/ExactTron.ts"
import type * as TronAddress from "../primitives/TronAddress.ts"
import * as TronHex from "../primitives/TronHex.ts"
import * as StrictProtobuf from "../transfer/StrictProtobuf.ts"
import * as TronTransaction from "../transfer/TronTransaction.ts"
import * as TronSigner from "../wallet/TronSigner.ts"

/** A loan of stake from one account to another. */
export interface Loan {
  readonly from: TronAddress.Address
  readonly to: TronAddress.Address
  /** Stake, in sun. */
  readonly sun: bigint
}

const contracts = {
  give: { type: 57n, name: "DelegateResourceContract" },
  takeBack: { type: 58n, name: "UnDelegateResourceContract" }
} as const

/** The chain's number of the resource energy. */
const energy = 1n
/** Least stake of a loan, in sun: the chain lends no less than 1 TRX. */
const least = 1_000_000n
/** Validity of a loan's transactions, in milliseconds. */
const validMillis = 60_000n
/** Poll interval for a loan's transaction, in milliseconds. */
const pollMillis = 500
const maximumPolls = 40

/** The stake that gives at least this energy by the chain's present totals, plus a tenth, because they move. */
export const stakeFor = (
  units: bigint,
  { totalEnergyLimit, totalEnergyWeight }: Pick<Resources, "totalEnergyLimit" | "totalEnergyWeight">
): bigint => {
  if (totalEnergyLimit === 0n) return least
  const sun = (units * totalEnergyWeight * 1_100_000n) / totalEnergyLimit + 1n
  return sun > least ? sun : least
}

/** Lends energy, or takes it back. Succeeds when the transaction is in a block. */
export const send = Effect.fnUntraced(function* (
  rpc: TronRpc,
  signer: TronSigner.TronSigner,
  direction: keyof typeof contracts,
  loan: Loan
): Effect.fn.Return<void, ChainUnavailable> {
  const unsigned = yield* build(rpc, direction, loan)
  const signature = yield* Effect.mapError(TronSigner.sign(signer, unsigned), ({ message }) =>
    failed(rpc.network, `the sponsor: ${message}`)
  )
  const bytes = TronTransaction.signed(unsigned.raw_data_hex, signature)
  const { code, message } = yield* rpc.broadcast(unsigned.txID, bytes)
  if (code !== "SUCCESS" && code !== "DUP_TRANSACTION_ERROR") {
    return yield* failed(rpc.network, `the node rejected the sponsor's transaction: ${code}: ${message}`)
  }
  for (let polls = 0; polls < maximumPolls; polls++) {
    if (yield* rpc.isIncluded(unsigned.txID)) return
    yield* Effect.sleep(pollMillis)
  }
  return yield* failed(rpc.network, `the sponsor's transaction ${unsigned.txID} is not in a block yet`)
})

const failed = (network: string, message: string) => new ChainUnavailable({ network, message })

/** Builds a loan's transaction; a random timestamp makes equal loans distinct. */
const build = Effect.fnUntraced(function* (rpc: TronRpc, direction: keyof typeof contracts, { from, sun, to }: Loan) {
  const { head, solid } = yield* Effect.all({ head: rpc.head, solid: rpc.solid }, { concurrency: "unbounded" })
  const entropy = yield* Entropy
  const kind = contracts[direction]
  const header: TronTransaction.Header = {
    ...TronBlocks.referenceTo(solid),
    expiration: head.time + validMillis,
    timestamp: ExactTron.timestampFrom(entropy.bytes(6))
  }
  const contract = StrictProtobuf.encode([
    [1, TronHex.toBytes(from)],
    [2, energy],
    [3, sun],
    [4, TronHex.toBytes(to)]
  ])
  const value = { owner_address: from, resource: "ENERGY", balance: Number(sun), receiver_address: to }
  return TronTransaction.toUnsigned(TronTransaction.encodeRaw(kind, contract, header), kind, value, header)
})
