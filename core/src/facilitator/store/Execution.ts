/**
 * The run of a paid resource: who may execute it, who is executing it, and whether it is still owed. One authorization
 * buys one successful execution; this is the whole of that rule, as pure functions that every store shares
 * (apps/docs/protocol.md#d13-claims, apps/docs/protocol.md#d16-entitlement).
 */
import type { Claim, Entitlement, ClaimVerdict, ExecutionEnd } from "../Facilitator.ts"

/** How long a holder may be silent before its run counts as failed, in milliseconds. */
export const leaseMillis = 60_000

/**
 * How long a paid run that failed may be repeated, in milliseconds, counted from the failure or from the transfer,
 * whichever came later.
 */
export const entitlementMillis = 600_000

/** How many runs one payment is good for, failed ones included. */
export const maximumExecutions = 5

/** What is remembered of a payment's run. All times are Unix milliseconds. */
export interface Execution {
  /** What was bought; `undefined` when a server took the payment without a claim and keeps its own books. */
  readonly resource: string | undefined
  /** The route that sold it, where the server names one. */
  readonly route: string | undefined
  readonly holder: { readonly claimId: string; readonly until: number } | undefined
  readonly served: boolean
  /** The application refused the request of the last run: the payment is good for another request of the same route. */
  readonly refused: boolean
  /** Runs granted so far, those that never reached the handler not counted. */
  readonly count: number
  /** When a run was first given back unserved. */
  readonly releasedAt: number | undefined
}

/** What a run's judgement depends on besides the run itself. */
export interface Circumstances {
  /** When the money moved; `undefined` while it has not. */
  readonly settledAt: number | undefined
  /** The money has moved and buys no run. */
  readonly opensNothing: boolean
  /** Whether the payer can show that the payment is its own after its transaction is public: by a binding, or a token. */
  readonly provable: boolean
  readonly now: number
}

/** The run of a payment that was just claimed, or taken without a claim. */
export const make = (claim: Claim | undefined, now: number): Execution => ({
  resource: claim?.resource,
  route: claim?.route,
  holder: claim && { claimId: claim.id, until: now + leaseMillis },
  served: false,
  refused: false,
  count: claim === undefined ? 0 : 1,
  releasedAt: undefined
})

/**
 * A claim on a run that exists already: the verdict, and the run after it. The run belongs to one resource. After the
 * application has refused the request, a claim of another resource of the same route takes the run over.
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

/**
 * The entitlement of a run that was granted; `undefined` where none is left, or the payer cannot prove that it is the payer.
 */
export const entitlement = (self: Execution, at: Circumstances): Entitlement | undefined => {
  if (!at.provable || at.settledAt === undefined || self.count >= maximumExecutions) return undefined
  const until = Math.max(at.settledAt, self.releasedAt ?? at.now) + entitlementMillis
  return at.now < until ? { runs: maximumExecutions - self.count, until } : undefined
}

/**
 * The end of a run. A claim that does not hold the run (any more) changes nothing, so repeating it is harmless. A payment
 * that is public and that anybody could repeat has had its one run, even if the handler was not reached; it keeps that run
 * if no server was told of it.
 */
export const finish = (self: Execution, claimId: string, outcome: ExecutionEnd, at: Circumstances): Execution => {
  if (self.holder?.claimId !== claimId) return self
  const isSpent = outcome === "notRun" && at.settledAt !== undefined && !at.provable
  return release(self, isSpent ? "failed" : outcome, at.now)
}

/** Where a run stands, in the words of `PaymentRecord`. */
export const standing = (self: Execution, at: Circumstances): "running" | "served" | "entitled" | "owed" | "free" => {
  if (self.served) return "served"
  if (isHeld(self, at.now)) return "running"
  if (at.settledAt === undefined || self.resource === undefined) return "free"
  return mayRun(lapsed(self, at), at) ? "entitled" : "owed"
}

/** Whether somebody holds the run now. */
export const isHeld = (self: Execution, now: number): boolean => self.holder !== undefined && now < self.holder.until

/**
 * Whether the run is held by this claim, or by one of the same process that was left without an answer. Resuming takes no
 * other run: nothing was run under the earlier claim.
 */
const isOwn = ({ claimId }: NonNullable<Execution["holder"]>, { id, resumes = [] }: Claim): boolean =>
  claimId === id || resumes.includes(claimId)

/**
 * The run without a holder that fell silent. That counts as a run that failed, unless its time was over before the money
 * moved: a holder is granted what it may hand out only after that, so nobody was served.
 */
const lapsed = (self: Execution, { settledAt }: Circumstances): Execution => {
  if (self.holder === undefined) return self
  const { until } = self.holder
  return release(self, settledAt !== undefined && until <= settledAt ? "unanswered" : "failed", until)
}

/** Before the transfer nothing was bought that could be moved; a run that failed is owed for its own resource. */
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
  holder: { claimId: claim.id, until: now + leaseMillis }
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
 * Nothing is owed before the money moved, so whoever can present the payment may try. After it an unprovable payment is
 * public: its payer gets the first run, which was paid for, and no repeated one.
 */
const mayRun = (self: Execution, { now, opensNothing, provable, settledAt }: Circumstances): boolean =>
  settledAt === undefined ||
  (!opensNothing &&
    self.count < (provable ? maximumExecutions : 1) &&
    now < Math.max(settledAt, self.releasedAt ?? settledAt) + entitlementMillis)
