/**
 * A facilitator's signer on the chain of the stage, as attacks on its coin need it: one that no other program of the stage
 * uses, with its balance and its transactions; and the pool, where blocks are made by hand.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { type Hex, parseGwei } from "viem"

import type { AttackStage } from "../stage/AttackStage.ts"

/** The signer and what its environment variable holds. */
export const of = ({ chain: { node } }: AttackStage, place: 2 | 3 = 2) => {
  const { address, privateKey } = node.accounts.signers[place]
  return {
    address,
    privateKey,
    /** In wei. */
    balance: Effect.promise(() => node.client.getBalance({ address })),
    /** Number of its transactions in blocks. */
    sent: Effect.promise(() => node.client.getTransactionCount({ address }))
  }
}

/** Balance of the stranger who acts for attackers, in wei. */
export const strangersBalance = ({ chain: { node } }: AttackStage): Effect.Effect<bigint> =>
  Effect.promise(() => node.client.getBalance({ address: node.accounts.stranger.address }))

/** The price of gas that attacks begin with. */
export const baseFee = parseGwei("10")

/** A block at the price that attacks begin with. */
export const atPrice = ({ chain: { node } }: AttackStage): Effect.Effect<void> =>
  Effect.andThen(node.setNextBlockBaseFee(baseFee), node.mine())

const Pool = Schema.decodeUnknownSync(Schema.Struct({ pending: Schema.String }))

/** Number of transactions that wait for a block. */
export const waiting = ({ chain: { node } }: AttackStage): Effect.Effect<number> =>
  Effect.map(node.request("txpool_status"), (answer) => Number(Pool(answer).pending))

const quantity = (value: bigint): Hex => `0x${value.toString(16)}`

/** A stranger's transaction that comes before all others in the next block. */
export const sendFirst = (
  { chain: { node } }: AttackStage,
  call: { readonly to: Hex; readonly data?: Hex; readonly value?: bigint }
): Effect.Effect<void> => {
  const { data, to, value = 0n } = call
  const fees = { maxFeePerGas: quantity(parseGwei("500")), maxPriorityFeePerGas: quantity(parseGwei("50")) }
  const from = node.accounts.stranger.address
  const transaction = { from, to, value: quantity(value), gas: quantity(200_000n), ...(data && { data }), ...fees }
  return Effect.asVoid(node.request("eth_sendTransaction", [transaction]))
}

/**
 * The next block, at twice the base fee of the last: the most that a transaction was signed for may be taken for it.
 */
export const mineDearly = ({ chain: { node } }: AttackStage): Effect.Effect<void> =>
  Effect.gen(function* () {
    const { baseFeePerGas } = yield* Effect.promise(() => node.client.getBlock())
    yield* node.setNextBlockBaseFee(2n * (baseFeePerGas ?? baseFee))
    yield* node.mine()
  })

/** Runs while blocks are made by hand alone. */
export const byHand = <A, E, R>(
  { chain: { node } }: AttackStage,
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.acquireUseRelease(
    node.setAutomine(false),
    () => effect,
    () => Effect.andThen(node.mine(), node.setAutomine(true))
  )
