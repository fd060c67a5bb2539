/**
 * A local EVM node as a scoped resource: anvil, from the npm package `@foundry-rs/anvil`, on a port of its own. Use it
 * where a test needs a bare chain; {@link EvmTestChain} adds a token and funded accounts.
 *
 * The binary runs directly from the platform package, so nothing depends on install scripts. The node stops with the scope,
 * and in any case with the process.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { createRequire } from "node:module"

import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"

/** The node could not be started; `message` has the reason and the remedy. */
export class AnvilFailed extends Schema.TaggedError<AnvilFailed>("@pontage/evm/testing/AnvilFailed")("AnvilFailed", {
  message: Schema.String,
  cause: Schema.optionalKey(Schema.Defect())
}) {}

/** The default chain id. */
export const defaultChainId = 31_337

/** Options of the chain. */
export interface Options {
  /** The chain id; default 31337. */
  readonly chainId?: number
  /** Seconds between blocks; without it the node mines a block for each transaction. */
  readonly blockTime?: number
  /** Mines only on request. */
  readonly noMining?: boolean
  /** Slots in an epoch: `safe` is one epoch behind the head and `finalized` two; default 32. */
  readonly slotsInAnEpoch?: number
  /** Seconds since 1970 of the first block; default the machine's time. */
  readonly timestamp?: number
  /**
   * Keeps the cost of a block constant as the chain grows: only the last ten states are kept, and their roots are zeros. A
   * usual chain computes each root from its whole state, a millisecond for 1,000 payments.
   */
  readonly ageless?: boolean
  /** The TCP port; default a free one. */
  readonly port?: number
}

/** A running node. */
export class Anvil extends Context.Service<
  Anvil,
  {
    /** JSON-RPC over HTTP on the loopback interface. */
    readonly rpcUrl: string
    readonly chainId: number
  }
>()("@pontage/evm/testing/Anvil") {}

const startupMillis = 60_000
const platforms: Readonly<Record<string, string>> = { linux: "linux", darwin: "darwin", win32: "win32" }
const architectures: Readonly<Record<string, string>> = { x64: "amd64", arm64: "arm64" }

const alive = new Set<ChildProcess>()
const killAll = () => {
  for (const child of alive) child.kill("SIGKILL")
}

const track = (child: ChildProcess) => {
  if (alive.size === 0) process.on("exit", killAll)
  alive.add(child)
}

const untrack = (child: ChildProcess) => {
  alive.delete(child)
  if (alive.size === 0) process.off("exit", killAll)
}

const binary = Effect.try({
  try: () => {
    const fromHere = createRequire(import.meta.url)
    const fromAnvil = createRequire(fromHere.resolve("@foundry-rs/anvil/package.json"))
    const platform = `${platforms[process.platform]}-${architectures[process.arch]}`
    const executable = process.platform === "win32" ? "anvil.exe" : "anvil"
    return fromAnvil.resolve(`@foundry-rs/anvil-${platform}/bin/${executable}`)
  },
  catch: (cause) =>
    new AnvilFailed({
      message: `No anvil binary for ${process.platform} ${process.arch}: install @foundry-rs/anvil as a development dependency`,
      cause
    })
})

/** A read at the last block must find its state, even if the next block comes at that moment. */
const statesOfTheAgeless = 10

/** On top of another chain, its `base`, a node computes no state roots; it writes nothing of the base to the disk. */
const toArguments = (options: Options, base?: string): ReadonlyArray<string> => {
  const given = {
    host: "127.0.0.1",
    hardfork: "prague",
    port: options.port ?? 0,
    "chain-id": options.chainId ?? defaultChainId,
    "block-time": options.blockTime,
    "slots-in-an-epoch": options.slotsInAnEpoch,
    timestamp: options.timestamp,
    "fork-url": base?.replace("http", "ws"),
    "prune-history": base && statesOfTheAgeless
  }
  const named = Object.entries(given).flatMap(([name, value]) => (value === undefined ? [] : [`--${name}`, `${value}`]))
  const mining = options.noMining === true ? ["--no-mining"] : []
  return [...named, ...mining, ...(base === undefined ? [] : ["--no-rate-limit", "--no-storage-caching"])]
}

/** Resolves with the address that the node printed; a node that ends or stays silent is a failure with its last output. */
const listening = (child: ChildProcess): Effect.Effect<string, AnvilFailed> =>
  Effect.callback((resume) => {
    let output = ""
    const settle = (result: Effect.Effect<string, AnvilFailed>) => {
      clearTimeout(timer)
      for (const stream of [child.stdout, child.stderr]) stream?.off("data", read).resume()
      resume(result)
    }
    const fail = (what: string, cause?: unknown) => {
      const message = `anvil ${what}: ${output.slice(-500)}`
      settle(Effect.fail(new AnvilFailed(cause === undefined ? { message } : { message, cause })))
    }
    const read = (chunk: Buffer) => {
      output += chunk.toString()
      const address = /Listening on (127\.0\.0\.1:\d+)\s/.exec(output)?.[1]
      if (address !== undefined) settle(Effect.succeed(`http://${address}`))
    }
    const timer = setTimeout(() => fail(`did not listen within ${startupMillis} ms`), startupMillis)
    for (const stream of [child.stdout, child.stderr]) stream?.on("data", read)
    child.once("error", (cause) => fail("could not be run", cause))
    child.once("exit", (code) => fail(`ended with code ${code}`))
    return Effect.sync(() => clearTimeout(timer))
  })

const kill = (child: ChildProcess): Effect.Effect<void> =>
  Effect.callback((resume) => {
    untrack(child)
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return resume(Effect.void)
    child.once("exit", () => resume(Effect.void))
    child.kill("SIGKILL")
  })

/**
 * Starts a node and stops it when the scope closes.
 *
 * @throws AnvilFailed without a binary for this machine, or when the node does not start.
 */
export const make = Effect.fnUntraced(function* (options: Options = {}) {
  const { ageless, blockTime: _, chainId = defaultChainId, port: __, ...genesis } = options
  const base = ageless === true ? yield* start(toArguments({ ...genesis, chainId, noMining: true })) : undefined
  const rpcUrl = yield* start(toArguments(options, base))
  return Anvil.of({ rpcUrl, chainId })
})

/** Runs the program as long as the scope; returns its address. */
const start = Effect.fnUntraced(function* (args: ReadonlyArray<string>) {
  const path = yield* binary
  const child = yield* Effect.acquireRelease(
    Effect.sync(() => {
      const started = spawn(path, args, { stdio: ["ignore", "pipe", "pipe"], windowsHide: true })
      track(started)
      return started
    }),
    kill
  )
  return yield* listening(child)
})

/** {@link make} as a layer. */
export const layer = (options: Options = {}): Layer.Layer<Anvil, AnvilFailed> => Layer.effect(Anvil, make(options))
