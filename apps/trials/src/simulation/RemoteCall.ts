/**
 * A call from one process of the simulation to another, as HTTP makes it: it may find nobody there, break off when the other
 * dies, or be given up by its caller, which the other side learns some time later.
 */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"

import type { SimulatedProcess } from "./SimulatedProcess.ts"
import type { SimulatedTime } from "./SimulatedTime.ts"
import { patienceMillis, wayOf, type WireWeather } from "./Wire.ts"

/**
 * There is no answer. `words` are the transport's own.
 *
 * @category errors
 */
export class CallBroken extends Data.TaggedError("CallBroken")<{ readonly words: string }> {}

/**
 * Who is called, and what it does then; `undefined` while nobody listens there.
 *
 * @category models
 */
export interface Callee<A> {
  readonly process: SimulatedProcess
  readonly serve: Effect.Effect<A>
}

/**
 * Makes a call.
 *
 * @category combinators
 */
export const call = <A>(
  caller: SimulatedProcess,
  time: SimulatedTime,
  weather: WireWeather,
  what: string,
  find: () => Callee<A> | undefined
): Effect.Effect<A, CallBroken> =>
  Effect.callback<A, CallBroken>((resume) => {
    let isOver = false
    let giveUp: (() => void) | undefined
    const end = (effect: Effect.Effect<A, CallBroken>, millis: number) => {
      if (isOver) return
      isOver = true
      time.after(millis, `${caller.name} has an answer to ${what}`, () => caller.deliver(() => resume(effect)))
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
          if (weather.state === "mute") return end(broken("timed out"), patienceMillis)
          end(Exit.isSuccess(exit) ? exit : broken("broke off"), way())
        })
        giveUp = () => time.after(way(), `${caller.name} is gone`, fiber.interrupt)
      })
    }
    time.after(wayOf(caller, weather), `${caller.name} calls ${what}`, arrive)
    return Effect.sync(() => {
      if (isOver) return
      isOver = true
      giveUp?.()
    })
  })

const broken = (words: string): Effect.Effect<never, CallBroken> => Effect.fail(new CallBroken({ words }))
