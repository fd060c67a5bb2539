/**
 * `npm start`: runs the whole flow on this machine and stays up, so that you can buy for yourself. `--once` ends after one
 * purchase on each chain from each shop; `--json` prints each purchase as one line of JSON and nothing else. The exit code is 0 only when
 * everything was served and the chain shows every transfer.
 */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as UsablePorts from "@pontage/devnet/UsablePorts"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"

import * as Demo from "./Demo.ts"
import type { Purchase } from "./Purchase.ts"

const flags = new Set(process.argv.slice(2))
const once = flags.has("--once")
const json = flags.has("--json")

const fixed: Demo.Ports = { evm: 8545, ton: 8081, tron: 9090, facilitator: 4021, koa: 4022, nest: 4023 }
const free: Demo.Ports = { evm: 0, ton: 0, tron: 0, facilitator: 0, koa: 0, nest: 0 }

const tell: Demo.Tell = (topic, text) => (json ? Effect.void : Console.log(`${topic.padEnd(12)} ${text}`))

const show = (purchase: Purchase) =>
  json
    ? Console.log(JSON.stringify(purchase))
    : tell(
        "bought",
        `${purchase.route} from ${purchase.shop.padEnd(4)} for ${dollars(purchase.amount)} on ${purchase.network.padEnd(12)} in ${`${purchase.milliseconds}`.padStart(4)} ms, transaction ${shortened(purchase.transaction)}`
      )

/** The ends of a transaction's hash: a line fits a terminal. `--json` prints it whole. */
const shortened = (hash: string) => `${hash.slice(0, 10)}…${hash.slice(-8)}`

const dollars = (amount: string) => {
  const digits = amount.padStart(7, "0")
  return `$${digits.slice(0, -6)}.${digits.slice(-6).replace(/0{1,4}$/, "")}`
}

/** The usual ports, with a free one for each that another program has, such as npm run devnet. */
const usual: Effect.Effect<Demo.Ports> = Effect.gen(function* () {
  const ports = yield* Effect.all({
    evm: UsablePorts.orFree(fixed.evm),
    ton: UsablePorts.orFree(fixed.ton),
    tron: UsablePorts.orFree(fixed.tron),
    facilitator: UsablePorts.orFree(fixed.facilitator),
    koa: UsablePorts.orFree(fixed.koa),
    nest: UsablePorts.orFree(fixed.nest)
  })
  const taken = Object.values(fixed).filter((port) => !Object.values(ports).includes(port))
  if (taken.length > 0)
    yield* tell("ports", `${taken.join(", ")} in use by other programs: free ones are taken instead`)
  return ports
})

const program = Effect.gen(function* () {
  const ports = once ? free : yield* usual
  const purchases = yield* Demo.run(ports, tell)
  yield* Effect.forEach(purchases, show, { discard: true })
  if (once) return
  yield* tell("now you", `open http://127.0.0.1:${ports.koa}/report in a browser with a wallet`)
  yield* tell("", `npx pontage pay http://127.0.0.1:${ports.koa}/report`)
  yield* tell("", `curl -i http://127.0.0.1:${ports.koa}/report   (stop with Ctrl-C)`)
  return yield* Effect.never
})

NodeRuntime.runMain(Effect.scoped(program))
