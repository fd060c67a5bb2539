/** The program `pontage`: finds the command, stops it on a signal, and turns its end into an exit code. */
import * as CommandContext from "./command/CommandContext.ts"
import * as HelpText from "./command/HelpText.ts"
import { CommandFailed } from "./CommandFailed.ts"
import * as ExitCode from "./ExitCode.ts"
import * as Screen from "./terminal/Screen.ts"

const stop = new AbortController()

const onSignal = (): void => {
  // A second signal ends a command that does not end by itself.
  if (stop.signal.aborted) process.exit(ExitCode.numberOf("interrupted"))
  stop.abort(new CommandContext.Interrupted())
}

process.on("SIGINT", onSignal)
process.on("SIGTERM", onSignal)

const fail = (error: unknown): number => {
  if (error instanceof CommandFailed) {
    process.stderr.write(`${Screen.message(error.message)}\n`)
    return ExitCode.numberOf(error.exit)
  }
  if (stop.signal.aborted) return ExitCode.numberOf("interrupted")
  process.stderr.write(`pontage: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`)
  return ExitCode.numberOf("failed")
}

const main = async (): Promise<number> => {
  const [name, ...args] = process.argv.slice(2)
  const command = HelpText.find(name)
  if (command === undefined || args.includes("--help") || args.includes("-h")) return HelpText.print(name)
  return (await command.load()).run(args, { signal: stop.signal })
}

main().then(
  (code) => void (process.exitCode = code),
  (error: unknown) => void (process.exitCode = fail(error))
)
