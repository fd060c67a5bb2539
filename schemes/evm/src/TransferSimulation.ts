/**
 * Transfers, simulated: what would the token do now? Those of plain accounts that are asked for at nearly the same time
 * travel together in one question; nobody's answer depends on another's. Whoever is asked for alone is a plain question.
 */
import type { ChainUnavailable } from "@pontage/core"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"

import type * as EvmAddress from "./EvmAddress.ts"
import type { CallOutcome } from "./EvmNodeRefusal.ts"
import type * as EvmRpc from "./EvmRpc.ts"
import type { TransferCall } from "./EvmTransferCall.ts"
import type { PlainTransfer } from "./PackedTransfers.ts"
import * as TransferProbing from "./TransferProbing.ts"

/**
 * Simulates a transfer, on the state as it is now.
 *
 * @category models
 */
export type Simulate = (call: TransferCall) => Effect.Effect<CallOutcome, ChainUnavailable>

/**
 * How transfers are simulated together.
 *
 * @category models
 */
export interface Options {
  /** Who the simulated calls pretend to be sent by. */
  readonly from: EvmAddress.Address
  /** How long the first waits for company, in milliseconds; 0 simulates each alone. */
  readonly windowMillis: number
  /** How many travel together at most. */
  readonly maximum: number
}

/** A transfer that waits for its turn, and where those who asked for it find the answer. */
interface Waiting {
  readonly call: TransferCall
  readonly plain: PlainTransfer
  readonly answer: Deferred.Deferred<CallOutcome, ChainUnavailable>
}

/**
 * Makes the function that simulates.
 *
 * @category constructors
 */
export const make = (rpc: EvmRpc.Shape, options: Options): Simulate => {
  const { from, maximum, windowMillis } = options
  const alone: Simulate = ({ data, gas, to }) => rpc.call({ from, to, data, gas })
  if (windowMillis === 0) return alone
  let waiting = new Map<string, Waiting>()
  const leave = Effect.suspend(() => {
    const leaving = grouped([...waiting.values()], maximum)
    waiting = new Map()
    return Effect.forEach(leaving, (group) => together(rpc, from, alone, group), {
      concurrency: "unbounded",
      discard: true
    })
  })
  const later = Effect.andThen(Effect.sleep(Duration.millis(windowMillis)), leave)
  /** In one piece: what waits is on its way, whatever happens to the one who asked. */
  const enlist = (call: TransferCall, plain: PlainTransfer) =>
    Effect.uninterruptible(
      Effect.suspend(() => {
        // Equal calls are one question, and a payer's signature is of everything in one.
        const key = `${plain.token} ${plain.authorization.from} ${plain.authorization.nonce} ${plain.signature}`
        const known = waiting.get(key)
        if (known !== undefined) return Effect.succeed(known.answer)
        const answer = Deferred.makeUnsafe<CallOutcome, ChainUnavailable>()
        waiting.set(key, { call, plain, answer })
        if (waiting.size >= maximum) return Effect.as(Effect.forkDetach(leave), answer)
        return waiting.size === 1 ? Effect.as(Effect.forkDetach(later), answer) : Effect.succeed(answer)
      })
    )
  return (call) =>
    call.plain === undefined
      ? alone(call)
      : Effect.flatMap(enlist(call, call.plain), (answer) => Deferred.await(answer))
}

/**
 * In one simulated call a transfer sees what those before it have done. So that nobody's answer depends on another's, no
 * payer is in a group twice, nor with somebody who pays or is paid by it.
 */
const grouped = (waiting: ReadonlyArray<Waiting>, maximum: number): ReadonlyArray<ReadonlyArray<Waiting>> => {
  const groups: Array<{
    readonly members: Array<Waiting>
    readonly payers: Set<string>
    readonly payees: Set<string>
  }> = []
  for (const one of waiting) {
    const { authorization, token } = one.plain
    const payer = `${token} ${authorization.from}`
    const payee = `${token} ${authorization.to}`
    let group = groups.find(
      ({ members, payees, payers }) =>
        members.length < maximum && !payers.has(payer) && !payees.has(payer) && !payers.has(payee)
    )
    if (group === undefined) groups.push((group = { members: [], payers: new Set(), payees: new Set() }))
    group.members.push(one)
    group.payers.add(payer)
    group.payees.add(payee)
  }
  return groups.map(({ members }) => members)
}

/** Answers each of a group; what the group cannot tell, or all when it cannot be asked, is asked alone. */
const together = Effect.fnUntraced(function* (
  rpc: EvmRpc.Shape,
  from: EvmAddress.Address,
  alone: Simulate,
  group: ReadonlyArray<Waiting>
) {
  const outcomes = group.length < 2 ? [] : yield* probed(rpc, from, group)
  yield* Effect.forEach(
    group,
    ({ answer, call }, index) => {
      const outcome = outcomes[index]
      return outcome === undefined ? Deferred.into(alone(call), answer) : Deferred.succeed(answer, outcome)
    },
    { concurrency: "unbounded", discard: true }
  )
})

const probed = (rpc: EvmRpc.Shape, from: EvmAddress.Address, group: ReadonlyArray<Waiting>) =>
  Effect.map(Effect.result(rpc.call({ from, ...TransferProbing.toCall(group.map(({ plain }) => plain)) })), (answer) =>
    Result.isSuccess(answer) && answer.success._tag === "Returned"
      ? TransferProbing.fromAnswer(answer.success.data, group.length)
      : []
  )
