/**
 * `npm run devnet`: starts the local chains, prints their accounts and runs until it is stopped. The keys are known to
 * everybody; never use them on a chain that matters.
 */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Config from "effect/Config"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"

import * as DevNet from "./DevNet.ts"

const program = Effect.gen(function* () {
  const evmPort = yield* Config.Port("EVM_PORT").pipe(Config.withDefault(8545))
  const tonPort = yield* Config.Port("TON_PORT").pipe(Config.withDefault(8081))
  const tronPort = yield* Config.Port("TRON_PORT").pipe(Config.withDefault(9090))
  const chains = yield* DevNet.make({ evmPort, tonPort, tronPort })
  for (const line of DevNet.describe(chains)) yield* Console.log(line)
  return yield* Effect.never
})

NodeRuntime.runMain(Effect.scoped(program))
