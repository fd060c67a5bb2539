/**
 * The verifiers, and whoever delivers, between the two chains of a trial. They attest every message; some they deliver at once, some late,
 * and some never, so that the facilitator has to deliver, alone or beside them. The seed and a message's name decide.
 */
import type { EvmTestChain } from "@pontage/evm/testing"
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
/** A bridge's own part: its messages, how they are attested, and how they are delivered. */
export interface TrialCarrier<Message> {
  /** The chain that sends. */
  readonly chain: EvmTestChain.Shape
  readonly sentIn: (fromBlock: bigint, toBlock: bigint) => Effect.Effect<ReadonlyArray<Message>>
  readonly nameOf: (message: Message) => string
  /** Attests the messages of a round, which are all those up to a block that were not attested earlier. */
  readonly attest: (messages: ReadonlyArray<Message>, upTo: bigint) => Effect.Effect<void>
  readonly deliver: (message: Message) => Effect.Effect<unknown>
}

/** Starts it; it ends with the scope. */
export const make = Effect.fnUntraced(function* <Message>(
  carrier: TrialCarrier<Message>,
  random: TrialRandom,
  shares: Shares
): Effect.fn.Return<TrialExecutor, never, Scope.Scope> {
  const counts: ExecutorCounts = { attested: 0, deliveredAtOnce: 0, deliveredLate: 0, left: 0 }
  const scope = yield* Effect.scope
  let isHeld = false
  let next = 0n
  const carry = Effect.fnUntraced(function* (message: Message) {
    const luck = random.branch(carrier.nameOf(message))
    const drawn = luck.below(1_000)
    if (drawn < shares.atOnce) {
      counts.deliveredAtOnce++
      yield* carrier.deliver(message)
    } else if (drawn < shares.atOnce + shares.late) {
      counts.deliveredLate++
      yield* Effect.forkIn(Effect.andThen(Effect.sleep(luck.below(latest)), carrier.deliver(message)), scope)
    } else counts.left++
  })
  const round = Effect.gen(function* () {
    const head = yield* Effect.promise(() => carrier.chain.client.getBlockNumber())
    if (isHeld || head < next) return
    const messages = yield* carrier.sentIn(next, head)
    yield* carrier.attest(messages, head)
    counts.attested += messages.length
    yield* Effect.forEach(messages, carry, { concurrency: "unbounded", discard: true })
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
export const oneByOne = (chain: EvmTestChain.Shape): EvmTestChain.Shape => {
  const sending = Semaphore.makeUnsafe(1)
  return {
    ...chain,
    send: (transaction) =>
      Effect.flatMap(Semaphore.withPermits(sending, 1)(chain.submit(transaction)), (hash) => chain.receipt(hash))
  }
}
