/**
 * Tests that get a layer of their own each, for example a chain. In a `describe.concurrent` they wait at the same time;
 * tests that share one chain have to wait one after another.
 */
import { it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"

/** Registers a test by its name and its body; the time limit is in milliseconds. */
export interface TestsEach<R> {
  readonly effect: <A, E>(
    name: string,
    body: () => Effect.Effect<A, E, R | Scope.Scope>,
    timeoutMillis?: number
  ) => void
}

/** Provides each test with its own instance of the layer, and with real time. */
export const layerEach =
  <R, E>(layer: Layer.Layer<R, E>) =>
  (declare: (it: TestsEach<R>) => void): void =>
    declare({
      effect: (name, body, timeoutMillis) => {
        it.live(name, () => Effect.provide(body(), layer, { local: true }), timeoutMillis)
      }
    })
