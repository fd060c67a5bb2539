/**
 * The facilitator as a process: `node apps/facilitator/dist/main.js`, set up by environment variables (see the README).
 */
import "effect/schema/SchemaJITCompiler/enable"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Runtime from "effect/Runtime"

import * as FacilitatorProcess from "./FacilitatorProcess.ts"
import * as FacilitatorSettings from "./FacilitatorSettings.ts"

/** What a process manager commonly grants between asking and killing is 30 seconds. */
const stopDeadlineMillis = 28_000

const started = Effect.flatMap(FacilitatorSettings.fromEnvironment(process.env), FacilitatorProcess.start)

const main = Effect.gen(function* () {
  yield* started
  yield* Effect.onInterrupt(Effect.never, () => stopping)
}).pipe(
  Effect.scoped,
  Effect.tapCause((cause) => (Cause.hasInterruptsOnly(cause) ? Effect.void : Effect.logError(complaintOf(cause))))
)

/** What the operator can mend is told in words; anything else with all that is known of it. */
const complaintOf = (cause: Cause.Cause<Effect.Error<typeof started>>): unknown => {
  const failure = cause.reasons.find((reason) => reason._tag === "Fail")?.error
  switch (failure?._tag) {
    case "Misconfigured":
    case "ChainUnavailable":
    case "FacilitatorUnavailable":
      return `the facilitator cannot start\n${failure.message}`
    case "ServeError":
      return `the facilitator cannot listen: ${String(failure.cause)}; set HOST and PORT to an address that is free`
    case undefined:
      return cause
  }
}

const stopping = Effect.andThen(
  Effect.logInfo("the facilitator stops: settlements under way are being finished"),
  Effect.sync(() => setTimeout(giveUp, stopDeadlineMillis).unref())
)

const giveUp = () => process.exit(1)

/** To be asked to stop is no failure. */
const teardown: Runtime.Teardown = (exit, onExit) =>
  Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause) ? onExit(0) : Runtime.defaultTeardown(exit, onExit)

NodeRuntime.runMain(main, { disableErrorReporting: true, teardown })
