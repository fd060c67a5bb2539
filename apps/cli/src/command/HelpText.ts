/** The commands, loaded when they are called, and their help. */
import * as CommandLine from "../CommandLine.ts"
import * as ExitCode from "../ExitCode.ts"
import type { CommandContext } from "./CommandContext.ts"

/** A command's module. */
interface CommandModule {
  readonly table: CommandLine.OptionTable
  readonly run: (args: ReadonlyArray<string>, context: CommandContext) => Promise<number>
}

/** A command: its usage, one line of help, and its module. */
export interface Command {
  readonly usage: string
  readonly help: string
  readonly load: () => Promise<CommandModule>
}

/** All commands by name. */
const commands: Readonly<Record<string, Command>> = {
  pay: {
    usage: "pay <url>",
    help: "Request a URL like curl, and pay if it asks for it",
    load: () => import("./PayCommand.ts")
  },
  quote: {
    usage: "quote <url>",
    help: "Say what a request costs; nothing is signed",
    load: () => import("./QuoteCommand.ts")
  },
  "top-up": {
    usage: "top-up <amount>",
    help: "Bring money of your own from one network to another, without coin on either",
    load: () => import("./TopUpCommand.ts")
  },
  validate: {
    usage: "validate <url>",
    help: "Check a shop's 402 as its buyers meet it; nothing is paid",
    load: () => import("./ValidateCommand.ts")
  },
  wallet: {
    usage: "wallet new|list|balance|fund [name]",
    help: "Make a wallet, list them, show a balance, fund one on the local chain",
    load: () => import("./WalletCommand.ts")
  },
  receipt: {
    usage: "receipt verify <file>",
    help: "Say who signed a receipt of pontage pay --json or an offer, and for what; nothing is asked",
    load: () => import("./ReceiptCommand.ts")
  },
  journal: {
    usage: "journal",
    help: "List the payments that were made, and those that are pending",
    load: () => import("./JournalCommand.ts")
  },
  devnet: {
    usage: "devnet",
    help: "Run a local chain with play money, and a facilitator on it",
    load: () => import("./DevnetCommand.ts")
  },
  facilitator: {
    usage: "facilitator",
    help: "Run the facilitator of @pontage/facilitator, set up by environment variables",
    load: () => import("./FacilitatorCommand.ts")
  }
}

/** The command of a name. */
export const find = (name: string | undefined): Command | undefined =>
  name !== undefined && Object.hasOwn(commands, name) ? commands[name] : undefined

const overview = (): ReadonlyArray<string> => [
  "pontage - pay for HTTP resources, and try shops that sell them",
  "",
  ...Object.values(commands).flatMap(({ help, usage }) => [`  pontage ${usage}`, `      ${help}`]),
  "",
  "  pontage <command> --help lists its options.",
  "",
  "A key comes from a wallet (pontage wallet new), from --key-file, or from PONTAGE_EVM_KEY,",
  "PONTAGE_TON_KEY, PONTAGE_TRON_KEY; never from an argument. PONTAGE_HOME (default ~/.pontage)",
  "keeps wallets and the journal of payments.",
  "",
  "Exit codes:",
  ...ExitCode.lines()
]

/** Prints the help of a command, or of the program; an unknown command is a mistake. */
export const print = async (name: string | undefined): Promise<number> => {
  const command = find(name)
  const isKnown = name === undefined || command !== undefined || /^(?:-h|--?help|help)$/.test(name)
  const own = command && [
    `pontage ${command.usage}`,
    "",
    command.help,
    "",
    ...CommandLine.help((await command.load()).table)
  ]
  const text = `${(own ?? overview()).join("\n")}\n`
  if (isKnown) process.stdout.write(text)
  else process.stderr.write(`pontage: there is no such command\n\n${text}`)
  return ExitCode.numberOf(isKnown ? "done" : "usage")
}
