/** `pontage validate`, `wallet` and `journal` as processes, at a real shop on a real chain and at faulty ones. */
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"

import { assert, describe, it } from "@effect/vitest"
import { EvmTestChain } from "@pontage/evm/testing"
import { TonTestChain } from "@pontage/ton/testing"
import { TronTestChain } from "@pontage/tron/testing"
import * as Effect from "effect/Effect"

import * as CliProcess from "./CliProcess.ts"
import * as OpenShop from "./OpenShop.ts"

const password = { PONTAGE_PASSWORD: "correct horse battery" }

describe("pontage validate", () => {
  it.live("passes a real shop, and finds what is wrong with others", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const chain = yield* EvmTestChain.make({ payers: 1 })
        const shop = yield* OpenShop.koa(chain)
        const home = CliProcess.freshHome()
        const run = (...args: ReadonlyArray<string>) =>
          Effect.promise(() => CliProcess.run(home, ["validate", ...args]))
        const good = yield* run(`${shop.origin}/report`)
        assert.strictEqual(good.code, 0, good.out + good.err)
        assert.include(good.out, "The shop can be paid.")
        assert.strictEqual((yield* run(`${shop.origin}/free`)).code, 1)

        const { origin } = yield* OpenShop.listen((request, response) => {
          if (request.method === "GET" && OpenShop.isPaid(request)) return void response.end("given away")
          const faulty = { ...OpenShop.offer("https://elsewhere.example"), payTo: `0x${"0".repeat(40)}` }
          OpenShop.refuse(response, { error: "pay", accepts: [{ ...faulty, description: "\u001b[1A" }] })
        })
        const bad = yield* run(origin)
        assert.strictEqual(bad.code, 1, bad.out)
        for (const fault of ["zero address", "not http://127.0.0.1", "control characters", "given away"]) {
          assert.include(bad.out.replaceAll(/\s+/g, " "), fault)
        }
        assert.notInclude(bad.out, "\u001b")
        assert.strictEqual((yield* run("http://127.0.0.1:9/")).code, 6)
        assert.deepStrictEqual(
          shop.payments.filter((payment) => payment !== "bm8gcGF5bWVudA=="),
          []
        )
      })
    )
  )
})

describe("pontage wallet and journal", () => {
  it.live("make a wallet that is funded, pays by its password, and is found in the journal", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const chain = yield* EvmTestChain.make({ payers: 1 })
        const shop = yield* OpenShop.koa(chain)
        const home = CliProcess.freshHome()
        const run = (...args: ReadonlyArray<string>) => Effect.promise(() => CliProcess.run(home, args, password))
        const rpc = ["--rpc", `eip155:31337=${chain.rpcUrl}`]
        const made = yield* run("wallet", "new")
        assert.match(made.out, /^0x[0-9a-fA-F]{40}\n$/, made.err)
        assert.strictEqual((yield* run("wallet", "new")).code, 7)
        const [file = ""] = readdirSync(join(home, "wallets"))
        assert.strictEqual(statSync(join(home, "wallets", file)).mode & 0o077, 0)
        assert.include((yield* run("wallet", "list")).out, made.out.trim().toLowerCase())

        const url = `${shop.origin}/report`
        const poor = yield* run("pay", url, "-y")
        assert.deepStrictEqual([poor.code, poor.out], [4, ""], poor.err)
        const told = yield* run("journal", "--json", "--open")
        assert.include(told.out, '"state":"refused"')
        // The journal's file holds the payment itself; whoever reads the output could send it.
        assert.include(readFileSync(join(home, "journal.jsonl"), "utf8"), '"headers"')
        assert.notInclude(told.out, '"headers"')
        assert.strictEqual((yield* run("wallet", "fund", "--amount", "2.5", ...rpc)).code, 0)
        const funded = yield* run("wallet", "balance", "--network", "eip155:31337", ...rpc)
        assert.strictEqual(funded.out.trim(), "eip155:31337     2.5 TUSD", funded.err)

        // The refused payment is sent again, which needs no password, and has its money now.
        const resumed = yield* run("pay", url, "-y")
        assert.deepStrictEqual([resumed.code, resumed.err.includes("nothing new was signed")], [0, true], resumed.err)
        const locked = yield* Effect.promise(() =>
          CliProcess.run(home, ["pay", url, "-y"], { PONTAGE_PASSWORD: "another password" })
        )
        assert.deepStrictEqual([locked.code, locked.err.includes("does not open")], [7, true], locked.err)
        const paid = yield* run("pay", url, "-y", "--network", "eip155:31337")
        assert.strictEqual(paid.code, 0, paid.err)
        const left = yield* run("wallet", "balance", "--network", "eip155:31337", ...rpc)
        assert.strictEqual(left.out.trim(), "eip155:31337     2.48 TUSD")
        assert.strictEqual((yield* run("pay", url, "-y", "--network", "base")).code, 3)

        const journal = yield* run("journal")
        assert.match(journal.out, /\$0\.01 +paid\n/)
      })
    )
  )

  it.live("funds on the local chain of this machine alone", () =>
    Effect.gen(function* () {
      const home = CliProcess.freshHome()
      const run = (...args: ReadonlyArray<string>) => Effect.promise(() => CliProcess.run(home, args, password))
      yield* run("wallet", "new")
      const away = yield* run("wallet", "fund", "--rpc", "eip155:31337=https://mainnet.example")
      assert.deepStrictEqual([away.code, away.err.includes("is not on this machine")], [6, true], away.err)
    })
  )
})

/** A file with a key of 32 bytes. */
const keyFile = (home: string, hex: string): string => {
  const path = join(home, "key")
  writeFileSync(path, hex)
  return path
}

describe("pontage wallet balance", () => {
  it.live("shows the balance of a TON wallet, whose address depends on the network", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const chain = yield* TonTestChain.make()
        const [payer] = chain.accounts.payers
        const home = CliProcess.freshHome()
        const run = (...args: ReadonlyArray<string>) => Effect.promise(() => CliProcess.run(home, args, password))
        const seed = Buffer.from(payer.seed).toString("hex")
        yield* run("wallet", "new", "jettons", "--family", "ton", "--from", keyFile(home, seed))
        const shown = yield* run("wallet", "balance", "--network", "ton:local", "--rpc", `ton:local=${chain.rpcUrl}`)
        assert.deepStrictEqual([shown.code, shown.out.trim()], [0, "ton:local        1000 TUSD"], shown.err)
        const foreign = yield* run("wallet", "balance", "jettons", "--network", "tron:nile")
        assert.strictEqual(foreign.code, 7, foreign.err)
      })
    )
  )

  it.live("shows the balance of a TRON wallet", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const chain = yield* TronTestChain.make()
        const [payer] = chain.accounts.payers
        const home = CliProcess.freshHome()
        const run = (...args: ReadonlyArray<string>) => Effect.promise(() => CliProcess.run(home, args, password))
        yield* run("wallet", "new", "tether", "--family", "tron", "--from", keyFile(home, payer.privateKey))
        const shown = yield* run(
          "wallet",
          "balance",
          "tether",
          "--network",
          "tron:local",
          "--rpc",
          `tron:local=${chain.rpcUrl}`
        )
        assert.deepStrictEqual([shown.code, shown.out.trim()], [0, "tron:local       1000 TUSD"], shown.err)
      })
    )
  )
})
