/**
 * What settling on a network has cost, and what it may still cost: the whole of it, whichever process has signed. A store reads it in
 * the very step that writes down what is to be sent, so that of several processes no two spend the same room.
 */

/** A transaction that is in no block yet. */
export interface OpenExpense {
  /** The most that it may cost, in the chain's smallest native unit. */
  readonly cost: bigint
  /** The callers of its payments, one for each payment: they share the cost. */
  readonly callers: ReadonlyArray<string>
}

/** The books of a network. */
export interface NetworkSpend {
  /** What was spent, by the names of callers. */
  readonly spent: ReadonlyMap<string, bigint>
  readonly open: ReadonlyArray<OpenExpense>
}

/** What a plan has to be judged by before it is written. `allows` is pure, and may be asked more than once. */
export interface Allowance {
  /** Spending counts from this time on, to the hour; Unix milliseconds. */
  readonly since: number
  readonly allows: (books: NetworkSpend) => boolean
}
