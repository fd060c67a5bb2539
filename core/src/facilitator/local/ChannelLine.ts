/**
 * The line of a channel's requests whose vouchers are stale, because requests of one channel overtook each other. Each is told its next
 * voucher only in its turn, and while it holds the turn no other request draws: what it was told still holds when it comes again. So
 * handlers run side by side, and only these exchanges queue.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import * as Option from "effect/Option"
import * as Semaphore from "effect/Semaphore"

/** Limits of a line. */
export const limits = {
  /** Longest wait for a turn. */
  waitMillis: 10_000,
  /** Longest turn: the time in which the corrected request should come again. */
  turnMillis: 2_000,
  /** Most requests of one channel in it. */
  waiting: 64
}

/** The result of a try in a turn. `Told`: the request was refused and is expected again with the voucher `next`, so its turn goes on. */
export type Tried<A> =
  | { readonly _tag: "Done"; readonly value: A }
  | { readonly _tag: "Told"; readonly value: A; readonly next: bigint | undefined }

/**
 * A request, by what comes again with it: the token of its offer, which not every dialect has, and the voucher, which is the one that
 * was told.
 */
export interface Caller {
  readonly token: string | undefined
  readonly maximum: bigint
}

/** The lines of all channels. */
export interface ChannelLine {
  /** Whether a request may draw now: no other one waits or has the turn. */
  readonly isFree: (channelId: string, caller: Caller) => boolean
  /** Waits for a turn and tries in it. `undefined` if the line is full, or the wait too long. */
  readonly inTurn: <A, E>(
    channelId: string,
    caller: Caller,
    attempt: Effect.Effect<Tried<A>, E>
  ) => Effect.Effect<A | undefined, E>
  /** Ends the turn of a request that has come again and was granted. */
  readonly passed: (channelId: string, caller: Caller) => Effect.Effect<void>
}

interface Line {
  readonly lock: Semaphore.Semaphore
  users: number
  turn: Turn | undefined
}

interface Turn {
  readonly token: string | undefined
  readonly next: bigint | undefined
  readonly over: Deferred.Deferred<void>
}

/** Begins without requests. Turns end with the scope. */
export const make = Effect.gen(function* () {
  const lines = new Map<string, Line>()
  const turns = yield* FiberSet.make()
  const join = (channelId: string): Line | undefined => {
    const line = lines.get(channelId) ?? { lock: Semaphore.makeUnsafe(1), users: 0, turn: undefined }
    if (line.users >= limits.waiting) return undefined
    line.users++
    lines.set(channelId, line)
    return line
  }
  const leave = (channelId: string, line: Line) => {
    if (--line.users === 0) lines.delete(channelId)
  }
  const endTurn = (channelId: string, line: Line) =>
    Effect.suspend(() => {
      line.turn = undefined
      leave(channelId, line)
      return line.lock.release(1)
    })
  const hold = (channelId: string, line: Line, { token, next }: Pick<Turn, "token" | "next">) =>
    Effect.suspend(() => {
      const over = Deferred.makeUnsafe<void>()
      line.turn = { token, next, over }
      const waiting = Effect.timeoutOption(Deferred.await(over), limits.turnMillis)
      return FiberSet.run(turns, Effect.ensuring(waiting, endTurn(channelId, line)))
    })
  const holds = (channelId: string, { maximum, token }: Caller) => {
    const turn = lines.get(channelId)?.turn
    return turn !== undefined && (turn.next === maximum || (token !== undefined && turn.token === token))
  }
  const inTurn: ChannelLine["inTurn"] = (channelId, { token }, attempt) =>
    Effect.uninterruptibleMask((restore) =>
      Effect.gen(function* () {
        const line = join(channelId)
        if (line === undefined) return undefined
        const left = Effect.sync(() => leave(channelId, line))
        const taking = restore(Effect.timeoutOption(line.lock.take(1), limits.waitMillis))
        if (Option.isNone(yield* Effect.onInterrupt(taking, () => left))) return yield* Effect.as(left, undefined)
        const tried = yield* Effect.onError(restore(attempt), () => endTurn(channelId, line))
        yield* tried._tag === "Told" ? hold(channelId, line, { token, next: tried.next }) : endTurn(channelId, line)
        return tried.value
      })
    )
  return {
    isFree: (channelId, caller) => !lines.has(channelId) || holds(channelId, caller),
    inTurn,
    passed: (channelId, caller) =>
      Effect.suspend(() => {
        const turn = lines.get(channelId)?.turn
        return turn !== undefined && holds(channelId, caller)
          ? Effect.asVoid(Deferred.succeed(turn.over, undefined))
          : Effect.void
      })
  } satisfies ChannelLine
})
