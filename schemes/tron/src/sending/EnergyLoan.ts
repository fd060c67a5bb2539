/**
 * The two transactions of a loan of energy: stake for energy is delegated to a payer's account, and taken back. Each is
 * built and signed here, sent, and counts as done only when it is in a block.
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

/** A loan: so much stake, in sun, from one account to another. */
export interface Loan {
  readonly from: TronAddress.Address
  readonly to: TronAddress.Address
  readonly sun: bigint
}

const contracts = {
  give: { type: 57n, name: "DelegateResourceContract" },
  takeBack: { type: 58n, name: "UnDelegateResourceContract" }
} as const

/** The chain's number for energy among its resources. */
const energy = 1n
/** The chain lends no less than 1 TRX. */
const least = 1_000_000n
/** How long the transactions of a loan are valid, in milliseconds. */
const validMillis = 60_000n
const lookPause = 500
const maximumLooks = 40

/** The stake whose energy is at least this much, by the chain's present sums; a tenth more, since they move. */
export const stakeFor = (
  units: bigint,
  { totalEnergyLimit, totalEnergyWeight }: Pick<Resources, "totalEnergyLimit" | "totalEnergyWeight">
): bigint => {
  if (totalEnergyLimit === 0n) return least
  const sun = (units * totalEnergyWeight * 1_100_000n) / totalEnergyLimit + 1n
  return sun > least ? sun : least
}

/** Lends, or takes back. Succeeds when the transaction is in a block. */
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
    return yield* failed(rpc.network, `the node does not take the sponsor's transaction: ${code}: ${message}`)
  }
  for (let looks = 0; looks < maximumLooks; looks++) {
    if (yield* rpc.isIncluded(unsigned.txID)) return
    yield* Effect.sleep(lookPause)
  }
  return yield* failed(rpc.network, `the sponsor's transaction ${unsigned.txID} is in no block yet`)
})

const failed = (network: string, message: string) => new ChainUnavailable({ network, message })

/** Random timestamps tell equal loans apart. */
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
