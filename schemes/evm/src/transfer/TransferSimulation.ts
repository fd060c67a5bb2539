/**
 * Simulation of transfers that their payers' keys have signed: the token's outcome on the newest state, and whether the payer
 * has code. Simulations requested at nearly the same time share one request to the node; no outcome depends on another.
 */
import { ChainUnavailable } from "@pontage/core"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"

import type * as EvmLagGuard from "../node/EvmLagGuard.ts"
import type { CallOutcome } from "../node/EvmNodeError.ts"
import type * as EvmRpc from "../node/EvmRpc.ts"
import type * as EvmAddress from "../primitives/EvmAddress.ts"
import type { TransferCall } from "./EvmTransferCall.ts"
import type { PlainTransfer } from "./PackedTransfers.ts"
import * as TransferProbing from "./TransferProbing.ts"

/**
 * Simulates a transfer on the newest state. Code can distinguish this call from a transaction, so the outcome for an account
 * with code means nothing: `HasCode` asks the caller to judge it in another way.
 */
export type Simulate = (call: TransferCall) => Effect.Effect<TransferProbing.ProbeOutcome, ChainUnavailable>

/** Settings of the simulation. */
export interface Options {
  /** The sender of the simulated calls. */
  readonly from: EvmAddress.Address
  /** Milliseconds for which the first transfer waits for others; 0 simulates each alone. */
  readonly windowMillis: number
  /** The most transfers of one request. */
  readonly maximum: number
}

/** A transfer that waits for its simulation, and the outcome for its callers. */
interface WaitingTransfer {
  readonly call: TransferCall
  readonly plain: PlainTransfer
  readonly outcome: Deferred.Deferred<TransferProbing.ProbeOutcome, ChainUnavailable>
}

/** Makes the function that simulates. */
export const make = (guard: EvmLagGuard.EvmLagGuard, options: Options): Simulate => {
  const { from, maximum, windowMillis } = options
  const alone = makeAlone(guard, from)
  let waiting = new Map<string, WaitingTransfer>()
  const flush = Effect.suspend(() => {
    const groups = grouped([...waiting.values()], maximum)
    waiting = new Map()
    return Effect.forEach(groups, (group) => simulateGroup(guard, from, alone, group), {
      concurrency: "unbounded",
      discard: true
    })
  })
  const flushLater = Effect.andThen(Effect.sleep(Duration.millis(windowMillis)), flush)
  /** Uninterruptible: a waiting transfer is simulated even if its caller is interrupted. */
  const enqueue = (call: TransferCall, plain: PlainTransfer) =>
    Effect.uninterruptible(
      Effect.suspend(() => {
        // Equal calls share one simulation; the payer's signature covers every field of the call.
        const key = `${plain.token} ${plain.authorization.from} ${plain.authorization.nonce} ${plain.signature}`
        const known = waiting.get(key)
        if (known !== undefined) return Effect.succeed(known.outcome)
        const outcome = Deferred.makeUnsafe<TransferProbing.ProbeOutcome, ChainUnavailable>()
        waiting.set(key, { call, plain, outcome })
        if (waiting.size >= maximum) return Effect.as(Effect.forkDetach(flush), outcome)
        return waiting.size === 1 ? Effect.as(Effect.forkDetach(flushLater), outcome) : Effect.succeed(outcome)
      })
    )
  return (call) => {
    const { plain } = call
    if (plain === undefined) return alone(call)
    if (windowMillis > 0) return Effect.flatMap(enqueue(call, plain), (outcome) => Deferred.await(outcome))
    return Effect.flatMap(probeOrNothing(guard.rpc, from, [plain], "latest"), ([first]) =>
      confirmed(guard, from, alone, { call, plain }, first)
    )
  }
}

const hasCode: TransferProbing.ProbeOutcome = { _tag: "HasCode" }

/** Two requests, for a transfer that the probe cannot try. */
const makeAlone =
  ({ judge, rpc }: EvmLagGuard.EvmLagGuard, from: EvmAddress.Address): Simulate =>
  ({ data, gas, payer, to, value }) =>
    judge(
      (block) =>
        Effect.map(
          Effect.all(
            [
              rpc.getCode(payer, block),
              rpc.call({ from, to, data, gas, ...(value !== undefined && { value }) }, block)
            ],
            {
              concurrency: "unbounded"
            }
          ),
          ([code, outcome]) => (code === "0x" ? outcome : hasCode)
        ),
      ({ _tag }) => _tag === "Reverted"
    )

/** Explains why a transfer has failed, by simulating its call on the state of one block. */
export const explaining =
  (rpc: EvmRpc.Shape, from: EvmAddress.Address) =>
  (
    { data, gas, to, value }: TransferCall,
    block: bigint | EvmRpc.BlockByHash
  ): Effect.Effect<CallOutcome, ChainUnavailable> =>
    rpc.call({ from, to, data, gas, ...(value !== undefined && { value }) }, block)

/**
 * In one simulated call a transfer sees the effects of those before it. So that no outcome depends on another, no account is
 * the payer of two transfers of a group, or the payer of one and the payee of another.
 */
const grouped = (
  waiting: ReadonlyArray<WaitingTransfer>,
  maximum: number
): ReadonlyArray<ReadonlyArray<WaitingTransfer>> => {
  const groups: Array<{
    readonly members: Array<WaitingTransfer>
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

/**
 * Completes each transfer of a group: a success at once, a refusal after its confirmation, and an uncertain outcome by a
 * simulation alone; all of them alone where the group's request fails.
 */
const simulateGroup = Effect.fnUntraced(function* (
  guard: EvmLagGuard.EvmLagGuard,
  from: EvmAddress.Address,
  alone: Simulate,
  group: ReadonlyArray<WaitingTransfer>
) {
  const { rpc } = guard
  const first = yield* probeOrNothing(
    rpc,
    from,
    group.map(({ plain }) => plain),
    "latest"
  )
  yield* Effect.forEach(
    group,
    ({ call, outcome, plain }, index) =>
      Deferred.into(confirmed(guard, from, alone, { call, plain }, first[index]), outcome),
    { concurrency: "unbounded", discard: true }
  )
})

/** The outcome of one transfer, given its first outcome from a probe of the newest state. */
const confirmed = (
  { confirm, rpc }: EvmLagGuard.EvmLagGuard,
  from: EvmAddress.Address,
  alone: Simulate,
  { call, plain }: Pick<WaitingTransfer, "call" | "plain">,
  first: TransferProbing.ProbeOutcome | undefined
): ReturnType<Simulate> => {
  if (first !== undefined && first._tag !== "Reverted") return Effect.succeed(first)
  if (first === undefined) return alone(call)
  const again = confirm((block) =>
    Effect.flatMap(probe(rpc, from, [plain], block), ([outcome]) => certain(rpc, outcome))
  )
  return Effect.catch(again, () => alone(call))
}

const certain = (rpc: EvmRpc.Shape, outcome: TransferProbing.ProbeOutcome | undefined) =>
  outcome === undefined
    ? Effect.fail(
        new ChainUnavailable({ network: rpc.network, message: `The node of ${rpc.network} did not try a transfer` })
      )
    : Effect.succeed(outcome)

/** The outcome of each transfer; `undefined` for an uncertain one. */
const probe = (
  rpc: EvmRpc.Shape,
  from: EvmAddress.Address,
  transfers: ReadonlyArray<PlainTransfer>,
  block: EvmRpc.BlockTag
): Effect.Effect<ReadonlyArray<TransferProbing.ProbeOutcome | undefined>, ChainUnavailable> =>
  Effect.map(rpc.call({ from, ...TransferProbing.toCall(transfers) }, block), (result) =>
    result._tag === "Returned" ? TransferProbing.fromResult(result.data, transfers.length) : []
  )

const probeOrNothing = (...given: Parameters<typeof probe>) => Effect.catch(probe(...given), () => Effect.succeed([]))
