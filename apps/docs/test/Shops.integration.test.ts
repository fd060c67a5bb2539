/** The shops of the pages as their readers run them: processes of their own, with a local chain and a facilitator. */
import { type ChildProcess, spawn } from "node:child_process"
import { mkdtempSync } from "node:fs"
import { get } from "node:http"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

import { assert, layer } from "@effect/vitest"
import { LocalFacilitator } from "@pontage/core"
import { exactEvm } from "@pontage/evm"
import { EvmTestChain } from "@pontage/evm/testing"
import * as FacilitatorService from "@pontage/facilitator"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"

import { environment } from "./ExampleEnvironment.ts"

const examples = fileURLToPath(new URL("../examples/", import.meta.url))
const host = "127.0.0.1"

class Market extends Context.Service<Market, { readonly chain: EvmTestChain.Shape; readonly facilitator: string }>()(
  "Market"
) {}

const market = Effect.gen(function* () {
  const chain = yield* EvmTestChain.make({ payers: 9 })
  const { accounts, rpcUrl } = chain
  const schemes = [exactEvm.facilitator({ signer: accounts.signers[0], rpcUrl })]
  const settling = yield* Layer.build(LocalFacilitator.layerMemory({ schemes }))
  const { url } = yield* Effect.provide(FacilitatorService.serve({ host, port: 0 }), settling)
  return { chain, facilitator: url }
})

const freePort = Effect.promise(
  () =>
    new Promise<number>((resolve) => {
      const server = createServer().listen(0, host, () => {
        const address = server.address()
        server.close(() => resolve(address !== null && typeof address === "object" ? address.port : 0))
      })
    })
)

interface Ended {
  readonly code: number | null
  readonly text: string
}

const start = (args: ReadonlyArray<string>, settings: Readonly<Record<string, string>>) => {
  const child = spawn(process.execPath, ["--conditions=@pontage/source", ...args], {
    env: { ...environment, ...settings },
    stdio: ["ignore", "pipe", "pipe"]
  })
  let text = ""
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (part) => (text += part))
  const ended = new Promise<Ended>((resolve) => child.once("close", (code) => resolve({ code, text })))
  return { child, ended, said: () => text }
}

const stop = ({ child, ended }: { readonly child: ChildProcess; readonly ended: Promise<Ended> }) =>
  Effect.promise(() => {
    child.kill("SIGKILL")
    return ended
  })

/** The shop of Nest runs in this process, where decorators are compiled as the page says. */
const nest = Effect.acquireRelease(
  Effect.promise(() => import("../examples/shop-nest.mts")),
  ({ app }) => Effect.promise(() => app.close())
)

/** Buys as the page says, once the shop is open. */
const buys = Effect.fnUntraced(function* (port: number, payer: number, said: () => string, path = "/report") {
  const { chain } = yield* Market
  const url = `http://${host}:${port}${path}`
  const status = Effect.promise(() =>
    fetch(url)
      .then(({ status: one }) => one)
      .catch(() => 0)
  )
  yield* Effect.repeat(status, { until: (one) => one === 402, schedule: Schedule.spaced("50 millis") })
  const journal = join(mkdtempSync(join(tmpdir(), "pontage-docs-")), "payments.jsonl")
  const key = chain.accounts.payers[payer]?.privateKey ?? ""
  const buyer = start([join(examples, "pay.mjs"), url], { PRIVATE_KEY: key, JOURNAL: journal })
  const { code, text } = yield* Effect.promise(() => buyer.ended)
  assert.strictEqual(code, 0, text + said())
  assert.match(text, /^200 \{"report":"It will rain\."\}\n0x[0-9a-f]{64}\n$/)
})

/** The text that a browser gets which opens an address; `fetch` cannot say that it navigates. */
const opened = (url: string) =>
  new Promise<string>((resolve, reject) => {
    const headers = { accept: "text/html", "sec-fetch-mode": "navigate" }
    get(url, { headers }, (response) => {
      let text = ""
      response.setEncoding("utf8").on("data", (part: string) => (text += part))
      response.once("end", () => resolve(text))
    }).once("error", reject)
  })

const shops = ["shop-express.mjs", "shop-koa.mjs", "shop-fastify.mjs", "shop-hono.mjs", "shop-http.mjs"]

layer(Layer.effect(Market, market), { excludeTestServices: true, timeout: "120 seconds" })(
  "a shop of the pages",
  (it) => {
    it.effect.each(shops.map((name, index) => [name, index] as const))("sells: %s", ([name, index]) =>
      Effect.scoped(
        Effect.gen(function* () {
          const { chain, facilitator } = yield* Market
          const port = yield* freePort
          const settings = { PORT: `${port}`, FACILITATOR: facilitator, RPC_URL: chain.rpcUrl }
          const shop = start([join(examples, name)], settings)
          yield* Effect.addFinalizer(() => stop(shop))
          yield* buys(port, index, shop.said)
        })
      )
    )

    it.effect("sells what its documents list: shop-discovery.mjs", () =>
      Effect.scoped(
        Effect.gen(function* () {
          const { chain, facilitator } = yield* Market
          const port = yield* freePort
          const settings = { PORT: `${port}`, FACILITATOR: facilitator, RPC_URL: chain.rpcUrl }
          const shop = start([join(examples, "shop-discovery.mjs")], settings)
          yield* Effect.addFinalizer(() => stop(shop))
          yield* buys(port, 8, shop.said, "/reports/2026-11-25")
          const textOf = (path: string) =>
            Effect.promise(() => fetch(`http://${host}:${port}${path}`).then((response) => response.text()))
          const { info, paths } = JSON.parse(yield* textOf("/openapi.json"))
          assert.deepStrictEqual([info.title, Object.keys(paths)], ["Reports", ["/reports/{day}"]])
          assert.include(yield* textOf("/llms.txt"), "Buy GET /reports/{day} for the weather of a day.")
        })
      )
    )

    it.effect("sells to programs and shows people a page: shop-paywall.mjs", () =>
      Effect.scoped(
        Effect.gen(function* () {
          const { chain, facilitator } = yield* Market
          const port = yield* freePort
          const settings = { PORT: `${port}`, FACILITATOR: facilitator, RPC_URL: chain.rpcUrl }
          const shop = start([join(examples, "shop-paywall.mjs")], settings)
          yield* Effect.addFinalizer(() => stop(shop))
          yield* buys(port, 6, shop.said)
          const page = yield* Effect.promise(() => opened(`http://${host}:${port}/report`))
          assert.include(page, "Weather shop")
          assert.include(page, "The weather report for tomorrow")
          assert.include(page, "$0.01")
        })
      )
    )

    it.effect("sells: shop-nest.mts", () =>
      Effect.scoped(
        Effect.gen(function* () {
          const { chain, facilitator } = yield* Market
          const port = yield* freePort
          Object.assign(process.env, { PORT: `${port}`, FACILITATOR: facilitator, RPC_URL: chain.rpcUrl })
          yield* nest
          yield* buys(port, 7, () => "")
        })
      )
    )

    it.effect("is tested in memory as its page says", () =>
      Effect.promise(async () => {
        const { code, text } = await start(["--test", join(examples, "own-shop.test.mjs")], {}).ended
        assert.strictEqual(code, 0, text)
      })
    )
  }
)
