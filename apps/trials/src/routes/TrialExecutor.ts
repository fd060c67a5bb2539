/**
 * LayerZero's verifiers and executor between the two chains of a trial. They attest every message; some they deliver at once, some late,
 * and some never, so that the facilitator has to deliver, alone or beside them. The seed and a message's name decide.
 */
import { type BridgedChains, LayerZeroRelay } from "@pontage/devnet/bridge"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"

import type { TrialRandom } from "../world/TrialRandom.ts"

/** Messages per thousand that are delivered at once, and late; the others never. */
export interface Shares {
  readonly atOnce: number
  readonly late: number
}

/** The usual shares. */
export const usualShares: Shares = { atOnce: 400, late: 200 }

/** The messages so far. */
export interface ExecutorCounts {
  attested: number
  deliveredAtOnce: number
  deliveredLate: number
  left: number
}

/** The executor. */
export interface TrialExecutor {
  readonly counts: Readonly<ExecutorCounts>
  /** Attests nothing from now on, until it is released. */
  readonly hold: Effect.Effect<void>
  readonly release: Effect.Effect<void>
}

const pollMillis = 300
/** The longest delay of a late delivery, in milliseconds: about as long as the facilitator's own takes. */
const latest = 8_000
/** Gas for the token's contract. */
const receiverGas = 200_000n

type Layer = BridgedChains.BridgedChains["away"]

/** Starts it; it ends with the scope. */
export const make = Effect.fnUntraced(function* (
  { attester, away, home }: BridgedChains.BridgedChains,
  random: TrialRandom,
  shares: Shares
): Effect.fn.Return<TrialExecutor, never, Scope.Scope> {
  const counts: ExecutorCounts = { attested: 0, deliveredAtOnce: 0, deliveredLate: 0, left: 0 }
  const scope = yield* Effect.scope
  const to = oneByOne(away)
  let isHeld = false
  let next = 0n
  const deliver = (packet: LayerZeroRelay.Packet) => LayerZeroRelay.execute(to, packet, receiverGas)
  const carry = Effect.fnUntraced(function* (packet: LayerZeroRelay.Packet) {
    const luck = random.branch(packet.guid)
    const drawn = luck.below(1_000)
    if (drawn < shares.atOnce) {
      counts.deliveredAtOnce++
      yield* deliver(packet)
    } else if (drawn < shares.atOnce + shares.late) {
      counts.deliveredLate++
      yield* Effect.forkIn(Effect.andThen(Effect.sleep(luck.below(latest)), deliver(packet)), scope)
    } else counts.left++
  })
  const round = Effect.gen(function* () {
    const head = yield* Effect.promise(() => home.chain.client.getBlockNumber())
    if (isHeld || head < next) return
    const range = { address: home.endpoint, fromBlock: next, toBlock: head }
    const packets = LayerZeroRelay.packetsIn(yield* Effect.promise(() => home.chain.client.getLogs(range)))
    const all = { concurrency: "unbounded", discard: true } as const
    // A message can be delivered once all earlier ones of its channel are attested.
    yield* Effect.forEach(packets, (packet) => LayerZeroRelay.attest(to, packet, attester), all)
    yield* Effect.forEach(packets, (packet) => LayerZeroRelay.commit(to, packet), all)
    counts.attested += packets.length
    yield* Effect.forEach(packets, carry, all)
    next = head + 1n
  })
  yield* Effect.forkScoped(Effect.forever(Effect.andThen(round, Effect.sleep(pollMillis))))
  return {
    counts,
    hold: Effect.sync(() => void (isHeld = true)),
    release: Effect.sync(() => void (isHeld = false))
  }
})

/** The node gives two transactions that arrive together the same number, so they are sent one by one; their blocks they await together. */
const oneByOne = (layer: Layer): Layer => {
  const { chain } = layer
  const sending = Semaphore.makeUnsafe(1)
  const send: Layer["chain"]["send"] = (transaction) =>
    Effect.flatMap(Semaphore.withPermits(sending, 1)(chain.submit(transaction)), (hash) => chain.receipt(hash))
  return { ...layer, chain: { ...chain, send } }
}
