/**
 * Mutations of a simulation: faults brought back, so that it is known how soon each is found. A simulation that stays green with a mutation
 * proves nothing.
 */
import { refuse, type SchemeFacilitator, type SubmitResult } from "@pontage/core"
import * as Effect from "effect/Effect"

import { type MutationName, mutations } from "../Mutation.ts"
import * as SimulationMutation from "./SimulationMutation.ts"

/** A mutation: the fault in words, and how it is made anew for each simulation. */
export interface NamedMutation {
  readonly words: string
  readonly make: () => SimulationMutation.SimulationMutation
}

/** A mutation of the trials over real chains, in the simulation's form. */
const ofTrials = (name: MutationName, words: string): NamedMutation => ({
  words,
  make: () => {
    const { scheme, leases, store } = mutations[name]
    return {
      store: store ?? SimulationMutation.none.store,
      leases: leases ?? SimulationMutation.none.leases,
      scheme: scheme ?? SimulationMutation.none.scheme,
      ignoresCeilings: mutations[name].ignoresCeilings === true
    }
  }
})

const onScheme = (
  words: string,
  scheme: (scheme: SchemeFacilitator, lagging: SchemeFacilitator) => SchemeFacilitator
): NamedMutation => ({ words, make: () => ({ ...SimulationMutation.none, scheme }) })

const onStore = (words: string, store: SimulationMutation.SimulationMutation["store"]): NamedMutation => ({
  words,
  make: () => ({ ...SimulationMutation.none, store })
})

/** Their names. */
export const simulationMutationNames = [
  "broadcast-before-persist",
  "claim-always-granted",
  "lease-for-ever",
  "no-receipt-is-failure",
  "rpc-error-is-verdict",
  "reorganisation-unseen",
  "fees-frozen",
  "no-gas-ceiling",
  "logs-lag-behind-receipts",
  "answer-never-owed",
  "answer-not-returned",
  "balance-not-judged",
  "ceiling-not-judged-again",
  "highest-count-believed",
  "head-counts-as-final",
  "expired-at-the-head",
  "sent-only-once",
  "asset-forgotten",
  "signer-forgotten",
  "maximum-obeyed",
  "noop-is-failure",
  "strangers-at-depth-one"
] as const

export type SimulationMutationName = (typeof simulationMutationNames)[number]

/** All of them. */
export const simulationMutations: Readonly<Record<SimulationMutationName, NamedMutation>> = {
  "broadcast-before-persist": ofTrials("broadcast-before-persist", "a transaction is sent before it is written down"),
  "claim-always-granted": ofTrials("claim-always-granted", "every claim is granted the run"),
  "lease-for-ever": ofTrials("lease-for-ever", "a lease that was held once is held for ever"),
  "no-receipt-is-failure": ofTrials("no-receipt-is-failure", "a transaction without a receipt counts as failed"),
  "rpc-error-is-verdict": ofTrials("rpc-error-is-verdict", "a chain that cannot be asked counts as a wrong signature"),
  "reorganisation-unseen": ofTrials("reorganisation-unseen", "what was in a block once counts as there for ever"),
  "fees-frozen": ofTrials("fees-frozen", "the first fees are offered for ever"),
  "no-gas-ceiling": ofTrials("no-gas-ceiling", "the ceilings of gas are not given to the engine"),
  "logs-lag-behind-receipts": onScheme(
    "receipts are read from one node, and transfers from another that is two blocks behind",
    (scheme, lagging) => ({
      ...scheme,
      observe: (observedPayments, attempts) =>
        Effect.zipWith(
          scheme.observe(observedPayments, attempts),
          lagging.observe(observedPayments, attempts),
          (fresh, old) => ({
            inclusion: fresh.inclusion,
            observations: old.observations.map((one) =>
              one._tag === "Pending" && fresh.inclusion !== undefined
                ? { _tag: "Failed", transaction: fresh.inclusion.transaction, error: notShown }
                : one
            )
          })
        )
    })
  ),
  "answer-never-owed": ofTrials(
    "answer-never-owed",
    "a payment without a claim is on record as answered from the beginning"
  ),
  "answer-not-returned": onStore("an answer that was taken and could not be given is owed to nobody", (store) => {
    const asked = new Set<string>()
    return {
      ...store,
      returnAnswer: () => Effect.void,
      takeAnswer: (paymentId, call) =>
        Effect.suspend(() => {
          if (asked.has(paymentId)) return Effect.succeed(false)
          asked.add(paymentId)
          return store.takeAnswer(paymentId, call)
        })
    }
  }),
  "balance-not-judged": onStore(
    "a known payment that is claimed again is not judged by its payer's balance",
    (store) => ({
      ...store,
      claim: (payment, claim, intake) => store.claim(payment, claim, { ...intake, available: plenty }),
      queue: (paymentId, lane) => store.queue(paymentId, lane, { available: plenty })
    })
  ),
  "ceiling-not-judged-again": onStore(
    "ceilings are judged before a plan is written, and not by the write",
    (store) => ({
      ...store,
      plan: (lease, plans) => store.plan(lease, plans)
    })
  ),
  "highest-count-believed": onScheme("the highest count of a signer's transactions is believed for ever", (scheme) => {
    const highest = new Map<string, bigint>()
    return {
      ...scheme,
      nextSlot: (lane, counting) =>
        Effect.map(scheme.nextSlot(lane, counting), (count) => {
          const known = highest.get(lane) ?? 0n
          highest.set(lane, count > known ? count : known)
          return count > known ? count : known
        })
    }
  }),
  "head-counts-as-final": onScheme("the newest block counts as final", (scheme) => ({
    ...scheme,
    chainHead: Effect.map(scheme.chainHead, (chainHead) => ({ ...chainHead, final: chainHead.head.number }))
  })),
  "expired-at-the-head": onScheme("a payment is over when the newest block is past its validity", (scheme) => ({
    ...scheme,
    conclude: (observedPayment) =>
      Effect.zipWith(scheme.conclude(observedPayment), scheme.chainHead, (conclusion, { head }) =>
        conclusion._tag === "Pending" && head.time >= observedPayment.payment.authorization.validBefore
          ? { _tag: "Unused", at: head }
          : conclusion
      )
  })),
  "sent-only-once": onScheme("bytes are sent once, whatever becomes of them", (scheme) => {
    const sent = new Set<string>()
    return {
      ...scheme,
      submit: (prepared) =>
        Effect.suspend(() => {
          if (sent.has(prepared.transaction)) return Effect.succeed<SubmitResult>({ _tag: "Accepted" })
          sent.add(prepared.transaction)
          return scheme.submit(prepared)
        })
    }
  }),
  "asset-forgotten": onScheme(
    "payments in an asset that is not configured any more cannot be read",
    ({ recall, ...scheme }) => (recall === undefined ? scheme : { ...scheme, read: scheme.read })
  ),
  "signer-forgotten": onStore("lanes without their signer are not watched", (store) => ({
    ...store,
    lanesInUse: Effect.succeed([])
  })),
  "maximum-obeyed": onScheme(
    "a transaction that replaces another takes no more payments than today's maximum",
    (scheme) => ({
      ...scheme,
      prepare: (payments, slot, now, maximumCost) => scheme.prepare(payments, slot, now, maximumCost)
    })
  ),
  "noop-is-failure": onScheme(
    "a payment whose number went to a transaction that does nothing has failed",
    (scheme) => ({
      ...scheme,
      observe: (observedPayments, attempts) =>
        Effect.map(scheme.observe(observedPayments, attempts), ({ inclusion, observations }) => ({
          inclusion,
          observations: observations.map((one) =>
            one._tag === "Pending" && inclusion !== undefined && observedPayments.length === 1
              ? { _tag: "Failed", transaction: inclusion.transaction, error: notShown }
              : one
          )
        }))
    })
  ),
  "strangers-at-depth-one": onStore(
    "a stranger's transfer counts as the end of an unbound payment before it is final",
    (store) => ({
      ...store,
      find: (paymentId) =>
        Effect.map(store.find(paymentId), (stored) =>
          stored?.status === "included" && stored.refusal !== undefined ? { ...stored, status: "final" } : stored
        )
    })
  )
}

const notShown = refuse(
  "EXPIRED_PAYMENT",
  "transfer_not_shown",
  "the transaction is in a block, and its transfer is not"
)

/** More than anybody has. */
const plenty = 10n ** 30n
