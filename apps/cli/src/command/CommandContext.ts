/** The signal that ends a command, and its reasons. */

/** `signal` is aborted with an `Interrupted` by Ctrl-C, and with a `TimedOut` at the end of `--max-time`. */
export interface CommandContext {
  readonly signal: AbortSignal
}

/** The reason of a stop by the person, or by the process manager. */
export class Interrupted extends Error {
  constructor() {
    super("stopped")
  }
}

/** The reason of a stop at the end of `--max-time`. */
export class TimedOut extends Error {
  constructor(seconds: number) {
    super(`--max-time: ${seconds} s are over`)
  }
}
