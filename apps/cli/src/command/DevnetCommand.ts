/** `pontage devnet`: a local EVM chain with play money, and a facilitator on it, for a shop on this machine. */
import { LocalFacilitator } from "@pontage/core"
import { exactEvm } from "@pontage/evm"
import type * as Testing from "@pontage/evm/testing"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"

import { CommandFailed, misused } from "../CommandFailed.ts"
import * as CommandLine from "../CommandLine.ts"
import * as ExitCode from "../ExitCode.ts"
import type { CommandContext } from "./CommandContext.ts"
import * as OptionalPackages from "./OptionalPackages.ts"

/** The options. */
export const table = {
  port: { short: "p", value: "number", help: "Port of the chain; default 8545, 0 takes a free one" },
  "facilitator-port": { value: "number", help: "Port of the facilitator; default 4021, 0 takes a free one" }
} as const satisfies CommandLine.OptionTable

const portOf = (name: string, text: string | undefined, usual: number): number => {
  const port = Number(text ?? usual)
  if (/^\d{1,5}$/.test(text ?? "0") && port <= 65_535) return port
  throw misused(`--${name}: expected a port from 0 to 65535, got "${text ?? ""}"`)
}

const packages = "viem @foundry-rs/anvil @pontage/facilitator"

/** Runs until it is stopped. */
export const run = async (args: ReadonlyArray<string>, { signal }: CommandContext): Promise<number> => {
  const { values, words } = CommandLine.read(table, args)
  if (words.length > 0) throw misused("pontage devnet takes options alone")
  const port = portOf("port", values.port, 8545)
  const facilitatorPort = portOf("facilitator-port", values["facilitator-port"], 4021)
  const { EvmTestChain } = await OptionalPackages.load(packages, () => import("@pontage/evm/testing"))
  const service = await OptionalPackages.load(packages, () => import("@pontage/facilitator"))
  const program = Effect.gen(function* () {
    const chain = yield* EvmTestChain.make(port === 0 ? {} : { port })
    const { accounts, rpcUrl } = chain
    const schemes = [exactEvm.facilitator({ signer: accounts.signers[0], rpcUrl })]
    const settling = yield* Layer.build(LocalFacilitator.layerMemory({ schemes }))
    const { url } = yield* Effect.provide(service.serve({ host: "127.0.0.1", port: facilitatorPort }), settling)
    process.stdout.write(`${describe(chain, url).join("\n")}\n`)
    return yield* Effect.never
  })
  const exit = await Effect.runPromiseExit(Effect.scoped(Effect.provide(program, Logger.layer([]))), { signal })
  if (signal.aborted) return ExitCode.numberOf("done")
  throw startFault(Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined)
}

const describe = ({ accounts, network, rpcUrl, token }: Testing.EvmTestChain.Shape, facilitator: string) => [
  `chain        ${network} at ${rpcUrl}`,
  `token        ${token.symbol} ${token.address}`,
  `facilitator  ${facilitator}`,
  `payTo        ${accounts.payee.address}: for a shop's routes, if you have no address of your own`,
  `buyer        ${accounts.payers[0]?.address ?? ""}, with 1,000 test dollars`,
  "             pontage pay uses it at shops of this machine",
  "Everything is play money in memory. Stop with Ctrl-C."
]

const startFault = (error: unknown): CommandFailed => {
  const message = error instanceof Error ? error.message : String(error)
  const mend = "; is another devnet running? --port and --facilitator-port take other ports"
  return new CommandFailed({ exit: "failed", message: `the local chain could not be started: ${message}${mend}` })
}
