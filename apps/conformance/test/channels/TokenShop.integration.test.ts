/** The programs of the documents: a shop that sells by the token, and our buyer that follows its stream. */
import { execFile, spawn } from "node:child_process"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"

import { assert, layer } from "@effect/vitest"
import * as BaseSepolia from "@pontage/devnet/BaseSepolia"
import { freePort } from "@pontage/devnet/LoopbackServer"
import * as Effect from "effect/Effect"

import { Chain, chainLayer } from "./ChannelShopTrial.ts"

const programOf = (name: string) => fileURLToPath(new URL(`../../../docs/examples/${name}`, import.meta.url))

const folder = Effect.acquireRelease(
  Effect.promise(() => mkdtemp(join(tmpdir(), "pontage-"))),
  (path) => Effect.promise(() => rm(path, { recursive: true, force: true }))
)

/** Runs the shop, as long as the scope, from when it sells. */
const shopOf = Effect.fnUntraced(function* () {
  const { node } = yield* Chain
  const [sender, lent] = node.accounts.signers
  const port = yield* freePort
  const env = {
    PATH: process.env["PATH"],
    PORT: `${port}`,
    RPC_URL: node.rpcUrl,
    NETWORK: BaseSepolia.network,
    SIGNER_KEY: sender.privateKey,
    AUTHORIZER_KEY: lent.privateKey,
    LEDGER: join(yield* folder, "channels.sqlite")
  }
  yield* Effect.acquireRelease(
    Effect.sync(() =>
      spawn(process.execPath, ["--conditions=@pontage/source", programOf("sell-by-the-token.mjs")], {
        env,
        stdio: "ignore"
      })
    ),
    (child) =>
      Effect.promise(
        () =>
          new Promise<void>((resolve) => {
            child.once("exit", () => resolve())
            child.kill("SIGKILL")
          })
      )
  )
  const url = `http://127.0.0.1:${port}/answer`
  const status = Effect.promise(async () => (await fetch(url).catch(() => undefined))?.status)
  yield* Effect.repeat(Effect.delay(status, "50 millis"), { until: (one) => one === 402 })
  return url
})

layer(chainLayer, { timeout: "15 minutes", excludeTestServices: true })("the programs of the documents", (it) => {
  it.effect("sell and buy an answer by the token, window by window", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const url = yield* shopOf()
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
})
