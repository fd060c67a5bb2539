/** `pontage pay --top-up` and `pontage top-up` as processes, between two real nodes with LayerZero's published contracts or CCTP. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { fileURLToPath } from "node:url"

import { assert, it } from "@effect/vitest"
import * as BundledProgram from "@pontage/devnet/BundledProgram"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"

import * as TopUpMarket from "./TopUpMarket.ts"

const { price, purse } = TopUpMarket

const main = BundledProgram.fileOf(fileURLToPath(new URL("../../cli/src/main.ts", import.meta.url)))

/** Runs the command line with the buyer's key, in a home of its own. */
const runner = ({ environment, first, second }: TopUpMarket.TopUpMarket) => {
  const home = mkdtempSync(join(tmpdir(), "top-up-cli-"))
  const bridges = join(home, "bridges.json")
  writeFileSync(bridges, environment.BRIDGES)
  const env = {
    PATH: process.env["PATH"],
    PONTAGE_HOME: home,
    PONTAGE_EVM_KEY: environment.PRIVATE_KEY,
    PONTAGE_RPC: [first, second].map(({ network, rpcUrl }) => `${network}=${rpcUrl}`).join(",")
  }
  const start = (...args: ReadonlyArray<string>) => {
    const all = ["--conditions=@pontage/source", main, ...args, "--bridges", bridges]
    const child = spawn(process.execPath, all, { env, stdio: ["ignore", "pipe", "pipe"] })
    const ended = Promise.all([text(child.stdout), text(child.stderr), once(child, "close")])
    return { child, ended: ended.then(([out, err]) => ({ code: child.exitCode, out, err })) }
  }
  return { start, run: (...args: ReadonlyArray<string>) => Effect.promise(() => start(...args).ended) }
}

it.live.each(TopUpMarket.kinds)(
  "the command line names a top-up over %s, makes it, and goes on with it after Ctrl-C",
  (kind) =>
    Effect.gen(function* () {
      const market = yield* TopUpMarket.open(kind)
      const { account, behave, environment, first, here, isArrived, second, there, url } = market
      const { run, start } = runner(market)
      const by = environment.FACILITATOR
      const quoted = yield* run("quote", url, "--top-up", by)
      assert.strictEqual(quoted.code, 0, quoted.err)
      // The lines are broken by their length, and the amounts differ.
      const said = quoted.err.replaceAll(/\s+/g, " ")
      assert.match(said, /leave eip155:31337, \$\d+\.\d+ of it as a fee; 10 TUSD on eip155:31338 arrive/)
      assert.strictEqual(yield* here, purse)
      // Stopped while it is under way.
      yield* behave("ignore")
      const { child, ended } = start("pay", url, "--top-up", by, "--max", "30")
      yield* Effect.repeat(here, { until: (left) => left < purse, schedule: Schedule.spaced("100 millis") })
      child.kill("SIGINT")
      const stopped = yield* Effect.promise(() => ended)
      assert.strictEqual(stopped.code, 5, stopped.err)
      assert.match(stopped.err.replaceAll(/\s+/g, " "), /A top-up from eip155:31337 may be on its way: pay_/)
      const left = yield* here
      yield* behave("deliver")
      const paid = yield* run("pay", url, "--top-up", by, "--max", "30")
      assert.deepStrictEqual([paid.code, paid.out], [0, '{"reports":1}'], paid.err)
      assert.notInclude(paid.err, "nothing new was signed")
      assert.strictEqual(yield* here, left)
      const rest = yield* there
      assert.isTrue(isArrived(rest, 0n))
      const order = ["top-up", "12.5", "--to", second.network, "--facilitator", by, "--json"]
      const dear = yield* run(...order, "--yes")
      assert.deepStrictEqual([dear.code, dear.out], [3, ""], dear.err)
      const brought = yield* run(...order, "--from", first.network, "--max", "30")
      assert.strictEqual(brought.code, 0, brought.err)
      const receipt = JSON.parse(brought.out)
      assert.deepInclude(receipt, { from: first.network, to: second.network })
      assert.isTrue(isArrived(BigInt(receipt.amount), 12_500_000n))
      assert.strictEqual(yield* there, rest + BigInt(receipt.amount))
      assert.isBelow(Number(yield* here), Number(purse - price - 12_500_000n))
      assert.strictEqual(yield* Effect.promise(() => first.client.getBalance(account)), 0n)
    })
)
