#!/usr/bin/env node
/**
 * The facilitator as a process: `node apps/facilitator/dist/main.js`, set up by environment variables (see the README).
 * With the argument `deploy-settler` it deploys the facilitator's contracts to the same networks instead, and ends.
 */
import "effect/schema/SchemaJITCompiler/enable"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Misconfigured } from "@pontage/core"
import * as Cause from "effect/Cause"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Runtime from "effect/Runtime"

import * as FacilitatorProcess from "./FacilitatorProcess.ts"
import * as FacilitatorSettings from "./settings/FacilitatorSettings.ts"
import * as SettlerDeployment from "./settling/SettlerDeployment.ts"

/** Process managers commonly wait 30 seconds between SIGTERM and SIGKILL. */
const stopDeadlineMillis = 28_000

const settings = Effect.suspend(() => FacilitatorSettings.fromEnvironment(process.env))

const serve = Effect.gen(function* () {
  yield* FacilitatorProcess.start(yield* settings)
  yield* Effect.onInterrupt(Effect.never, () => stopping)
})

const deploySettler = Effect.gen(function* () {
  for (const { name, network, settler } of yield* SettlerDeployment.deploy(yield* settings)) {
    yield* Console.log(`the ${name} is at ${settler} on ${network}`)
  }
})

const unknownTask = new Misconfigured({
  message: "the only argument is deploy-settler; environment variables set everything else"
})

const heading = process.argv.length > 2 ? "the command failed" : "the facilitator cannot start"

const task = Effect.suspend(() => {
  const [name, ...more] = process.argv.slice(2)
  if (name === undefined) return serve
  return name === "deploy-settler" && more.length === 0 ? deploySettler : Effect.fail(unknownTask)
})

const main = task.pipe(
  Effect.scoped,
  Effect.tapCause((cause) => (Cause.hasInterruptsOnly(cause) ? Effect.void : Effect.logError(complaintOf(cause))))
)

/** A sentence for failures that the operator can repair; the whole cause for any other. */
const complaintOf = (cause: Cause.Cause<Effect.Error<typeof task>>): unknown => {
  const failure = cause.reasons.find((reason) => reason._tag === "Fail")?.error
  switch (failure?._tag) {
    case "Misconfigured":
    case "ChainUnavailable":
    case "FacilitatorUnavailable":
      return `${heading}\n${failure.message}`
    case "ServeError":
      return `the facilitator cannot listen: ${String(failure.cause)}; set HOST and PORT to an address that is free`
    case undefined:
      return cause
  }
}

const stopping = Effect.andThen(
  Effect.logInfo("the facilitator stops; open requests are being answered"),
  Effect.sync(() => setTimeout(giveUp, stopDeadlineMillis).unref())
)

const giveUp = () => process.exit(1)

/** SIGTERM and SIGINT end the process with exit code 0. */
const teardown: Runtime.Teardown = (exit, onExit) =>
  Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause) ? onExit(0) : Runtime.defaultTeardown(exit, onExit)

NodeRuntime.runMain(main, { disableErrorReporting: true, teardown })
