/** The failure that ends a command: its exit code and one message for a person. */
import * as Data from "effect/Data"

import type { ExitName } from "./ExitCode.ts"

/** `message` says what was expected, what came, and what to do. `kind` and `rule` are for programs (`--json`). */
export class CommandFailed extends Data.TaggedError("CommandFailed")<{
  readonly exit: ExitName
  readonly message: string
  readonly kind?: string
  readonly rule?: string
}> {}

/** A mistake in the arguments or the settings. */
export const misused = (message: string): CommandFailed => new CommandFailed({ exit: "usage", message })

/** A wallet that cannot be used. */
export const unusableWallet = (message: string): CommandFailed => new CommandFailed({ exit: "wallet", message })
