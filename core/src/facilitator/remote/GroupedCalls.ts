/**
 * Groups calls under load. A single call is sent at once; those that are made while one is under way wait for its
 * response and are then sent as one call, so that no call waits for a group that may never form.
 */
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import type * as Result from "effect/Result"

/** The ways to make calls: one by itself, or several in one, each with its own result, in their order. */
export interface Ways<in In, out A, out E> {
  readonly alone: (sent: In) => Effect.Effect<A, E>
  readonly together: (sent: ReadonlyArray<In>) => Effect.Effect<ReadonlyArray<Result.Result<A, E>>, E>
  /** Maximum number of calls in a group. */
  readonly maximum: number
}

/** Time after which a waiting call is sent alone, because the call under way may hang. */
const waitLimit = Duration.seconds(1)

interface Waiting<in out In, in out A, in out E> {
  readonly sent: In
  readonly result: Deferred.Deferred<A, E>
  /** The group that it was sent with. */
  group: Group | undefined
}

/** A call for several members, with the number of those that still wait. */
interface Group {
  fiber: Fiber.Fiber<void> | undefined
  waitingMembers: number
}

/** Makes calls in these ways. A group that fails as a whole fails for each of its members. */
export const make = <In, A, E>({ alone, maximum, together }: Ways<In, A, E>): ((sent: In) => Effect.Effect<A, E>) => {
  const waiting: Array<Waiting<In, A, E>> = []
  let isUnderWay = false

  const begin = Effect.sync(() => {
    const isFirst = !isUnderWay
    isUnderWay = true
    return isFirst
  })

  /** Sends the calls that waited for the one that has ended. */
  const proceed: Effect.Effect<void> = Effect.suspend(() => {
    const members = waiting.splice(0, maximum)
    isUnderWay = members.length > 0
    return isUnderWay ? submit(members) : Effect.void
  })

  const submit = Effect.fnUntraced(function* (members: ReadonlyArray<Waiting<In, A, E>>) {
    const group: Group = { fiber: undefined, waitingMembers: members.length }
    for (const member of members) member.group = group
    group.fiber = yield* Effect.forkDetach(Effect.ensuring(called(members), proceed))
  })

  const called = (members: ReadonlyArray<Waiting<In, A, E>>): Effect.Effect<void> => {
    const [only, ...others] = members
    if (only !== undefined && others.length === 0) return Effect.asVoid(Deferred.into(alone(only.sent), only.result))
    return Effect.flatMap(Effect.exit(together(members.map(({ sent }) => sent))), (exit) =>
      Effect.sync(() => {
        for (const [index, { result }] of members.entries()) Deferred.doneUnsafe(result, resultIn(exit, index))
      })
    )
  }

  /** Removes a waiting call; whether it was still waiting. */
  const withdraw = (one: Waiting<In, A, E>): boolean => {
    const place = waiting.indexOf(one)
    if (place >= 0) waiting.splice(place, 1)
    return place >= 0
  }

  const join = (sent: In): Effect.Effect<A, E> =>
    Effect.suspend(() => {
      const one: Waiting<In, A, E> = { sent, result: Deferred.makeUnsafe(), group: undefined }
      waiting.push(one)
      const ended = Effect.timeoutOrElse(Deferred.await(one.result), {
        duration: waitLimit,
        orElse: () => (withdraw(one) ? alone(sent) : Deferred.await(one.result))
      })
      return Effect.onInterrupt(ended, () => (withdraw(one) ? Effect.void : abandon(one.group)))
    })

  return (sent) =>
    Effect.acquireUseRelease(
      begin,
      (isFirst) => (isFirst ? alone(sent) : join(sent)),
      (isFirst) => (isFirst ? proceed : Effect.void)
    )
}

/** A member stops waiting; a call without waiting members is interrupted. */
const abandon = (group: Group | undefined): Effect.Effect<void> =>
  Effect.suspend(() => {
    if (group?.fiber === undefined || --group.waitingMembers > 0) return Effect.void
    return Fiber.interrupt(group.fiber)
  })

const resultIn = <A, E>(exit: Exit.Exit<ReadonlyArray<Result.Result<A, E>>, E>, index: number): Effect.Effect<A, E> =>
  Effect.flatMap(exit, (results) => {
    const result = results[index]
    return result === undefined
      ? Effect.die("a call for several left one without a response")
      : Effect.fromResult(result)
  })
