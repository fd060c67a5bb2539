/**
 * A process of the simulation: fibers with a clock of their own that may go wrong, that can be killed between any two steps,
 * and frozen. A killed process runs nothing more, not even what it had put down to run at its end: like one that lost its
 * power, it is gone for everybody else in the same instant.
 */
import { Entropy } from "@pontage/core"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Exit from "effect/Exit"
import * as Logger from "effect/Logger"
import * as References from "effect/References"
import * as Scheduler from "effect/Scheduler"

import type { TrialRandom } from "../../world/TrialRandom.ts"
import type { SimulatedScheduler } from "./SimulatedScheduler.ts"
import type { SimulatedTime } from "./SimulatedTime.ts"

/** A process. */
export interface SimulatedProcess {
  readonly name: string
  readonly random: TrialRandom
  readonly context: Context.Context<never>
  /** The lead of its clock over the truth, in milliseconds. */
  skewMillis: number
  readonly isAlive: () => boolean
  readonly run: <A, E>(effect: Effect.Effect<A, E>, done?: (exit: Exit.Exit<A, E>) => void) => { interrupt: () => void }
  /** Runs what has come for it from outside: not when it is dead, and later when it is frozen. */
  readonly deliver: (action: () => void) => void
  readonly freeze: (millis: number) => void
  readonly kill: () => void
  /** Tells when it dies; returns how to stop that. */
  readonly onDeath: (told: () => void) => () => void
}

/** The surroundings of processes. */
export interface Surroundings {
  readonly time: SimulatedTime
  readonly scheduler: SimulatedScheduler
  readonly log: (process: string, level: string, text: string, isDefect: boolean) => void
}

/** Starts a process. */
export const make = (name: string, random: TrialRandom, world: Surroundings): SimulatedProcess => {
  const { scheduler, time } = world
  const turns = scheduler.turns()
  const deaths = new Set<() => void>()
  let isAlive = true
  let frozenUntil = 0
  const deliver = (action: () => void): void => {
    if (!isAlive) return
    if (time.now() >= frozenUntil) return action()
    time.after(frozenUntil - time.now(), `${name} thaws`, () => deliver(action))
  }
  const self: SimulatedProcess = {
    name,
    random,
    skewMillis: 0,
    context: Context.empty(),
    isAlive: () => isAlive,
    run: (effect, done) => {
      if (!isAlive) return { interrupt: () => undefined }
      const fiber = Effect.runForkWith(self.context)(effect)
      if (done !== undefined) fiber.addObserver(done)
      return { interrupt: () => deliver(() => fiber.interruptUnsafe()) }
    },
    deliver,
    freeze: (millis) => {
      frozenUntil = Math.max(frozenUntil, time.now() + millis)
      turns.pause(true)
      time.after(millis, `${name} thaws`, () => {
        if (time.now() >= frozenUntil) turns.pause(false)
      })
    },
    kill: () => {
      if (!isAlive) return
      isAlive = false
      turns.stop()
      const told = [...deaths]
      deaths.clear()
      for (const one of told) one()
    },
    onDeath: (told) => {
      deaths.add(told)
      return () => deaths.delete(told)
    }
  }
  const context = Context.make(Clock.Clock, clockOf(self, time)).pipe(
    Context.add(Scheduler.Scheduler, turns.scheduler),
    Context.add(Entropy.Entropy, { bytes: (length) => bytesOf(random, length) }),
    Context.add(References.TracerEnabled, false),
    Context.add(References.MinimumLogLevel, "Info"),
    Context.add(Logger.CurrentLoggers, new Set([loggerOf(name, world)]))
  )
  return Object.assign(self, { context })
}

const clockOf = (process: SimulatedProcess, time: SimulatedTime): Clock.Clock => {
  const millis = () => time.now() + process.skewMillis
  const monotonic = () => BigInt(time.now()) * 1_000_000n
  return {
    currentTimeMillisUnsafe: millis,
    currentTimeMillis: Effect.sync(millis),
    currentTimeNanosUnsafe: () => BigInt(millis()) * 1_000_000n,
    currentTimeNanos: Effect.sync(() => BigInt(millis()) * 1_000_000n),
    monotonicTimeNanosUnsafe: monotonic,
    monotonicTimeNanos: Effect.sync(monotonic),
    sleep: (duration) =>
      Effect.callback((resume) => {
        const asked = Duration.toMillis(duration)
        if (asked === Number.POSITIVE_INFINITY) return
        const cancel = time.after(asked, process.name, () => process.deliver(() => resume(Effect.void)))
        return Effect.sync(cancel)
      })
  }
}

const bytesOf = (random: TrialRandom, length: number): Uint8Array => {
  const bytes = new Uint8Array(length)
  for (let place = 0; place < length; place++) bytes[place] = random.word() >>> 24
  return bytes
}

const loggerOf = (name: string, { log }: Surroundings) =>
  Logger.make<unknown, void>(({ cause, logLevel, message }) => {
    const words = Array.isArray(message) ? message : [message]
    const isDefect = [...words, cause].some(hasDefect)
    log(name, logLevel, words.map(textOf).join(" "), isDefect)
  })

const hasDefect = (word: unknown): boolean =>
  typeof word === "object" && word !== null && "reasons" in word && Array.isArray(word.reasons)
    ? word.reasons.some((reason: { readonly _tag?: string }) => reason._tag === "Die")
    : false

const textOf = (word: unknown): string => {
  if (typeof word === "string") return word
  if (word instanceof Error) return word.message
  return String(word).slice(0, 400)
}
