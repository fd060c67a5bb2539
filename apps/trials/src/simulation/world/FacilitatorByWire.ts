/**
 * A facilitator as a shop of the simulation reaches it: behind a balancer that knows who listens, over a wire with weather. What
 * no answer comes to is `FacilitatorUnavailable`, as it is over HTTP.
 */
import { CurrentCaller, Facilitator, FacilitatorUnavailable, type Settled } from "@pontage/core"
import * as Effect from "effect/Effect"
import type * as Result from "effect/Result"

import * as RemoteCall from "./RemoteCall.ts"
import type { RunningFacilitator, Service } from "./SimulatedFacilitator.ts"
import type { SimulatedProcess } from "./SimulatedProcess.ts"
import type { SimulatedTime } from "./SimulatedTime.ts"
import type { WireWeather } from "./Wire.ts"

/** As over HTTP. */
const timeoutMillis = 30_000

/** The service as this process has it. `granted` is told what was said to a claim. */
export const make = (
  caller: SimulatedProcess,
  time: SimulatedTime,
  weather: WireWeather,
  listening: () => ReadonlyArray<RunningFacilitator>,
  granted: (settled: Settled) => void
): Service => {
  const ask = <A, E>(
    what: string,
    question: (service: Service) => Effect.Effect<A, E>
  ): Effect.Effect<A, E | FacilitatorUnavailable> => {
    const find = (): RemoteCall.Callee<Result.Result<A, E>> | undefined => {
      const all = listening()
      const one = all.length === 0 ? undefined : caller.random.pick(all)
      const service = one?.service()
      if (one === undefined || service === undefined) return undefined
      const serve = Effect.provideService(Effect.result(question(service)), CurrentCaller, {
        name: caller.name,
        notify: false
      })
      return { process: one.process, serve }
    }
    return RemoteCall.call(caller, time, weather, what, find).pipe(
      Effect.timeoutOrElse({
        duration: timeoutMillis,
        orElse: () => Effect.fail(new RemoteCall.CallBroken({ words: "timed out" }))
      }),
      Effect.mapError(({ words }) => new FacilitatorUnavailable({ message: `${what}: ${words}` })),
      Effect.flatMap((result) => Effect.fromResult(result))
    )
  }
  return Facilitator.of({
    verify: (request) => ask("verify", ({ verify }) => verify(request)),
    settle: (request, claim) => ask("settle", ({ settle }) => settle(request, claim)),
    claim: (request, claim) =>
      Effect.tap(
        ask("claim", (service) => service.claim(request, claim)),
        (settled) => Effect.sync(() => granted(settled))
      ),
    finish: (...report) => ask("finish", ({ finish }) => finish(...report)),
    payment: (paymentId) => ask("payment", ({ payment }) => payment(paymentId)),
    supported: ask("supported", ({ supported }) => supported)
  })
}
