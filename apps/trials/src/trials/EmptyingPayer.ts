/**
 * A payer who wants a facilitator to burn gas: it has a good payment sent, and empties its balance in the same block, right
 * before it.
 */
import { DollarToken } from "@pontage/evm/testing"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import { encodeFunctionData, type Hex, parseSignature } from "viem"

import type { CallerOutcome } from "../audit/TrialJournal.ts"
import { type ChainRpc, toQuantity } from "../world/ChainRpc.ts"
import type { TrialCaller } from "../world/TrialCaller.ts"
import * as TrialPayment from "../world/TrialPayment.ts"
import type { TrialRandom } from "../world/TrialRandom.ts"
import type { TrialWorld } from "../world/TrialWorld.ts"

/** The parts that an attack needs. */
export interface Options {
  readonly world: TrialWorld
  readonly caller: TrialCaller
  readonly facilitator: string
  readonly payer: TrialWorld["chain"]["accounts"]["payers"][number]
  readonly luck: TrialRandom
  /** Unix seconds. */
  readonly validBefore: number
}

/** The transaction with the higher tip comes first in a block. */
const tip = 50n * 10n ** 9n

/** Attacks once and returns the attacker's outcome. */
export const attack = Effect.fnUntraced(function* (options: Options): Effect.fn.Return<CallerOutcome> {
  const { caller, facilitator, luck, payer, validBefore, world } = options
  const { chain, load, rpc } = world
  const terms = { payer, amount: 5_000n, validBefore, bound: false }
  const bait = yield* Effect.promise(() =>
    TrialPayment.sign(load.market, { ...terms, payTo: load.payTo }, luck.branch("bait"))
  )
  const balance = yield* chain.balanceOf(payer.address)
  const drain = yield* Effect.promise(() =>
    TrialPayment.sign(
      load.market,
      { ...terms, amount: balance, payTo: chain.accounts.deployer.address },
      luck.branch("drain")
    )
  )
  return yield* Effect.scoped(
    Effect.gen(function* () {
      const watching = yield* Effect.forkScoped(Effect.andThen(seenInPool(rpc, bait.journal.nonce), send(world, drain)))
      const told = yield* caller.present("settle", facilitator, bait, undefined)
      yield* Fiber.interrupt(watching)
      return told
    })
  )
})

const Pool = Schema.Record(Schema.String, Schema.Record(Schema.String, Schema.Struct({ input: Schema.String })))
const Content = Schema.Struct({ pending: Pool })

/** Waits until a transaction that carries this authorization waits in the pool. */
const seenInPool = (rpc: ChainRpc, nonce: string) =>
  Effect.repeat(Effect.andThen(Effect.sleep(25), rpc.ask(Content, "txpool_content")), {
    until: ({ pending }) =>
      Object.values(pending).some((one) => Object.values(one).some(({ input }) => input.includes(nonce.slice(2))))
  })

/** A stranger sends it: the payer has no coin. */
const send = ({ chain, rpc }: TrialWorld, drain: TrialPayment.TrialPayment) => {
  const fees = { maxFeePerGas: toQuantity(tip * 4n), maxPriorityFeePerGas: toQuantity(tip) }
  const call = { from: chain.accounts.stranger.address, to: chain.token.address, gas: toQuantity(200_000) }
  return rpc.tell("eth_sendTransaction", [{ ...call, ...fees, data: callOf(drain) }])
}

/** The call of the token that settles a payment. */
export const callOf = ({ journal, signature, validBefore }: TrialPayment.TrialPayment): Hex => {
  const { r, s, yParity } = parseSignature(signature)
  const { amount, nonce, payer, payTo } = journal
  const [from, to] = [toHex(payer), toHex(payTo)]
  return encodeFunctionData({
    abi: DollarToken.abi,
    functionName: "transferWithAuthorization",
    args: [from, to, amount, 0n, BigInt(validBefore), toHex(nonce), 27 + yParity, r, s]
  })
}

const toHex = (text: string): Hex => `0x${text.slice(2)}`
