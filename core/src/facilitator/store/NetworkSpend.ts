/**
 * The cost of settling on a network, spent and committed, whichever process signed. A store reads it in the same step
 * that writes the next transactions, so that several processes cannot spend the same allowance.
 */

/** A pending transaction. */
export interface OpenExpense {
  /** Its maximum cost in the chain's smallest native unit. */
  readonly cost: bigint
  /** The caller of each of its payments: they share the cost. */
  readonly callers: ReadonlyArray<string>
  /**
   * The callers whose own ceilings and shares hold for it; default all of them. The network's ceiling alone holds for a delivery, which
   * its recipient is owed: one that waited for its caller's ceiling could hold up the deliveries of others.
   */
  readonly held?: ReadonlyArray<string>
}

/** The books of a network. */
export interface NetworkSpend {
  /** The amount spent, by caller. */
  readonly spent: ReadonlyMap<string, bigint>
  readonly open: ReadonlyArray<OpenExpense>
}

/** The limit that a plan is checked against before it is written. `allows` is pure and may run more than once. */
export interface Allowance {
  /** Start of the period, to the hour; Unix milliseconds. */
  readonly since: number
  readonly allows: (books: NetworkSpend) => boolean
}
