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

/** The result of a try in a turn. `Told`: the request was refused and is expected again, so its turn goes on. */
export type Tried<A> = { readonly _tag: "Done"; readonly value: A } | { readonly _tag: "Told"; readonly value: A }

/** The lines of all channels. */
export interface ChannelLine {
  /** Whether a request may draw now: no other one waits or has the turn. `token` comes again with a repeated request. */
  readonly isFree: (channelId: string, token: string | undefined) => boolean
  /** Waits for a turn and tries in it. `undefined` if the line is full, or the wait too long. */
  readonly inTurn: <A, E>(
    channelId: string,
    token: string | undefined,
    attempt: Effect.Effect<Tried<A>, E>
  ) => Effect.Effect<A | undefined, E>
  /** Ends the turn of a request that has come again and was granted. */
  readonly passed: (channelId: string, token: string | undefined) => Effect.Effect<void>
}

interface Line {
  readonly lock: Semaphore.Semaphore
  users: number
  turn: { readonly token: string | undefined; readonly over: Deferred.Deferred<void> } | undefined
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
  const hold = (channelId: string, line: Line, token: string | undefined) =>
    Effect.suspend(() => {
      const over = Deferred.makeUnsafe<void>()
      line.turn = { token, over }
      const waiting = Effect.timeoutOption(Deferred.await(over), limits.turnMillis)
      return FiberSet.run(turns, Effect.ensuring(waiting, endTurn(channelId, line)))
    })
  const holds = (channelId: string, token: string | undefined) => {
    const turn = lines.get(channelId)?.turn
    return turn !== undefined && token !== undefined && turn.token === token
  }
  const inTurn: ChannelLine["inTurn"] = (channelId, token, attempt) =>
    Effect.uninterruptibleMask((restore) =>
      Effect.gen(function* () {
        const line = join(channelId)
        if (line === undefined) return undefined
        const left = Effect.sync(() => leave(channelId, line))
        const taking = restore(Effect.timeoutOption(line.lock.take(1), limits.waitMillis))
        if (Option.isNone(yield* Effect.onInterrupt(taking, () => left))) return yield* Effect.as(left, undefined)
        const tried = yield* Effect.onError(restore(attempt), () => endTurn(channelId, line))
        yield* tried._tag === "Told" ? hold(channelId, line, token) : endTurn(channelId, line)
        return tried.value
      })
    )
  return {
    isFree: (channelId, token) => !lines.has(channelId) || holds(channelId, token),
    inTurn,
    passed: (channelId, token) =>
      Effect.suspend(() => {
        const turn = lines.get(channelId)?.turn
        return turn !== undefined && holds(channelId, token)
          ? Effect.asVoid(Deferred.succeed(turn.over, undefined))
          : Effect.void
      })
  } satisfies ChannelLine
})
