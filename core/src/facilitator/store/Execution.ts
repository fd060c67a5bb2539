/**
 * The execution of a paid resource: its holder, and whether it is still owed. One authorization buys one successful
 * execution; this module is the whole of that rule, as pure functions that every store shares
 * (apps/docs/protocol.md#d13-claims, apps/docs/protocol.md#d16-entitlement).
 */
import type { Claim, Entitlement, ClaimVerdict, ExecutionEnd } from "../Facilitator.ts"

/** Lease of a holder in milliseconds; after it a silent execution counts as failed. */
export const leaseMillis = 60_000

/**
 * Milliseconds of a lease that a caller has at least left when it is granted an execution. Its first renewal comes after
 * 20 seconds, so no other claim is granted before.
 */
export const firmMillis = leaseMillis / 2

/**
 * Time during which a failed paid execution may be repeated, in milliseconds, counted from the failure or the transfer,
 * whichever came later.
 */
export const entitlementMillis = 600_000

/** Number of executions that one payment buys, failed ones included. */
export const maximumExecutions = 5

/** The record of a payment's execution. All times are Unix milliseconds. */
export interface Execution {
  /** The bought resource; `undefined` if a server took the payment without a claim and keeps its own books. */
  readonly resource: string | undefined
  /** The route that sold it, if the server names one. */
  readonly route: string | undefined
  readonly holder: Holder | undefined
  readonly served: boolean
  /** Whether the application refused the last request: the payment is good for another request of the same route. */
  readonly refused: boolean
  /** Number of executions granted so far, without those that never reached the handler. */
  readonly count: number
  /** Time when an execution was first given back unserved. */
  readonly releasedAt: number | undefined
}

/** The claim that holds an execution, and the end of its lease. */
export interface Holder {
  readonly claimId: string
  readonly until: number
  /** It may begin only after the delivery (`Claim.awaits`). */
  readonly awaits?: "delivered"
}

/** The circumstances that the rules depend on besides the execution itself. */
export interface Circumstances {
  /** Time when the money moved; `undefined` while it has not. */
  readonly settledAt: number | undefined
  /** Time when it arrived at its recipient, which is later if it goes on to another network; `undefined` while it has not. */
  readonly arrivedAt: number | undefined
  /** Whether the money has moved and buys no execution. */
  readonly opensNothing: boolean
  /** Whether the payer can prove its ownership after the transaction is public: by a binding, or a token. */
  readonly provable: boolean
  readonly now: number
}

/** The execution of a payment that was just claimed, or taken without a claim. */
export const make = (claim: Claim | undefined, now: number): Execution => ({
  resource: claim?.resource,
  route: claim?.route,
  holder: claim && holderOf(claim, now),
  served: false,
  refused: false,
  count: claim === undefined ? 0 : 1,
  releasedAt: undefined
})

/**
 * Applies a claim to an existing execution: returns the verdict and the new state. The execution belongs to one
 * resource. After the application refused the request, a claim of another resource of the same route takes it over.
 */
export const claim = (self: Execution, claim: Claim, at: Circumstances): readonly [ClaimVerdict, Execution] => {
  if (self.resource !== claim.resource) {
    return mayMove(self, claim, at) ? ["granted", granted(self, claim, at.now)] : ["conflict", self]
  }
  if (self.served || at.opensNothing) return ["spent", self]
  if (self.holder !== undefined && isOwn(self.holder, claim)) return ["granted", hold(self, claim, at.now)]
  if (isHeld(self, at.now)) return ["held", self]
  const free = lapsed(self, at)
  return mayRun(free, at) ? ["granted", granted(free, claim, at.now)] : ["spent", free]
}

/** The entitlement of a granted execution; `undefined` if none is left, or if the payer cannot prove its ownership. */
export const entitlement = (self: Execution, at: Circumstances): Entitlement | undefined => {
  if (!at.provable || at.settledAt === undefined || self.count >= maximumExecutions) return undefined
  const until = Math.max(usableFrom(at.settledAt, at), self.releasedAt ?? at.now) + entitlementMillis
  return at.now < until ? { runs: maximumExecutions - self.count, until } : undefined
}

/**
 * Ends an execution. A claim that does not hold it changes nothing, so repeating the call is harmless. A public payment
 * that anyone could repeat has used its one execution even if the handler was not reached; it keeps it if no server
 * learned of it.
 */
export const finish = (self: Execution, claimId: string, outcome: ExecutionEnd, at: Circumstances): Execution => {
  if (self.holder?.claimId !== claimId) return self
  const isSpent = outcome === "notRun" && at.settledAt !== undefined && !at.provable
  return release(self, isSpent ? "failed" : outcome, at.now)
}

/** The standing of an execution, in the terms of `PaymentRecord`. */
export const standing = (self: Execution, at: Circumstances): "running" | "served" | "entitled" | "owed" | "free" => {
  if (self.served) return "served"
  if (isHeld(self, at.now)) return "running"
  if (at.settledAt === undefined || self.resource === undefined) return "free"
  return mayRun(lapsed(self, at), at) ? "entitled" : "owed"
}

/** Whether a claim holds the execution now. */
export const isHeld = (self: Execution, now: number): boolean => self.holder !== undefined && now < self.holder.until

/** Whether this claim holds the execution for long enough to begin to run it. */
export const isFirm = ({ holder }: Execution, claimId: string, now: number): boolean =>
  holder?.claimId === claimId && now + firmMillis <= holder.until

/**
 * Whether this claim holds the execution, or one of the same process that got no response. Resuming takes no other
 * execution: nothing was executed under the earlier claim.
 */
const isOwn = ({ claimId }: NonNullable<Execution["holder"]>, { id, resumes = [] }: Claim): boolean =>
  claimId === id || resumes.includes(claimId)

/**
 * Drops a holder whose lease is over. That counts as a failed execution, unless the lease ended before the money moved, or
 * arrived if the claim awaits that: a holder may serve only after that, so nothing was served.
 */
const lapsed = (self: Execution, { arrivedAt, settledAt }: Circumstances): Execution => {
  if (self.holder === undefined) return self
  const { awaits, until } = self.holder
  const mayServeFrom = awaits === undefined ? settledAt : (arrivedAt ?? Infinity)
  return release(self, mayServeFrom !== undefined && until <= mayServeFrom ? "unanswered" : "failed", until)
}

/** The time from which an entitlement counts: it does not pass while the money is on its way to another network. */
const usableFrom = (settledAt: number, { arrivedAt, now }: Circumstances): number =>
  Math.max(settledAt, arrivedAt ?? now)

/**
 * Whether another resource may take the execution over. Before the transfer nothing was bought; a failed execution is
 * owed for its own resource.
 */
const mayMove = (self: Execution, { route }: Claim, at: Circumstances): boolean =>
  self.refused &&
  !self.served &&
  self.holder === undefined &&
  route !== undefined &&
  self.route === route &&
  at.provable &&
  at.settledAt !== undefined &&
  mayRun(self, at)

const granted = (self: Execution, claim: Claim, now: number): Execution => ({
  ...hold(self, claim, now),
  resource: claim.resource,
  route: claim.route ?? self.route,
  count: self.count + 1
})

const hold = (self: Execution, claim: Claim, now: number): Execution => ({
  ...self,
  holder: holderOf(claim, now)
})

const holderOf = ({ awaits, id }: Claim, now: number): Holder => ({
  claimId: id,
  until: now + leaseMillis,
  ...(awaits !== undefined && { awaits })
})

const release = (self: Execution, outcome: ExecutionEnd, at: number): Execution => {
  const reached = outcome !== "notRun" && outcome !== "unanswered"
  return {
    ...self,
    holder: undefined,
    served: outcome === "served",
    refused: reached ? outcome === "refused" : self.refused,
    count: reached ? self.count : self.count - 1,
    releasedAt: self.releasedAt ?? at
  }
}

/**
 * Before the money moved nothing is owed, and any presenter may try. Afterwards an unprovable payment is public: its
 * payer gets the first execution, which was paid for, and no repetition.
 */
const mayRun = (self: Execution, at: Circumstances): boolean =>
  at.settledAt === undefined ||
  (!at.opensNothing &&
    self.count < (at.provable ? maximumExecutions : 1) &&
    at.now < Math.max(usableFrom(at.settledAt, at), self.releasedAt ?? 0) + entitlementMillis)
