/**
 * The records of a simulation: one memory store that outlives every process, and each process's way to it. A write may happen
 * and its answer be lost; it may come late; and hints from other processes come late or never.
 */
import { FacilitatorUnavailable } from "@pontage/core"
import { MemoryPaymentStore, type PaymentStore, Signals } from "@pontage/core"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"

import type { NetworkLink } from "./NetworkLink.ts"
import type { SimulatedProcess } from "./SimulatedProcess.ts"
import type { SimulatedTime } from "./SimulatedTime.ts"

export type Store = PaymentStore.PaymentStore["Service"]

/** The database: what is on its disk, and the means to look into it without anybody's leave. */
export interface SimulatedRecords {
  /** The true content: for the invariants alone. */
  readonly disk: Store
  /** The answer of the disk itself, at once. */
  readonly read: <A, E>(effect: Effect.Effect<A, E>) => A
  /** The store as a process has it. */
  readonly over: (process: SimulatedProcess, link: NetworkLink) => Store
}

/** The parts of a simulation's records. */
export interface Options {
  readonly time: SimulatedTime
  /** The database's clock: writes are dated by it. */
  readonly context: Context.Context<never>
  /** The store that a mutation wraps. */
  readonly broken: (store: Store) => Store
  /** Told of each write that has happened. */
  readonly written: (process: string, method: string) => void
}

/** Empty records. */
export const make = ({ broken, context, time, written }: Options): SimulatedRecords => {
  const disk = Effect.runSync(MemoryPaymentStore.make)
  const exitOf = Effect.runSyncExitWith(context)
  const over = (process: SimulatedProcess, link: NetworkLink): Store => {
    const call: Call = (method, effect) => {
      const asked = link.exchange(`records.${method}`, () => {
        const exit = exitOf(effect)
        if (!reading.has(method)) written(process.name, method)
        return exit
      })
      return Effect.matchEffect(asked, {
        onFailure: () => Effect.fail(new FacilitatorUnavailable({ message: `the records did not answer ${method}` })),
        onSuccess: (exit) => (Exit.isSuccess(exit) ? Effect.succeed(exit.value) : Effect.failCause(exit.cause))
      })
    }
    const signals = signalsOver(disk.signals, process, time)
    return broken(methodsOver(disk, signals, Effect.sync(time.now), call))
  }
  return { disk, read: (effect) => Effect.runSyncWith(context)(effect), over }
}

const reading = new Set([
  "find",
  "openPayments",
  "loads",
  "queued",
  "queuedInTurn",
  "openTransactions",
  "spent",
  "page"
])

type Call = <A, E>(method: string, effect: Effect.Effect<A, E>) => Effect.Effect<A, E | FacilitatorUnavailable>

/** An effect that needs nothing more to run: all that a store answers with. */
const isComplete = (member: unknown): member is Effect.Effect<unknown, unknown> => Effect.isEffect(member)

/** Arguments are taken when a method is called, the method itself runs when the call arrives. */
const methodsOver = (disk: Store, signals: Store["signals"], now: Store["now"], call: Call): Store =>
  new Proxy(disk, {
    get: (target, name) => {
      if (name === "signals") return signals
      // A process knows how far the database's clock is from its own, and does not ask it each time.
      if (name === "now") return now
      const member: unknown = Reflect.get(target, name)
      if (typeof member !== "function") return isComplete(member) ? call(String(name), member) : member
      return (...given: ReadonlyArray<unknown>) =>
        call(
          String(name),
          Effect.suspend(() => {
            const answer: unknown = Reflect.apply(member, target, given)
            return isComplete(answer) ? answer : Effect.die(`the store's ${String(name)} is no effect`)
          })
        )
    }
  })

/** The longest delay of a hint from the database, in milliseconds, and the lost hints per thousand. */
const slowestHint = 20
const lostHints = 20

/** A process hears its own hints at once, and what the database tells all of them some time later. */
const signalsOver = (shared: Signals.Signals, process: SimulatedProcess, time: SimulatedTime): Signals.Signals => {
  const own = Signals.make()
  const followed = new Set<string>()
  const follow = (topic: string) => {
    if (followed.has(topic)) return
    followed.add(topic)
    const stop = shared.subscribe(topic, () => {
      if (process.random.perMille(lostHints)) return
      const way = process.random.below(slowestHint)
      time.after(way, `${process.name} is told`, () => process.deliver(() => own.notify(topic)))
    })
    process.onDeath(stop)
  }
  return {
    subscribe: (topic, heard) => {
      follow(topic)
      return own.subscribe(topic, heard)
    },
    listen: (topic) =>
      Effect.suspend(() => {
        follow(topic)
        return own.listen(topic)
      }),
    notify: own.notify,
    notifyAll: own.notifyAll
  }
}
