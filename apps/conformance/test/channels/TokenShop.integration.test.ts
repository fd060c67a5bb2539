/** The programs of the documents: a shop that sells by the token, and our buyer that follows its stream. */
import { type ChildProcess, execFile, spawn } from "node:child_process"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"

import { assert, layer } from "@effect/vitest"
import { ChannelStore } from "@pontage/core"
import * as BaseSepolia from "@pontage/devnet/BaseSepolia"
import { freePort } from "@pontage/devnet/LoopbackServer"
import { SqliteChannelStore } from "@pontage/sql/sqlite"
import * as Effect from "effect/Effect"

import { Chain, chainLayer } from "./ChannelShopTrial.ts"
import * as StreamBuyer from "./StreamBuyer.ts"
import { windowAmount } from "./StreamShops.ts"

const programOf = (name: string) => fileURLToPath(new URL(`../../../docs/examples/${name}`, import.meta.url))

const folder = Effect.acquireRelease(
  Effect.promise(() => mkdtemp(join(tmpdir(), "pontage-"))),
  (path) => Effect.promise(() => rm(path, { recursive: true, force: true }))
)

/** Kills a process that may have ended. */
const kill = (child: ChildProcess) =>
  Effect.promise(
    () =>
      new Promise<void>((resolve) => {
        if (child.exitCode !== null || child.signalCode !== null) return resolve()
        child.once("exit", () => resolve())
        child.kill("SIGKILL")
      })
  )

/** Runs the shop, as long as the scope, from when it sells. */
const shopOf = Effect.fnUntraced(function* () {
  const { node } = yield* Chain
  const [sender, lent] = node.accounts.signers
  const port = yield* freePort
  const ledger = join(yield* folder, "channels.sqlite")
  const env = {
    PATH: process.env["PATH"],
    PORT: `${port}`,
    RPC_URL: node.rpcUrl,
    NETWORK: BaseSepolia.network,
    SIGNER_KEY: sender.privateKey,
    AUTHORIZER_KEY: lent.privateKey,
    LEDGER: ledger
  }
  const shop = yield* Effect.acquireRelease(
    Effect.sync(() =>
      spawn(process.execPath, ["--conditions=@pontage/source", programOf("sell-by-the-token.mjs")], {
        env,
        stdio: "ignore"
      })
    ),
    kill
  )
  const url = `http://127.0.0.1:${port}/answer`
  const status = Effect.promise(async () => (await fetch(url).catch(() => undefined))?.status)
  yield* Effect.repeat(Effect.delay(status, "50 millis"), { until: (one) => one === 402 })
  return { url, ledger, kill: kill(shop) }
})

layer(chainLayer, { timeout: "15 minutes", excludeTestServices: true })("the programs of the documents", (it) => {
  it.effect("sell and buy an answer by the token, window by window", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const { url } = yield* shopOf()
        const chain = yield* Chain
        const { key } = yield* chain.payer
        const env = {
          PATH: process.env["PATH"],
          PRIVATE_KEY: key,
          RPC_URL: chain.node.rpcUrl,
          NETWORK: BaseSepolia.network
        }
        const args = ["--conditions=@pontage/source", programOf("follow-stream.mjs"), url]
        const { stderr, stdout } = yield* Effect.promise(() => promisify(execFile)(process.execPath, args, { env }))
        const words = stdout.split("\n").flatMap((line) => (line.startsWith("data: It") ? [line] : []))
        assert.lengthOf(words, 4)
        assert.include(stderr, "33 units")
        assert.include(stderr, "3300 of 4000 charged")
      })
    )
  )

  it.effect("lose a window at most when the shop is killed in a stream", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const shop = yield* shopOf()
        const chain = yield* Chain
        const { key } = yield* chain.payer
        const origin = new URL(shop.url).origin
        const buyer = StreamBuyer.make({ chain, origin }, key)
        const [id, units] = yield* Effect.promise(async () => {
          const offer = await buyer.offerOf(shop.url)
          const payload = { ...(await buyer.depositOf(offer, windowAmount, 100n * windowAmount)), follows: true }
          const reader = StreamBuyer.readerOf(await buyer.request(shop.url, offer, payload))
          const needs = () => reader.events().filter(({ name }) => name === "payment-need-voucher").length
          await reader.until(() => needs() === 1)
          await buyer.post(offer, await buyer.voucherOf(offer, 2n * windowAmount))
          await reader.until(() => needs() === 2)
          return [buyer.idOf(offer), reader.events().filter(({ name }) => name === "").length] as const
        })
        assert.strictEqual(units, 20)
        yield* shop.kill
        const { charged } = yield* ChannelStore.use((ledger) => ledger.find(id)).pipe(
          Effect.map((standing) => standing ?? { charged: 0n }),
          Effect.provide(SqliteChannelStore.layer({ filename: shop.ledger }))
        )
        assert.strictEqual(charged, windowAmount)
      })
    )
  )
})
