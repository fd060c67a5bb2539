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
import * as References from "effect/References"
import * as Runtime from "effect/Runtime"
import type * as Scope from "effect/Scope"

import * as FacilitatorProcess from "./FacilitatorProcess.ts"
import * as LogFormat from "./logs/LogFormat.ts"
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

type Failure = Effect.Error<typeof serve> | Effect.Error<typeof deploySettler> | Misconfigured

const task = Effect.suspend((): Effect.Effect<void, Failure, Scope.Scope> => {
  const [name, ...more] = process.argv.slice(2)
  if (name === undefined) return serve
  return name === "deploy-settler" && more.length === 0 ? deploySettler : Effect.fail(unknownTask)
})

const main = task.pipe(
  Effect.scoped,
  Effect.tapCause((cause) => (Cause.hasInterruptsOnly(cause) ? Effect.void : Effect.logError(complaintOf(cause))))
)

/** A sentence for failures that the operator can repair; the whole cause for any other. */
const complaintOf = (cause: Cause.Cause<Failure>): unknown => {
  const failure = cause.reasons.find((reason) => reason._tag === "Fail")?.error
  switch (failure?._tag) {
    case "Misconfigured":
    case "ChainUnavailable":
    case "FacilitatorUnavailable":
      return `${heading}\n${failure.message}`
    case "ServeError":
      return `the facilitator cannot listen\n${placeOf(failure.cause)}`
    case undefined:
      return cause
  }
}

/** The reason why a port cannot be listened on, and the remedy. */
const placeOf = (cause: unknown): string => {
  const { address = "", code = "", port = "" } = Object(cause)
  if (code === "EADDRINUSE") {
    return `another program listens on port ${port} of ${address}: end it, or set PORT to a free one (0 takes any)`
  }
  return `${String(cause)}; set HOST and PORT to an address of this machine that is free`
}

const stopping = Effect.andThen(
  Effect.logInfo("the facilitator stops; open requests are being answered"),
  Effect.sync(() => setTimeout(giveUp, stopDeadlineMillis).unref())
)

const giveUp = () => process.exit(1)

/** SIGTERM and SIGINT end the process with exit code 0. */
const teardown: Runtime.Teardown = (exit, onExit) =>
  Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause) ? onExit(0) : Runtime.defaultTeardown(exit, onExit)

const log = LogFormat.fromVariables(process.env)

const logged = main.pipe(
  Effect.provideService(References.MinimumLogLevel, log.level),
  Effect.provide(LogFormat.layer(log))
)

NodeRuntime.runMain(logged, { disableErrorReporting: true, teardown })
