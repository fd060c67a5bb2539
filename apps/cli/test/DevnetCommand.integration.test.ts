/** `pontage devnet` as a process: a shop on this machine sells on it at once. */
import { assert, describe, it } from "@effect/vitest"

import * as CliProcess from "./CliProcess.ts"

describe("pontage devnet", () => {
  it("runs a chain and a facilitator that settles on it, until it is stopped", async () => {
    const running = CliProcess.start(CliProcess.freshHome(), ["devnet", "--port", "0", "--facilitator-port", "0"])
    const printed = await running.saying(/Stop with Ctrl-C/)
    const [, facilitator = ""] = /^facilitator +(\S+)$/m.exec(printed) ?? []
    const supported: unknown = await (await fetch(`${facilitator}/supported`)).json()
    assert.include(JSON.stringify(supported), "eip155:31337")
    const [, rpcUrl = ""] = /^chain +eip155:31337 at (\S+)$/m.exec(printed) ?? []
    const request = { jsonrpc: "2.0", id: 1, method: "eth_chainId", params: [] }
    const asked = await fetch(rpcUrl, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(request)
    })
    assert.strictEqual(Object(await asked.json()).result, "0x7a69")
    running.interrupt()
    const { code, err } = await running.ended
    assert.deepStrictEqual([code, err], [0, ""])
  }, 180_000)

  it("refuses what is no port, and other arguments", async () => {
    const home = CliProcess.freshHome()
    for (const args of [["--port", "x"], ["--port", "70000"], ["--facilitator-port=-1"], ["now"]]) {
      // oxlint-disable-next-line no-await-in-loop -- one process after another
      const { code, out } = await CliProcess.run(home, ["devnet", ...args])
      assert.deepStrictEqual([code, out], [2, ""], args.join(" "))
    }
  }, 180_000)
})

describe("pontage facilitator", () => {
  it("runs the service, which names the settings that are missing", async () => {
    const { code, err, out } = await CliProcess.run(CliProcess.freshHome(), ["facilitator"])
    assert.notStrictEqual(code, 0)
    assert.include(out + err, "PONTAGE_EVM_RPC_URL")
  }, 180_000)

  it("takes one argument alone", async () => {
    const { code } = await CliProcess.run(CliProcess.freshHome(), ["facilitator", "start"])
    assert.strictEqual(code, 2)
  }, 180_000)
})
