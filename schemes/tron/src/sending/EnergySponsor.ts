/**
 * Lends payers the energy for their transfers: delegates stake to the payer, waits until it arrives, submits the payment, and takes
 * the stake back when the payment is in a block or can no longer enter one. A payer has one sponsored payment at a time, because
 * energy belongs to the account and not to the transaction. The chain is the record: after a restart, loans that no payment
 * needs any more are found there and taken back. Only one process may lend from an account.
 */
import { type ChainUnavailable, Misconfigured, type SignerBalance, type SubmitResult } from "@pontage/core"
import * as BoundedMap from "@pontage/core/BoundedMap"
import * as OptionCheck from "@pontage/core/OptionCheck"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import * as Result from "effect/Result"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"

import type { Prices, Resources, TronRpc } from "../node/TronRpc.ts"
import * as TronAddress from "../primitives/TronAddress.ts"
import * as TronTransaction from "../transfer/TronTransaction.ts"
import type { TronSigner } from "../wallet/TronSigner.ts"
import * as EnergyLoan from "./EnergyLoan.ts"
import * as SponsorBudget from "./SponsorBudget.ts"
import * as TronSubmission from "./TronSubmission.ts"

/** Options of the sponsor. */
export interface Options extends SponsorBudget.Limits {
  /** Signer of the account that has staked TRX for energy. The account also pays for the bandwidth of its loans. */
  readonly signer: TronSigner
  /**
   * Time until a loan that no payment of this process needs is taken back, in milliseconds; default 120 000, the longest validity
   * that payers sign.
   */
  readonly reclaimAfterMillis?: number
}

/** Check of the options. */
export const check: OptionCheck.Check<Options> = OptionCheck.options<Options>({
  ...SponsorBudget.keys,
  signer: OptionCheck.having("a signer, such as localSigner(key)", "address", "signTransaction"),
  reclaimAfterMillis: OptionCheck.optional(OptionCheck.whole())
})

/** The sponsor. */
export interface EnergySponsor {
  readonly address: TronAddress.Address
  /** Whether the loan would be made now, within the budget and the stake. */
  readonly covers: (loan: SponsorBudget.LoanRequest, totals: Resources) => Effect.Effect<boolean, ChainUnavailable>
  /** Remembers the caller of a payment, by the payment's id. */
  readonly setCaller: (id: string, caller: string) => void
  /** Lifts the ban of a settled payment's payer, if its loan counted as misused in a block that was dropped. */
  readonly clearLoss: (id: string) => Effect.Effect<void>
  /** Most that a loan costs the sponsor, in sun: the bandwidth of two transactions. */
  readonly cost: Effect.Effect<bigint, ChainUnavailable>
  /** Submits a payment after lending the energy it lacks. The loan runs in the background; a repeated call is harmless. */
  readonly submit: (id: string, signedHex: string) => Effect.Effect<SubmitResult, ChainUnavailable>
  readonly balance: Effect.Effect<SignerBalance, ChainUnavailable>
}

/** Bandwidth of a loan's two transactions in bytes, with the bytes that the chain adds for their results. */
const loanBytes = 720n
const pollInterval = Duration.millis(500)
/** Polls for lent energy: ten seconds, three blocks. */
const maximumPolls = 20
/** Polls after which a payment in no block is submitted again: four seconds, a little more than a block. */
const pollsPerSubmission = 8
/** Attempts to take a loan back at once; the sweep finds a loan for which all fail. */
const reclaimAttempts = 3

const accepted: SubmitResult = { _tag: "Accepted" }

interface Sponsor {
  readonly rpc: TronRpc
  readonly signer: TronSigner
  readonly address: TronAddress.Address
  readonly budget: SponsorBudget.SponsorBudget
  readonly prices: Effect.Effect<Prices, ChainUnavailable>
  /** Ids of the payments with a loan in progress. */
  readonly pending: Set<string>
  /** The callers of payments, by the payments' ids. */
  readonly callers: BoundedMap.BoundedMap<string, string>
  /** A lock for each payer with a payment in progress, and the number of payments that hold or await it. */
  readonly payers: Map<TronAddress.Address, { readonly lock: Semaphore.Semaphore; users: number }>
}

/** A payment to submit, as its bytes describe it. */
interface SponsoredPayment {
  readonly id: string
  readonly signedHex: string
  readonly transfer: TronTransaction.TokenTransfer
}

/** The course of a payment since its energy was lent. */
interface Course {
  /** The node's first response to the payment, or that it accepted it later; `undefined` as long as none has arrived. */
  response: SubmitResult | undefined
  /** Whether a node has shown it in a block. */
  isIncluded: boolean
}

/** Most payments whose callers are remembered: more than can be pending. */
const mostCallers = 10_000

/** Makes a sponsor that works in the scope; closing the scope takes the open loans back. */
export const make = Effect.fnUntraced(function* (
  rpc: TronRpc,
  prices: Effect.Effect<Prices, ChainUnavailable>,
  { reclaimAfterMillis = 120_000, signer, ...limits }: Options
): Effect.fn.Return<EnergySponsor, Misconfigured, Scope.Scope> {
  const address = TronAddress.fromText(signer.address)
  if (address === undefined) {
    const message = `exactTron.facilitator: the sponsor's address "${signer.address}" is not a TRON address`
    return yield* new Misconfigured({ message })
  }
  const budget = yield* SponsorBudget.make(limits)
  const sponsor: Sponsor = {
    rpc,
    signer,
    address,
    budget,
    prices,
    pending: new Set(),
    callers: BoundedMap.oldestOut(mostCallers),
    payers: new Map()
  }
  const fibers = yield* FiberSet.make()
  yield* Effect.forkScoped(sweep(sponsor, Duration.millis(reclaimAfterMillis)))
  return {
    address,
    covers: (loan, totals) => covers(sponsor, loan, totals),
    setCaller: (id, caller) => void sponsor.callers.set(id, caller),
    clearLoss: (id) => budget.clearLoss(id),
    cost: Effect.map(prices, ({ bandwidth }) => loanBytes * bandwidth),
    submit: (id, signedHex) => submit(sponsor, fibers, id, signedHex),
    balance: Effect.map(rpc.account(address), (account) => ({
      address: TronAddress.toBase58(address),
      balance: account?.balance ?? 0n
    }))
  }
})

const covers = Effect.fnUntraced(function* (
  { address, budget, rpc }: Sponsor,
  loan: SponsorBudget.LoanRequest,
  totals: Resources
) {
  if (!(yield* budget.allows(loan))) return false
  return EnergyLoan.stakeFor(loan.energy, totals) <= (yield* rpc.lendable(address))
})

const submit = Effect.fnUntraced(function* (
  sponsor: Sponsor,
  fibers: FiberSet.FiberSet,
  id: string,
  signedHex: string
): Effect.fn.Return<SubmitResult, ChainUnavailable> {
  const { pending, rpc } = sponsor
  if (pending.has(id)) return accepted
  const decoded = TronTransaction.decodeTransfer(TronTransaction.rawInside(signedHex) ?? new Uint8Array(0))
  if (Result.isFailure(decoded)) return { _tag: "Outdated", message: decoded.failure.message }
  if (yield* rpc.isKnown(id)) return accepted
  const payment: SponsoredPayment = { id, signedHex, transfer: decoded.success }
  const shortage = yield* shortageOf(sponsor, payment)
  if (shortage === undefined) return { _tag: "Outdated", message: "the token would reject the transfer now" }
  const turn = sponsor.payers.get(payment.transfer.owner)
  if (shortage.energy <= 0n && turn === undefined) return yield* TronSubmission.submit(rpc, id, signedHex)
  pending.add(id)
  yield* FiberSet.run(fibers, inTurn(sponsor, payment))
  return accepted
})

/** The energy that the payer's account lacks now, and the chain's totals; `undefined` if the transfer would fail. */
const shortageOf = Effect.fnUntraced(function* ({ rpc }: Sponsor, { transfer }: SponsoredPayment) {
  const { amount, owner, to, token } = transfer
  const { outcome, totals } = yield* Effect.all(
    {
      outcome: rpc.call(owner, token, TronTransaction.transferCallData(to, amount)),
      totals: rpc.resources(owner)
    },
    { concurrency: "unbounded" }
  )
  if (outcome._tag !== "Returned") return undefined
  return { energy: outcome.energy - totals.energy, needed: outcome.energy, totals }
})

/** Runs one payment of a payer at a time, so that no payment uses the energy lent for another. */
const inTurn = (sponsor: Sponsor, payment: SponsoredPayment): Effect.Effect<void> =>
  Effect.suspend(() => {
    const { owner } = payment.transfer
    const turn = sponsor.payers.get(owner) ?? { lock: Semaphore.makeUnsafe(1), users: 0 }
    turn.users++
    sponsor.payers.set(owner, turn)
    return turn.lock
      .withPermits(1)(lendAndSubmit(sponsor, payment))
      .pipe(
        Effect.catch((error) => Effect.logWarning(`the payment ${payment.id} could not be sponsored`, error)),
        Effect.ensuring(
          Effect.sync(() => {
            sponsor.pending.delete(payment.id)
            sponsor.callers.delete(payment.id)
            if (--turn.users === 0) sponsor.payers.delete(owner)
          })
        )
      )
  })

const lendAndSubmit = Effect.fnUntraced(function* (sponsor: Sponsor, payment: SponsoredPayment) {
  const shortage = yield* shortageOf(sponsor, payment)
  if (shortage === undefined) return
  const course: Course = { response: undefined, isIncluded: false }
  if (shortage.energy <= 0n) return yield* seeThrough(sponsor, payment, course)
  const { owner } = payment.transfer
  const request: SponsorBudget.LoanRequest = {
    payer: owner,
    caller: sponsor.callers.get(payment.id) ?? "",
    energy: shortage.energy
  }
  const until = Number(payment.transfer.expiration) + loanSlack
  const isLent =
    (yield* covers(sponsor, request, shortage.totals)) && (yield* sponsor.budget.lend(payment.id, request, until))
  if (!isLent) return yield* submitIfPayable(sponsor, payment, shortage.energy)
  const sun = EnergyLoan.stakeFor(shortage.energy, shortage.totals)
  const loan: EnergyLoan.Loan = { from: sponsor.address, to: owner, sun }
  yield* Effect.acquireUseRelease(
    Effect.onError(EnergyLoan.send(sponsor.rpc, sponsor.signer, "give", loan), () =>
      sponsor.budget.end(payment.id, request, "cancelled")
    ),
    () => Effect.andThen(arrival(sponsor, owner, shortage.needed), seeThrough(sponsor, payment, course)),
    () =>
      Effect.gen(function* () {
        const end = yield* endOf(sponsor, payment, shortage, course)
        yield* sponsor.budget.end(payment.id, request, end)
        if (end === "misused") yield* Effect.logWarning(misused(owner, shortage.energy))
        yield* takeBack(sponsor, loan)
      })
  )
})

/** Time by which a loan may outlast its payment's validity, in milliseconds. */
const loanSlack = 60_000
/** Attempts to judge the end of a loan, a second apart: a node that is a block behind has caught up meanwhile. */
const judgements = 5
/** Energy returns to an account all the time, so use below this part of the need counts as none. */
const unusedPart = 20n

const misused = (owner: TronAddress.Address, energy: bigint) =>
  `${energy} energy lent to ${TronAddress.toBase58(owner)} was used without a payment; the payer is lent no more for a while`

/**
 * The end of a loan, judged before it is taken back. Energy that the payer's account has used since, without a successful payment,
 * went elsewhere: to a transfer of its own, or to a payment whose tokens were moved away. A payment that was submitted and
 * entered no block cost the sponsor two transactions. While the chain cannot be read, or a node that is behind shows no receipt of a
 * payment that is in a block, no fault counts against the payer.
 */
const endOf = (
  { rpc }: Sponsor,
  { id, transfer: { owner } }: SponsoredPayment,
  { needed, totals: before }: { readonly needed: bigint; readonly totals: Resources },
  { isIncluded, response }: Course
): Effect.Effect<SponsorBudget.LoanEnd> =>
  Effect.gen(function* () {
    const receipt = yield* rpc.receipt(id, "included")
    if (receipt?.result === "SUCCESS") return "paid" as const
    // The energy went into the payment, in a block that this node does not have yet.
    if (receipt === undefined && isIncluded) return yield* Effect.fail(`the receipt of ${id} is not shown yet`)
    const { energyUsed } = yield* rpc.resources(owner)
    if (energyUsed >= before.energyUsed + needed / unusedPart) return "misused" as const
    return response === undefined || response._tag === "Refused" ? ("cancelled" as const) : ("unused" as const)
  }).pipe(
    Effect.retry({ times: judgements - 1, schedule: Schedule.spaced("1 second") }),
    Effect.catch((error) =>
      Effect.as(Effect.logDebug("the end of an energy loan could not be read", error), "cancelled" as const)
    )
  )

/** Submits an unsponsored payment if its payer can pay the energy in TRX; otherwise the transaction would only burn it. */
const submitIfPayable = Effect.fnUntraced(function* (
  { prices, rpc }: Sponsor,
  { id, signedHex, transfer: { owner } }: SponsoredPayment,
  energy: bigint
) {
  const account = yield* rpc.account(owner)
  if ((account?.balance ?? 0n) >= energy * (yield* prices).energy) yield* TronSubmission.submit(rpc, id, signedHex)
})

/** Waits until the payer's account has the energy. A payment is not submitted without it. */
const arrival = Effect.fnUntraced(function* ({ rpc }: Sponsor, payer: TronAddress.Address, needed: bigint) {
  for (let polls = 0; polls < maximumPolls; polls++) {
    if ((yield* rpc.resources(payer)).energy >= needed) return
    yield* Effect.sleep(pollInterval)
  }
  return yield* Effect.fail(`the energy lent to ${TronAddress.toBase58(payer)} did not arrive`)
})

/**
 * Submits the payment until it is in a block, or has expired. The node may be busy now, may lose the payment, and may have taken it
 * though its response is lost: the same bytes are submitted again, and failed requests are repeated.
 */
const seeThrough = Effect.fnUntraced(function* ({ rpc }: Sponsor, payment: SponsoredPayment, course: Course) {
  const { id, signedHex, transfer } = payment
  const submitting = Effect.map(TronSubmission.submit(rpc, id, signedHex), (response) => {
    if (course.response === undefined || response._tag === "Accepted") course.response = response
  })
  const isOver = Effect.gen(function* () {
    course.isIncluded = yield* rpc.isIncluded(id)
    return course.isIncluded || (yield* rpc.head).time >= transfer.expiration
  })
  for (let polls = 0; true; polls++) {
    if (polls % pollsPerSubmission === 0) yield* Effect.catch(submitting, () => Effect.void)
    if (yield* Effect.catch(isOver, () => Effect.succeed(false))) return
    yield* Effect.sleep(pollInterval)
  }
})

/** Takes a loan back; the sweep finds a loan for which this fails. */
const takeBack = (sponsor: Sponsor, loan: EnergyLoan.Loan): Effect.Effect<void> =>
  EnergyLoan.send(sponsor.rpc, sponsor.signer, "takeBack", loan).pipe(
    Effect.retry({ times: reclaimAttempts - 1 }),
    Effect.catch((error) => Effect.logWarning("lent energy could not be taken back yet", error))
  )

/** Takes back the loans that have not changed for a while and that no payment of this process needs. */
const sweep = Effect.fnUntraced(function* (sponsor: Sponsor, pause: Duration.Duration): Effect.fn.Return<never> {
  let before = new Map<TronAddress.Address, bigint>()
  while (true) {
    const now = yield* Effect.catch(loans(sponsor), (error) =>
      Effect.as(Effect.logDebug("the sponsor's loans could not be read", error), new Map<TronAddress.Address, bigint>())
    )
    for (const [to, sun] of now) {
      if (before.get(to) !== sun || sponsor.payers.has(to)) continue
      yield* takeBack(sponsor, { from: sponsor.address, to, sun })
    }
    before = now
    yield* Effect.sleep(pause)
  }
})

const loans = Effect.fnUntraced(function* ({ address, payers, rpc }: Sponsor) {
  const found = new Map<TronAddress.Address, bigint>()
  for (const to of yield* rpc.receivers(address)) {
    const sun = payers.has(to) ? 0n : yield* rpc.delegated(address, to)
    if (sun > 0n) found.set(to, sun)
  }
  return found
})
