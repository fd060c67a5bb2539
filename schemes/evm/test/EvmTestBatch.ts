/** Payments of many payers at once, and the scheme facilitator that settles them together, as tests of batches need them. */
import type {
  Payment as HeldPayment,
  PreparedTransaction,
  SchemeFacilitator,
  TransactionObservation
} from "@pontage/core"
import * as Effect from "effect/Effect"

import { deployBatchSettler } from "../src/index.ts"
import * as EvmHex from "../src/primitives/EvmHex.ts"
import { type EvmTestAccounts, EvmTestChain } from "../src/testing/index.ts"
import * as Payment from "./EvmTestPayment.ts"

const chain = EvmTestChain.EvmTestChain

/** The batch settler's address; it is deployed if it is not there. */
export const settler = Effect.flatMap(chain, ({ accounts, rpcUrl }) =>
  deployBatchSettler({ signer: accounts.deployer, rpcUrl })
)

/** A scheme facilitator that settles in batches. */
export const scheme = Effect.fnUntraced(function* (
  options: Payment.FacilitatorOptions & { readonly maximum?: number } = {}
) {
  const { maximum, ...rest } = options
  const batches = { settler: yield* settler, ...(maximum !== undefined && { maximum }) }
  return yield* Payment.scheme(yield* chain, { batches, ...rest })
})

/** The payer at this index. */
export const payerAt = Effect.fnUntraced(function* (place: number) {
  const { accounts } = yield* chain
  return accounts.payers[place] ?? (yield* Effect.die(`there is no payer ${place}`))
})

/** A payment of a payer, and the call by which a stranger could settle it. */
export const signedBy = (payer: EvmTestAccounts.TestAccount, deviation: Payment.Deviation = {}) =>
  Payment.signedPayment({ from: payer.address, signer: payer, ...deviation })

/** A payment of each payer from one place up to another, read by a scheme facilitator. */
export const payments = <Payload>(schemeFacilitator: SchemeFacilitator<Payload>, from: number, to: number) =>
  Effect.forEach(
    Array.from({ length: to - from }, (_, index) => from + index),
    Effect.fnUntraced(function* (place) {
      const { authorization, call, request } = yield* signedBy(yield* payerAt(place))
      return { authorization, call, payment: yield* Payment.read(schemeFacilitator, request) }
    })
  )

/** Signs for the first of these payments in the next slot, at the chain's fees or dearer ones. */
export const prepare = Effect.fnUntraced(function* <Payload>(
  schemeFacilitator: SchemeFacilitator<Payload>,
  list: ReadonlyArray<HeldPayment<Payload>>,
  options: {
    readonly number?: bigint
    readonly percent?: bigint
    readonly maximumCost?: bigint
    readonly replaced?: PreparedTransaction
  } = {}
) {
  const { maximumCost, number, percent = 100n, replaced } = options
  const [lane = ""] = schemeFacilitator.lanes
  const chainHead = yield* schemeFacilitator.chainHead
  const { ceiling = 0n, maximum = 0n, priority = 0n } = chainHead.fees ?? {}
  const dearer = (wei: bigint) => (wei * percent) / 100n
  const fees = { ceiling, maximum: dearer(maximum), priority: dearer(priority) }
  const slot = { lane, number: number ?? (yield* schemeFacilitator.nextSlot(lane, "known")) }
  return yield* schemeFacilitator.prepare(list, slot, { ...chainHead, fees }, maximumCost, replaced)
})

/** The observation of payments with these attempts. */
export const observe = <Payload>(
  schemeFacilitator: SchemeFacilitator<Payload>,
  list: ReadonlyArray<HeldPayment<Payload>>,
  ...attempts: readonly [PreparedTransaction, ...Array<PreparedTransaction>]
) =>
  schemeFacilitator.observe(
    list.map((payment) => ({ payment, since: attempts[0].head })),
    attempts
  )

/** The same, once one of the attempts is included. */
export const included = <Payload>(
  schemeFacilitator: SchemeFacilitator<Payload>,
  list: ReadonlyArray<HeldPayment<Payload>>,
  ...attempts: readonly [PreparedTransaction, ...Array<PreparedTransaction>]
) =>
  Effect.map(
    Effect.repeat(observe(schemeFacilitator, list, ...attempts), { while: ({ inclusion }) => inclusion === undefined }),
    ({ inclusion, observations }) => ({
      inclusion: inclusion ?? { transaction: "none", block: noBlock, cost: 0n },
      observations
    })
  )

/** The same, once all their validities are over in a final block. */
export const ended = Effect.fnUntraced(function* <Payload>(
  schemeFacilitator: SchemeFacilitator<Payload>,
  list: ReadonlyArray<HeldPayment<Payload>>,
  ...attempts: readonly [PreparedTransaction, ...Array<PreparedTransaction>]
) {
  yield* included(schemeFacilitator, list, ...attempts)
  yield* Payment.finalise(BigInt(Math.max(...list.map(({ authorization }) => authorization.validBefore))))
  return yield* observe(schemeFacilitator, list, ...attempts)
})

const noBlock = { number: 0n, hash: "none" }

/** The outcome of a payment, in a word or two. */
export const word = (observation: TransactionObservation["observations"][number] | undefined) => {
  if (observation?._tag !== "Failed") {
    const end = observation?._tag ?? "nothing"
    return Effect.succeed(observation?._tag === "Settled" && observation.external ? `${end} by another` : end)
  }
  return Payment.outcome(Effect.fail(observation.error))
}

/** The receipt of a transaction. */
export const receiptOf = Effect.fnUntraced(function* (transaction: string) {
  const { receipt } = yield* chain
  return yield* receipt(EvmHex.fromTrusted(transaction))
})
