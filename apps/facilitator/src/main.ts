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

const main = Effect.gen(function* () {
  const settings = yield* FacilitatorSettings.fromEnvironment(process.env)
  yield* FacilitatorProcess.start(settings)
  yield* Effect.onInterrupt(Effect.never, () => stopping)
}).pipe(
  Effect.scoped,
  Effect.tapErrorTag(["Misconfigured", "ChainUnavailable"], ({ message }) =>
    Effect.logError(`the facilitator cannot start\n${message}`)
  )
)

const stopping = Effect.andThen(
  Effect.logInfo("the facilitator stops: settlements under way are being finished"),
  Effect.sync(() => setTimeout(giveUp, stopDeadlineMillis).unref())
)

const giveUp = () => process.exit(1)

/** To be asked to stop is no failure. */
const teardown: Runtime.Teardown = (exit, onExit) =>
  Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause) ? onExit(0) : Runtime.defaultTeardown(exit, onExit)

NodeRuntime.runMain(main, { disableErrorReporting: true, teardown })
