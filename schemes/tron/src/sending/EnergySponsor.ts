/**
 * Lends payers the energy for their transfers: delegates stake to the payer, sees it arrive, sends the payment, and takes
 * the stake back when the payment is in a block or cannot come into one any more. One payment of a payer at a time, since
 * energy belongs to the account and not to the transaction. The chain is the record: after a restart the loans that no
 * payment needs any more are found there and taken back. One process may lend from an account, no two.
 */
import { type ChainUnavailable, Misconfigured, type SignerBalance, type SubmitResult } from "@pontage/core"
import * as BoundedMap from "@pontage/core/BoundedMap"
import * as OptionCheck from "@pontage/core/OptionCheck"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import * as Result from "effect/Result"
import type * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"

import type { Prices, Resources, TronRpc } from "../node/TronRpc.ts"
import * as TronAddress from "../primitives/TronAddress.ts"
import * as TronTransaction from "../transfer/TronTransaction.ts"
import type { TronSigner } from "../wallet/TronSigner.ts"
import * as EnergyLoan from "./EnergyLoan.ts"
import * as SponsorBudget from "./SponsorBudget.ts"
import * as TronSubmission from "./TronSubmission.ts"

/** Who lends, and how much. */
export interface Options extends SponsorBudget.Limits {
  /** The account that has staked TRX for energy. It also pays for the bandwidth of its loans. */
  readonly signer: TronSigner
  /**
   * A loan that no payment here needs is taken back after so many milliseconds; default 120 000, the longest validity
   * that payers sign.
   */
  readonly reclaimAfterMillis?: number
}

/** The options, checked. */
export const check: OptionCheck.Check<Options> = OptionCheck.options<Options>({
  ...SponsorBudget.keys,
  signer: OptionCheck.having("a signer, such as localSigner(key)", "address", "signTransaction"),
  reclaimAfterMillis: OptionCheck.optional(OptionCheck.whole())
})

/** The sponsor. */
export interface EnergySponsor {
  readonly address: TronAddress.Address
  /** Whether so much energy would be lent now: within the budget and the stake. */
  readonly covers: (lending: SponsorBudget.Lending, sums: Resources) => Effect.Effect<boolean, ChainUnavailable>
  /** Remembers on whose behalf a payment will be sent, by its id. */
  readonly announce: (id: string, caller: string) => void
  /** A payment is settled: if a loan for it had counted as misused, by a block that was taken back, its payer is not banned. */
  readonly absolve: (id: string) => Effect.Effect<void>
  /** The most that a loan costs the sponsor, in sun: the bandwidth of two transactions. */
  readonly cost: Effect.Effect<bigint, ChainUnavailable>
  /** Sends a payment, after lending what it lacks. The loan goes on in the background; asking again is harmless. */
  readonly submit: (id: string, signedHex: string) => Effect.Effect<SubmitResult, ChainUnavailable>
  readonly balance: Effect.Effect<SignerBalance, ChainUnavailable>
}

/** Bytes of delegating and of taking back, with what the chain counts for their results. */
const loanBytes = 720n
const lookPause = Duration.millis(500)
/** Looks for lent energy: ten seconds, three blocks. */
const maximumLooks = 20
/** Attempts to take a loan back at once; what fails is found again later. */
const reclaimAttempts = 3

const accepted: SubmitResult = { _tag: "Accepted" }

interface Sponsor {
  readonly rpc: TronRpc
  readonly signer: TronSigner
  readonly address: TronAddress.Address
  readonly budget: SponsorBudget.SponsorBudget
  readonly prices: Effect.Effect<Prices, ChainUnavailable>
  /** The payments that energy is being lent for. */
  readonly underWay: Set<string>
  /** On whose behalf payments are sent, by their ids. */
  readonly callers: BoundedMap.BoundedMap<string, string>
  /** One payment at a time for each payer that is served; how many wait, so that the lock goes with the last. */
  readonly payers: Map<TronAddress.Address, { readonly lock: Semaphore.Semaphore; waiting: number }>
}

/** A payment to be sent, as its bytes say it. */
interface Sending {
  readonly id: string
  readonly signedHex: string
  readonly transfer: TronTransaction.TokenTransfer
}

/** The most payments whose callers are remembered: more than are on their way. */
const mostCallers = 10_000

/** Makes a sponsor that works in the scope; closing it takes the open loans back. */
export const make = Effect.fnUntraced(function* (
  rpc: TronRpc,
  prices: Effect.Effect<Prices, ChainUnavailable>,
  { reclaimAfterMillis = 120_000, signer, ...limits }: Options
): Effect.fn.Return<EnergySponsor, Misconfigured, Scope.Scope> {
  const address = TronAddress.fromText(signer.address)
  if (address === undefined) {
    const message = `exactTron.facilitator: the sponsor's address "${signer.address}" is no address`
    return yield* new Misconfigured({ message })
  }
  const budget = yield* SponsorBudget.make(limits)
  const sponsor: Sponsor = {
    rpc,
    signer,
    address,
    budget,
    prices,
    underWay: new Set(),
    callers: BoundedMap.oldestOut(mostCallers),
    payers: new Map()
  }
  const fibers = yield* FiberSet.make()
  yield* Effect.forkScoped(sweep(sponsor, Duration.millis(reclaimAfterMillis)))
  return {
    address,
    covers: (lending, sums) => covers(sponsor, lending, sums),
    announce: (id, caller) => void sponsor.callers.set(id, caller),
    absolve: (id) => budget.absolve(id),
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
  lending: SponsorBudget.Lending,
  sums: Resources
) {
  if (!(yield* budget.allows(lending))) return false
  return EnergyLoan.stakeFor(lending.energy, sums) <= (yield* rpc.lendable(address))
})

const submit = Effect.fnUntraced(function* (
  sponsor: Sponsor,
  fibers: FiberSet.FiberSet,
  id: string,
  signedHex: string
): Effect.fn.Return<SubmitResult, ChainUnavailable> {
  const { rpc, underWay } = sponsor
  if (underWay.has(id)) return accepted
  const decoded = TronTransaction.decodeTransfer(TronTransaction.rawInside(signedHex) ?? new Uint8Array(0))
  if (Result.isFailure(decoded)) return { _tag: "Outdated", message: decoded.failure.message }
  if (yield* rpc.isKnown(id)) return accepted
  const sending: Sending = { id, signedHex, transfer: decoded.success }
  const lacks = yield* lacking(sponsor, sending)
  if (lacks === undefined) return { _tag: "Outdated", message: "the token would refuse the transfer now" }
  const turn = sponsor.payers.get(sending.transfer.owner)
  if (lacks.energy <= 0n && turn === undefined) return yield* TronSubmission.submit(rpc, id, signedHex)
  underWay.add(id)
  yield* FiberSet.run(fibers, inTurn(sponsor, sending))
  return accepted
})

/** What the payer's account lacks of energy now, and the sums of the chain; `undefined` when the transfer would fail. */
const lacking = Effect.fnUntraced(function* ({ rpc }: Sponsor, { transfer }: Sending) {
  const { amount, owner, to, token } = transfer
  const { outcome, sums } = yield* Effect.all(
    {
      outcome: rpc.call(owner, token, TronTransaction.transferCallData(to, amount)),
      sums: rpc.resources(owner)
    },
    { concurrency: "unbounded" }
  )
  if (outcome._tag !== "Returned") return undefined
  return { energy: outcome.energy - sums.energy, needed: outcome.energy, sums }
})

/** One payment of a payer at a time: what was lent for one must not be used by the other. */
const inTurn = (sponsor: Sponsor, sending: Sending): Effect.Effect<void> =>
  Effect.suspend(() => {
    const { owner } = sending.transfer
    const turn = sponsor.payers.get(owner) ?? { lock: Semaphore.makeUnsafe(1), waiting: 0 }
    turn.waiting++
    sponsor.payers.set(owner, turn)
    return turn.lock
      .withPermits(1)(serve(sponsor, sending))
      .pipe(
        Effect.catch((error) => Effect.logWarning(`the payment ${sending.id} could not be sponsored`, error)),
        Effect.ensuring(
          Effect.sync(() => {
            sponsor.underWay.delete(sending.id)
            sponsor.callers.delete(sending.id)
            if (--turn.waiting === 0) sponsor.payers.delete(owner)
          })
        )
      )
  })

const serve = Effect.fnUntraced(function* (sponsor: Sponsor, sending: Sending) {
  const lacks = yield* lacking(sponsor, sending)
  if (lacks === undefined) return
  const send = TronSubmission.submit(sponsor.rpc, sending.id, sending.signedHex)
  if (lacks.energy <= 0n) return yield* Effect.andThen(send, untilOver(sponsor, sending))
  const { owner } = sending.transfer
  const lending: SponsorBudget.Lending = {
    payer: owner,
    caller: sponsor.callers.get(sending.id) ?? "",
    energy: lacks.energy
  }
  const until = Number(sending.transfer.expiration) + loanSlack
  const isLent =
    (yield* covers(sponsor, lending, lacks.sums)) && (yield* sponsor.budget.lend(sending.id, lending, until))
  if (!isLent) return yield* canPay(sponsor, owner, lacks.energy, send)
  const sun = EnergyLoan.stakeFor(lacks.energy, lacks.sums)
  const loan: EnergyLoan.Loan = { from: sponsor.address, to: owner, sun }
  let answer: SubmitResult | undefined
  yield* Effect.acquireUseRelease(
    Effect.onError(EnergyLoan.send(sponsor.rpc, sponsor.signer, "give", loan), () =>
      sponsor.budget.end(sending.id, lending, "spared")
    ),
    () =>
      Effect.gen(function* () {
        yield* arrival(sponsor, owner, lacks.needed)
        answer = yield* send
        yield* untilOver(sponsor, sending)
      }),
    () =>
      Effect.gen(function* () {
        const end = yield* endOf(sponsor, sending, lacks, answer)
        yield* sponsor.budget.end(sending.id, lending, end)
        if (end === "misused") yield* Effect.logWarning(misused(owner, lacks.energy))
        yield* takeBack(sponsor, loan)
      })
  )
})

/** A loan may last longer than its payment's validity; milliseconds. */
const loanSlack = 60_000
/** Energy comes back to an account all the time: one that has used less than this part of the need has used none. */
const unusedPart = 20n

const misused = (owner: TronAddress.Address, energy: bigint) =>
  `${energy} energy lent to ${TronAddress.toBase58(owner)} was used and did not pay; nothing more is lent to it for a while`

/**
 * How a loan has ended, before it is taken back. Energy that the payer's account has used since, without a successful payment,
 * went to something else: a transfer of its own, or a payment that its tokens were moved away from. A payment that was sent and
 * came into no block cost us two transactions for nothing. A chain that cannot be asked shows no fault of the payer's.
 */
const endOf = (
  { rpc }: Sponsor,
  { id, transfer: { owner } }: Sending,
  { needed, sums: before }: { readonly needed: bigint; readonly sums: Resources },
  answer: SubmitResult | undefined
): Effect.Effect<SponsorBudget.LoanEnd> =>
  Effect.gen(function* () {
    const receipt = yield* rpc.receipt(id, "included")
    if (receipt?.result === "SUCCESS") return "served" as const
    const { energyUsed } = yield* rpc.resources(owner)
    if (energyUsed >= before.energyUsed + needed / unusedPart) return "misused" as const
    return answer === undefined || answer._tag === "Refused" ? ("spared" as const) : ("idle" as const)
  }).pipe(
    Effect.retry({ times: 2 }),
    Effect.catch((error) => Effect.as(Effect.logDebug("the end of a loan could not be seen", error), "spared" as const))
  )

/** A payer who can pay the energy needs no loan; one who cannot would only burn what there is. */
const canPay = Effect.fnUntraced(function* (
  { prices, rpc }: Sponsor,
  payer: TronAddress.Address,
  energy: bigint,
  send: Effect.Effect<SubmitResult, ChainUnavailable>
) {
  const account = yield* rpc.account(payer)
  if ((account?.balance ?? 0n) >= energy * (yield* prices).energy) yield* send
})

/** Waits until the payer's account has the energy. A payment that does not get it is not sent. */
const arrival = Effect.fnUntraced(function* ({ rpc }: Sponsor, payer: TronAddress.Address, needed: bigint) {
  for (let looks = 0; looks < maximumLooks; looks++) {
    if ((yield* rpc.resources(payer)).energy >= needed) return
    yield* Effect.sleep(lookPause)
  }
  return yield* Effect.fail(`the energy lent to ${TronAddress.toBase58(payer)} did not arrive`)
})

/** Until the payment is in a block, or no block takes it any more. A node that does not answer is asked again. */
const untilOver = Effect.fnUntraced(function* ({ rpc }: Sponsor, { id, transfer }: Sending) {
  while (true) {
    const isOver = Effect.gen(function* () {
      if (yield* rpc.isIncluded(id)) return true
      return (yield* rpc.head).time >= transfer.expiration
    })
    if (yield* Effect.catch(isOver, () => Effect.succeed(false))) return
    yield* Effect.sleep(lookPause)
  }
})

/** What cannot be taken back now is found by the sweep. */
const takeBack = (sponsor: Sponsor, loan: EnergyLoan.Loan): Effect.Effect<void> =>
  EnergyLoan.send(sponsor.rpc, sponsor.signer, "takeBack", loan).pipe(
    Effect.retry({ times: reclaimAttempts - 1 }),
    Effect.catch((error) => Effect.logWarning("lent energy could not be taken back yet", error))
  )

/** Loans that are as they were a while ago, and that nobody here needs, are taken back. */
const sweep = Effect.fnUntraced(function* (sponsor: Sponsor, pause: Duration.Duration): Effect.fn.Return<never> {
  let before = new Map<TronAddress.Address, bigint>()
  while (true) {
    const now = yield* Effect.catch(loans(sponsor), (error) =>
      Effect.as(
        Effect.logDebug("the sponsor's loans cannot be asked for", error),
        new Map<TronAddress.Address, bigint>()
      )
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
