/**
 * Transfers that their payers' keys have signed, simulated: what would the token do now, and has the payer code? Those that
 * are asked for at nearly the same time travel together in one question; nobody's answer depends on another's.
 */
import { ChainUnavailable } from "@pontage/core"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"

import type * as EvmHead from "../node/EvmHead.ts"
import type { CallOutcome } from "../node/EvmNodeError.ts"
import type * as EvmRpc from "../node/EvmRpc.ts"
import type * as EvmAddress from "../primitives/EvmAddress.ts"
import type { TransferCall } from "./EvmTransferCall.ts"
import type { PlainTransfer } from "./PackedTransfers.ts"
import * as TransferProbing from "./TransferProbing.ts"

/**
 * Simulates a transfer, on the state as it is now. The call of an account with code may come to anything, since code can tell
 * this call from a transaction: `HasCode` says that it is to be judged in another way.
 */
export type Simulate = (call: TransferCall) => Effect.Effect<TransferProbing.ProbeOutcome, ChainUnavailable>

/** How transfers are simulated together. */
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
  readonly answer: Deferred.Deferred<TransferProbing.ProbeOutcome, ChainUnavailable>
}

/** Makes the function that simulates. */
export const make = (head: EvmHead.EvmHead, options: Options): Simulate => {
  const { from, maximum, windowMillis } = options
  const alone = makeAlone(head, from)
  let waiting = new Map<string, Waiting>()
  const leave = Effect.suspend(() => {
    const leaving = grouped([...waiting.values()], maximum)
    waiting = new Map()
    return Effect.forEach(leaving, (group) => together(head, from, alone, group), {
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
        const answer = Deferred.makeUnsafe<TransferProbing.ProbeOutcome, ChainUnavailable>()
        waiting.set(key, { call, plain, answer })
        if (waiting.size >= maximum) return Effect.as(Effect.forkDetach(leave), answer)
        return waiting.size === 1 ? Effect.as(Effect.forkDetach(later), answer) : Effect.succeed(answer)
      })
    )
  return (call) => {
    const { plain } = call
    if (plain === undefined) return alone(call)
    if (windowMillis > 0) return Effect.flatMap(enlist(call, plain), (answer) => Deferred.await(answer))
    return Effect.flatMap(probed(head.rpc, from, [plain], "latest"), ([first]) =>
      settled(head, from, alone, { call, plain }, first)
    )
  }
}

const hasCode: TransferProbing.ProbeOutcome = { _tag: "HasCode" }

/** Two questions, for what cannot be tried by the probe. */
const makeAlone =
  ({ judge, rpc }: EvmHead.EvmHead, from: EvmAddress.Address): Simulate =>
  ({ data, gas, payer, to }) =>
    judge(
      (block) =>
        Effect.map(
          Effect.all([rpc.getCode(payer, block), rpc.call({ from, to, data, gas }, block)], {
            concurrency: "unbounded"
          }),
          ([code, outcome]) => (code === "0x" ? outcome : hasCode)
        ),
      ({ _tag }) => _tag === "Reverted"
    )

/** Explains why a transfer has failed: it is called as it was sent, on the state of one block. */
export const explaining =
  (rpc: EvmRpc.Shape, from: EvmAddress.Address) =>
  ({ data, gas, to }: TransferCall, block: bigint | EvmRpc.BlockByHash): Effect.Effect<CallOutcome, ChainUnavailable> =>
    rpc.call({ from, to, data, gas }, block)

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

/**
 * Answers each of a group: what is good at once, what is refused after it was asked for again, and what the group cannot tell,
 * or all when it cannot be asked, alone.
 */
const together = Effect.fnUntraced(function* (
  head: EvmHead.EvmHead,
  from: EvmAddress.Address,
  alone: Simulate,
  group: ReadonlyArray<Waiting>
) {
  const { rpc } = head
  const first = yield* probed(
    rpc,
    from,
    group.map(({ plain }) => plain),
    "latest"
  )
  yield* Effect.forEach(
    group,
    ({ answer, call, plain }, index) =>
      Deferred.into(settled(head, from, alone, { call, plain }, first[index]), answer),
    { concurrency: "unbounded", discard: true }
  )
})

/** The outcome of one transfer, after what a probe of the newest state has shown of it. */
const settled = (
  { confirm, rpc }: EvmHead.EvmHead,
  from: EvmAddress.Address,
  alone: Simulate,
  { call, plain }: Pick<Waiting, "call" | "plain">,
  first: TransferProbing.ProbeOutcome | undefined
): ReturnType<Simulate> => {
  if (first !== undefined && first._tag !== "Reverted") return Effect.succeed(first)
  if (first === undefined) return alone(call)
  const again = confirm((block) => Effect.flatMap(probe(rpc, from, [plain], block), ([outcome]) => told(rpc, outcome)))
  return Effect.catch(again, () => alone(call))
}

const told = (rpc: EvmRpc.Shape, outcome: TransferProbing.ProbeOutcome | undefined) =>
  outcome === undefined
    ? Effect.fail(
        new ChainUnavailable({ network: rpc.network, message: `The node of ${rpc.network} did not try a transfer` })
      )
    : Effect.succeed(outcome)

/** What each comes to; `undefined` where that cannot be told. */
const probe = (
  rpc: EvmRpc.Shape,
  from: EvmAddress.Address,
  transfers: ReadonlyArray<PlainTransfer>,
  block: EvmRpc.BlockTag
): Effect.Effect<ReadonlyArray<TransferProbing.ProbeOutcome | undefined>, ChainUnavailable> =>
  Effect.map(rpc.call({ from, ...TransferProbing.toCall(transfers) }, block), (answer) =>
    answer._tag === "Returned" ? TransferProbing.fromAnswer(answer.data, transfers.length) : []
  )

const probed = (...asked: Parameters<typeof probe>) => Effect.catch(probe(...asked), () => Effect.succeed([]))
