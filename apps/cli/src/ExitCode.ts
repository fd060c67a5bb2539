/** The exit codes of every command, as the help and the README list them. */

/** The number and the meaning of each code. */
export const meanings = {
  done: [0, "the response was served (a status below 400)"],
  failed: [1, "a fault of the program itself, or a check of `validate` that failed"],
  usage: [2, "the arguments or the settings are wrong; nothing was sent"],
  declined: [3, "your limits or you declined; nothing was signed, or a metered stream ended at --max-stream"],
  refused: [4, "the shop refused the payment, or ended a metered stream without the rest"],
  pending: [
    5,
    "the outcome of a payment is not known yet, or its response broke off; the same command sends the same payment again"
  ],
  unreachable: [6, "no response; no payment was sent"],
  wallet: [7, "the wallet or the journal cannot be used; no payment was sent"],
  status: [8, "the response has a status of 400 or above; its body is written all the same"],
  interrupted: [130, "stopped by Ctrl-C, and no payment is pending"]
} as const satisfies Readonly<Record<string, readonly [number, string]>>

/** A code by its name. */
export type ExitName = keyof typeof meanings

/** The number of a code. */
export const numberOf = (name: ExitName): number => meanings[name][0]

/** The codes as lines of help. */
export const lines = (): ReadonlyArray<string> =>
  Object.values(meanings).map(([code, text]) => `  ${String(code).padEnd(4)} ${text}`)
