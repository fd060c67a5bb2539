/**
 * Deletes records older than an age, in small steps that leave most of the time to payments. Without it every record is
 * kept, except in memory.
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

import * as OptionCheck from "../../protocol/OptionCheck.ts"
import { Misconfigured } from "../../protocol/ProtocolError.ts"
import { PaymentStore } from "../store/PaymentStore.ts"

/** The options of retention. */
export interface Options {
  /** Age of a record after all rights to it have ended; at least a minute. */
  readonly age: Duration.Input
}

const check = OptionCheck.options<Options>({ age: OptionCheck.duration })

/** The minimum age: far above the clock differences between a shop, its facilitator and a chain. */
const shortestMillis = 60_000

/** Number of records checked in one step. */
const atOnce = 50

/** Pause after a step, as a multiple of its duration, and its minimum in milliseconds. */
const pauseFactor = 9
const shortestPause = 20

/** Pause after the youngest record that is old enough, and after a fault, in milliseconds. */
const restMillis = 60_000
const troublePause = 10_000

/** Deletes while the layer lives. `Misconfigured` if the age is too short. */
export const layer = (options: Options): Layer.Layer<never, Misconfigured, PaymentStore> =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const { age } = yield* Effect.fromResult(OptionCheck.read(check, options, "RecordRetention"))
      const ageMillis = Duration.toMillis(age)
      if (ageMillis < shortestMillis) {
        return yield* new Misconfigured({
          message: `RecordRetention: age was expected to be at least ${shortestMillis / 1000} s, and is ${ageMillis / 1000} s; a record that goes too early is missed by who asks for what it has paid`
        })
      }
      const store = yield* PaymentStore
      yield* Effect.forkScoped(Effect.forever(pass(store, ageMillis)))
    })
  )

/** Goes from the oldest record to the youngest that is old enough. */
const pass = Effect.fnUntraced(
  function* (store: PaymentStore["Service"], ageMillis: number) {
    let after: bigint | undefined = -1n
    while (after !== undefined) {
      const began = yield* Clock.monotonicTimeNanos
      after = (yield* store.forget(ageMillis, after, atOnce)).next
      const millis = Number((yield* Clock.monotonicTimeNanos) - began) / 1e6
      yield* Effect.sleep(Math.max(shortestPause, millis * pauseFactor))
    }
    yield* Effect.sleep(Math.min(restMillis, ageMillis / 10))
  },
  Effect.catch(({ message }) =>
    Effect.andThen(Effect.logWarning(`old records are not forgotten: ${message}`), Effect.sleep(troublePause))
  )
)
