/**
 * A wire between a process and something outside it, with its weather: how long words take on it, and whether they arrive.
 */
import * as Effect from "effect/Effect"

import { LinkBroken, type NetworkLink } from "./NetworkLink.ts"
import type { SimulatedProcess } from "./SimulatedProcess.ts"
import type { SimulatedTime } from "./SimulatedTime.ts"

/**
 * The weather of a wire. `cut`: no question arrives. `mute`: questions arrive, and no answer comes back. `refused`: the other
 * side says at once that it does nothing.
 */
export interface WireWeather {
  state: "good" | "cut" | "mute" | "refused"
  /** The shortest and the longest way, in milliseconds. */
  latency: readonly [number, number]
  /** Lost responses, per thousand. */
  lost: number
}

/** A strike at a process: between the moment a question is answered and the moment the answer is on its way back. */
export type Tap = (process: SimulatedProcess, what: string, phase: "before" | "after") => void

/** Timeout of a request without a response, in milliseconds. */
export const patienceMillis = 5_000

/** Weather that is good. */
export const fair = (latency: readonly [number, number]): WireWeather => ({ state: "good", latency, lost: 0 })

/** The way of one word on a wire, in milliseconds. */
export const wayOf = ({ random }: SimulatedProcess, { latency: [least, most] }: WireWeather): number =>
  least === most ? least : random.between(least, most)

/** A process's end of a wire. */
export const link = (process: SimulatedProcess, time: SimulatedTime, weather: WireWeather, tap: Tap): NetworkLink => ({
  process: process.name,
  context: process.context,
  exchange: <A>(what: string, question: () => A): Effect.Effect<A, LinkBroken> =>
    Effect.callback<A, LinkBroken>((resume) => {
      const answer = (effect: Effect.Effect<A, LinkBroken>, millis: number) => {
        time.after(millis, `${process.name} hears of ${what}`, () => process.deliver(() => resume(effect)))
      }
      const ask = () => {
        const { lost, state } = weather
        if (state === "refused") return answer(unheard, wayOf(process, weather))
        if (state === "cut") return answer(unheard, patienceMillis)
        tap(process, what, "before")
        if (!process.isAlive()) return
        const said = question()
        tap(process, what, "after")
        const isLost = state === "mute" || (lost > 0 && process.random.perMille(lost))
        return isLost ? answer(unanswered, patienceMillis) : answer(Effect.succeed(said), wayOf(process, weather))
      }
      // A message on its way arrives, also when its process dies meanwhile.
      time.after(wayOf(process, weather), `${process.name} asks ${what}`, ask)
    })
})

const unheard = Effect.fail(new LinkBroken({ heard: false }))
const unanswered = Effect.fail(new LinkBroken({ heard: true }))
