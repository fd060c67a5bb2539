/**
 * A facilitator as a shop of the simulation reaches it: behind a balancer that knows who listens, over a wire with weather. A call that
 * gets no answer fails with `FacilitatorUnavailable`, as it is over HTTP.
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

/** The events of a facilitator's responses. */
export interface DeliveryReports {
  /** The response to a claim. */
  readonly granted: (settled: Settled) => void
  /** The answer to a call without a claim has left its facilitator. */
  readonly given: (paymentId: string) => void
}

/** The service as this process has it. */
export const make = (
  caller: SimulatedProcess,
  time: SimulatedTime,
  weather: WireWeather,
  listening: () => ReadonlyArray<RunningFacilitator>,
  { given, granted }: DeliveryReports
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
    return RemoteCall.call(caller, time, weather, what, find, timeoutMillis).pipe(
      Effect.mapError(({ reason }) => new FacilitatorUnavailable({ message: `${what}: ${reason}` })),
      Effect.flatMap((result) => Effect.fromResult(result))
    )
  }
  return Facilitator.of({
    verify: (request) => ask("verify", ({ verify }) => verify(request)),
    settle: (request, claim) =>
      ask("settle", ({ settle }) =>
        Effect.tap(settle(request, claim), ({ paymentId }) =>
          Effect.sync(() => {
            if (claim === undefined) given(paymentId)
          })
        )
      ),
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
