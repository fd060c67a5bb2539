/**
 * `npm run devnet`: starts the local chains and a bridge between two EVM chains, prints their accounts and runs until it is stopped;
 * `BRIDGE=cctp` takes CCTP in the place of LayerZero. The keys are known to everybody; never use them on a chain that matters.
 */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Cause from "effect/Cause"
import * as Config from "effect/Config"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

import * as DevBridge from "./bridge/DevBridge.ts"
import * as LocalBridge from "./bridge/LocalBridge.ts"
import * as DevNet from "./DevNet.ts"
import * as UsablePorts from "./UsablePorts.ts"

const startBridge = Effect.fnUntraced(function* ({ evm }: DevNet.DevNet, options: DevBridge.Options) {
  for (const line of DevBridge.describe(yield* DevBridge.make(evm, options))) yield* Console.log(line)
})

const program = Effect.gen(function* () {
  const evmPort = yield* UsablePorts.fromEnvironment("EVM_PORT", 8545)
  const tonPort = yield* UsablePorts.fromEnvironment("TON_PORT", 8081)
  const tronPort = yield* UsablePorts.fromEnvironment("TRON_PORT", 9090)
  const secondPort = yield* UsablePorts.fromEnvironment("EVM2_PORT", 8546)
  const executorPort = yield* UsablePorts.fromEnvironment("EXECUTOR_PORT", 8547)
  const kind = yield* Config.withDefault(Config.schema(Schema.Literals(LocalBridge.kinds), "BRIDGE"), "oft")
  const ports = {
    EVM_PORT: evmPort,
    TON_PORT: tonPort,
    TRON_PORT: tronPort,
    EVM2_PORT: secondPort,
    EXECUTOR_PORT: executorPort
  }
  const taken = yield* Effect.filter(Object.entries(ports), ([, port]) => UsablePorts.isTaken(port))
  for (const [name, port] of taken) {
    yield* Console.error(
      `Port ${port} is in use, perhaps by npm start: end that program, or set ${name} to a free port (0 takes any).`
    )
  }
  if (taken.length > 0) return yield* Effect.sync(() => void (process.exitCode = 1))
  const chains = yield* DevNet.make({ evmPort, tonPort, tronPort })
  for (const line of DevNet.describe(chains)) yield* Console.log(line)
  // Later than the others: its contracts may have to be installed first, and the others run without it.
  yield* Effect.catchCause(startBridge(chains, { kind, evmPort: secondPort, executorPort }), (cause) =>
    Console.error(`The bridge did not start; the chains above run without it. ${Cause.pretty(cause)}`)
  )
  return yield* Effect.never
})

NodeRuntime.runMain(Effect.scoped(program))
