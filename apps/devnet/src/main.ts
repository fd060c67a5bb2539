/**
 * `npm run devnet`: starts the local chains, prints their accounts and runs until it is stopped. The keys are known to
 * everybody; never use them on a chain that matters.
 */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Config from "effect/Config"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"

import * as DevNet from "./DevNet.ts"
import * as UsablePorts from "./UsablePorts.ts"

const program = Effect.gen(function* () {
  const evmPort = yield* Config.Port("EVM_PORT").pipe(Config.withDefault(8545))
  const tonPort = yield* Config.Port("TON_PORT").pipe(Config.withDefault(8081))
  const tronPort = yield* Config.Port("TRON_PORT").pipe(Config.withDefault(9090))
  const ports = { EVM_PORT: evmPort, TON_PORT: tonPort, TRON_PORT: tronPort }
  const taken = yield* Effect.filter(Object.entries(ports), ([, port]) => UsablePorts.isTaken(port))
  for (const [name, port] of taken) {
    yield* Console.error(
      `Port ${port} is in use, perhaps by npm start: end that program, or set ${name} to a free port (0 takes any).`
    )
  }
  if (taken.length > 0) return yield* Effect.sync(() => void (process.exitCode = 1))
  const chains = yield* DevNet.make({ evmPort, tonPort, tronPort })
  for (const line of DevNet.describe(chains)) yield* Console.log(line)
  return yield* Effect.never
})

NodeRuntime.runMain(Effect.scoped(program))
