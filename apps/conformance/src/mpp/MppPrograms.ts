/**
 * Buyers of the Machine Payments Protocol: our client and the peer's in this process, and both command lines as programs of
 * their own. Each remembers what it knows between its purchases.
 */
import { spawn } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { Hex } from "viem"

import type { Buyer } from "../buyers/Buyer.ts"
import * as MppxBuyer from "../buyers/MppxBuyer.ts"
import * as OurBuyer from "../buyers/OurBuyer.ts"
import { named } from "../PeerVersions.ts"

/** Buys a URL once, and says how it ended: a status, an error's name, or an exit code that is not 0. */
export type Purchase = (url: string) => Promise<string>

/** A buyer with a purse, as long as the scope. */
export interface Program {
  readonly title: string
  readonly isOurs: boolean
  readonly start: (purse: { readonly key: Hex; readonly rpcUrl: string }) => Effect.Effect<Purchase, never, Scope.Scope>
}

/** A buyer in this process. */
export const client = (title: string, isOurs: boolean, make: Buyer): Program => ({
  title,
  isOurs,
  start: (purse) =>
    Effect.sync(() => {
      const buy = make({ ...purse, send: fetch })
      return (url) =>
        buy(url).then(
          async (response) => {
            await response.arrayBuffer()
            return `${response.status}`
          },
          (error: unknown) => (error instanceof Error ? error.name : "an error")
        )
    })
})

/** Runs a program of Node to its end, with a home of its own. */
const ended = (home: string, args: ReadonlyArray<string>, environment: Readonly<Record<string, string>>) =>
  new Promise<{ readonly code: number | null; readonly out: string }>((resolve, reject) => {
    const { NODE_COMPILE_CACHE, PATH } = process.env
    const cache = NODE_COMPILE_CACHE === undefined ? {} : { NODE_COMPILE_CACHE }
    const env = { PATH, HOME: home, ...cache, ...environment }
    const child = spawn(process.execPath, args, { env, stdio: ["ignore", "pipe", "pipe"] })
    let out = ""
    child.stdout.setEncoding("utf8").on("data", (text: string) => (out += text))
    child.stderr.resume()
    child.once("error", reject)
    child.once("close", (code) => resolve({ code, out }))
  })

const commandLine = (
  title: string,
  isOurs: boolean,
  args: ReadonlyArray<string>,
  environment: (key: Hex, home: string, rpcUrl: string) => Readonly<Record<string, string>>
): Program => ({
  title,
  isOurs,
  start: ({ key, rpcUrl }) =>
    Effect.map(
      Effect.acquireRelease(
        Effect.sync(() => mkdtempSync(join(tmpdir(), "pontage-mpp-"))),
        (home) => Effect.sync(() => rmSync(home, { recursive: true, force: true }))
      ),
      (home) => async (url) => {
        const { code, out } = await ended(home, [...args, url], environment(key, home, rpcUrl))
        return code === 0 && out.includes("report") ? "200" : `exit ${code}`
      }
    )
})

const ourMain = fileURLToPath(new URL("../../../cli/src/main.ts", import.meta.url))
const theirMain = join(dirname(createRequire(import.meta.url).resolve("mppx")), "bin.js")

/** The buyers, in the order of the table. */
export const programs = {
  ours: client("our client", true, OurBuyer.makeMpp),
  ourCommand: commandLine(
    "our command line",
    true,
    ["--conditions=@pontage/source", ourMain, "pay", "--quiet", "--yes"],
    (key, home) => ({ PONTAGE_HOME: home, PONTAGE_EVM_KEY: key })
  ),
  mppx: client(named("mppx"), false, MppxBuyer.make),
  mppxCommand: commandLine(
    `${named("mppx")} on the command line`,
    false,
    [theirMain, "--silent", "--protocol", "mpp"],
    (key, _home, rpcUrl) => ({
      MPPX_PRIVATE_KEY: key,
      MPPX_RPC_URL: rpcUrl
    })
  )
} as const satisfies Readonly<Record<string, Program>>
