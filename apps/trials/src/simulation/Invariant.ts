/**
 * The ten promises of this project about payments, in plain words. They hold at every moment, whatever breaks. A
 * simulation watches those that can be seen without a network and a router; the words say how.
 */

/** The promises. */
export const invariants = {
  "one-run":
    "one authorization buys one execution: no handler runs beside another for one payment, or after it was served",
  "content-for-money": "no content without money, and no money without content or a record of the debt",
  "write-first": "signed bytes are on record before they are sent to anybody",
  "unknown-is-no-end":
    "no answer is never an end: a payment ends as dead only when it is proven that its money will not move",
  "proven-by-transfer":
    "a payment counts as settled by its own transfer in a block, and as final only when that is beyond recall",
  "no-false-verdict":
    "trouble of the facilitator, of its records or of the chain is never told as a fault of an honest payment",
  "one-price": "a buyer is charged once for what it asked for once, however often it has to ask",
  "gas-is-a-budget": "what settling costs stays below its ceiling, whoever settles",
  "books-balance": "the records and the chain tell the same: every transfer, every payment, every cost",
  "all-ends":
    "when the troubles are over, every payment ends, every signer works on, every buyer that repeats is served",
  "no-defect": "nothing that the program itself calls impossible happens"
} as const

export type InvariantName = keyof typeof invariants

/** A promise that was broken, and how. */
export interface Violation {
  readonly invariant: InvariantName
  readonly words: string
}
