/**
 * A call from one process of the simulation to another, as HTTP makes it: it may find no listener, break off when the other
 * dies, or be given up by its caller, which the other side learns some time later.
 */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"

import type { SimulatedProcess } from "./SimulatedProcess.ts"
import type { SimulatedTime } from "./SimulatedTime.ts"
import { patienceMillis, wayOf, type WireWeather } from "./Wire.ts"

/** No response arrived; `reason` is the transport's message. */
export class CallBroken extends Data.TaggedError("CallBroken")<{ readonly reason: string }> {}

/** The called process and its action; `undefined` while no process listens there. */
export interface Callee<A> {
  readonly process: SimulatedProcess
  readonly serve: Effect.Effect<A>
  /** Told of an answer that its caller does not get. */
  readonly missed?: (answer: A) => unknown
}

/** Makes a call. Where a caller has a patience (milliseconds) it gives up after that. */
export const call = <A>(
  caller: SimulatedProcess,
  time: SimulatedTime,
  weather: WireWeather,
  what: string,
  find: () => Callee<A> | undefined,
  patience?: number
): Effect.Effect<A, CallBroken> =>
  Effect.callback<A, CallBroken>((resume) => {
    let isOver = false
    let giveUp: (() => void) | undefined
    let isGone = false
    let endWaiting: (() => void) | undefined
    const leave = () => {
      isGone = true
      if (isOver) return
      isOver = true
      giveUp?.()
    }
    const end = (effect: Effect.Effect<A, CallBroken>, millis: number, missed?: () => void) => {
      if (isOver) return missed?.()
      isOver = true
      time.after(millis, `${caller.name} has an answer to ${what}`, () => {
        if (isGone || !caller.isAlive()) return missed?.()
        endWaiting?.()
        caller.deliver(() => resume(effect))
      })
    }
    const arrive = () => {
      if (isOver) return
      if (weather.state === "refused") return end(broken("connection refused"), wayOf(caller, weather))
      if (weather.state === "cut") return end(broken("timed out"), patienceMillis)
      const callee = find()
      if (callee === undefined || !callee.process.isAlive()) return end(broken("connection refused"), 1)
      const way = () => wayOf(caller, weather)
      const forget = callee.process.onDeath(() => end(broken("connection reset"), way()))
      callee.process.deliver(() => {
        const fiber = callee.process.run(callee.serve, (exit) => {
          forget()
          const missed = () => miss(callee, exit)
          if (weather.state !== "mute") return end(Exit.isSuccess(exit) ? exit : broken("broke off"), way(), missed)
          missed()
          return end(broken("timed out"), patienceMillis)
        })
        giveUp = () => time.after(way(), `${caller.name} is gone`, fiber.interrupt)
      })
    }
    time.after(wayOf(caller, weather), `${caller.name} calls ${what}`, arrive)
    if (patience !== undefined) {
      endWaiting = time.after(patience, `${caller.name} waits no longer for ${what}`, () => {
        leave()
        caller.deliver(() => resume(broken("timed out")))
      })
    }
    return Effect.sync(() => {
      endWaiting?.()
      leave()
    })
  })

const broken = (reason: string): Effect.Effect<never, CallBroken> => Effect.fail(new CallBroken({ reason }))

const miss = <A>({ missed }: Callee<A>, exit: Exit.Exit<A>): void => {
  if (Exit.isSuccess(exit)) missed?.(exit.value)
}
