/**
 * `npm start`: runs the whole flow on this machine and stays up, so that you can buy for yourself. `--once` ends after one
 * purchase on each chain from each shop; `--wdk` adds buyers with the WDK, and installs its packages first; `--json` prints each
 * purchase as one line of JSON and nothing else. The exit code is 0 only when everything was served and the chain shows every transfer.
 */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as UsablePorts from "@pontage/devnet/UsablePorts"
import * as Effect from "effect/Effect"

import * as Demo from "./Demo.ts"
import * as Narrator from "./Narrator.ts"

const flags = new Set(process.argv.slice(2))
const once = flags.has("--once")

const fixed: Demo.Ports = { evm: 8545, ton: 8081, tron: 9090, facilitator: 4021, koa: 4022, nest: 4023, stream: 4024 }
const free: Demo.Ports = { evm: 0, ton: 0, tron: 0, facilitator: 0, koa: 0, nest: 0, stream: 0 }

const narrator = flags.has("--json") ? Narrator.forPrograms : Narrator.forPeople

/** The usual ports, with a free one for each that another program has, such as npm run devnet. */
const usual: Effect.Effect<Demo.Ports> = Effect.gen(function* () {
  const ports = yield* Effect.all({
    evm: UsablePorts.orFree(fixed.evm),
    ton: UsablePorts.orFree(fixed.ton),
    tron: UsablePorts.orFree(fixed.tron),
    facilitator: UsablePorts.orFree(fixed.facilitator),
    koa: UsablePorts.orFree(fixed.koa),
    nest: UsablePorts.orFree(fixed.nest),
    stream: UsablePorts.orFree(fixed.stream)
  })
  const taken = Object.values(fixed).filter((port) => !Object.values(ports).includes(port))
  if (taken.length > 0) {
    yield* narrator.heading("Ports")
    yield* narrator.row("in use", `${taken.join(", ")} by other programs: free ones are taken instead`)
  }
  return ports
})

const program = Effect.gen(function* () {
  const ports = once ? free : yield* usual
  const { koa, stream } = yield* Demo.run(ports, narrator, { wdk: flags.has("--wdk") })
  if (once) return
  yield* narrator.heading("Now you")
  yield* narrator.row("pay", `npx pontage pay ${koa}/report`)
  yield* narrator.row("stream", `npx pontage pay ${stream}/answer --max-stream 0.01`)
  yield* narrator.row("look", `curl -i ${koa}/report`)
  yield* narrator.row("browse", `open ${koa}/report in a browser with a wallet`)
  yield* narrator.row("stop", "Ctrl-C: nothing is left behind")
  return yield* Effect.never
})

NodeRuntime.runMain(Effect.scoped(program))
